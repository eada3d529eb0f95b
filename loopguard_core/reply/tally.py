"""What one reply has come to: its highest count, the kinds found, and the one cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .config import ReplyLoopConfig
    from .finding import Kind, LoopFinding
    from .totals import Totals

__all__ = ["Tally"]


class Tally:
    """Judges findings. Source: reply specification, section 10.

    Attributes:
        highest: The finding with the highest count so far, the earliest of equals.

    Args:
        config: The tolerances.
        totals: Where kinds and cuts are counted.
    """

    __slots__ = ("_config", "_cut", "_kinds", "_totals", "highest")

    def __init__(self, config: ReplyLoopConfig, totals: Totals) -> None:
        self._config = config
        self._totals = totals
        self._kinds: set[Kind] = set()
        self._cut = False
        self.highest: LoopFinding | None = None

    def take(self, finding: LoopFinding, *, may_cut: bool = True) -> LoopFinding | None:
        """Take a finding, and return it if it asks for the cut, which happens once.

        Args:
            finding: What a detector saw.
            may_cut: False for what lies in the history, or is not said again.
        """
        if finding.kind in self._config.disabled_kinds:
            return None
        if finding.kind not in self._kinds:
            self._kinds.add(finding.kind)
            self._totals.detected(finding.kind)
        if self.highest is None or finding.reps > self.highest.reps:
            self.highest = finding
        config = self._config
        tolerance = config.tool_tolerance if finding.kind == "tool" else config.tolerance
        if self._cut or not may_cut or tolerance < 0 or finding.reps < tolerance:
            return None
        self._cut = True
        self._totals.interrupted(finding.kind)
        return finding
