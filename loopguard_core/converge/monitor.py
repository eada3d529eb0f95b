"""The monitor: one run's events in, a verdict for each out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self

from pydantic import BaseModel, ConfigDict, NonNegativeInt, PositiveInt

from loopguard_core.errors import InvalidInputError, checked
from loopguard_core.fingerprint import digest_text

from .config import ConvergeConfig, Response
from .verdict import QUIET, ConvergeVerdict
from .window import CallWindow

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Monitor"]

_KEPT_DIGITS = 16  # 64 bits; among 256 kept signatures two different ones never meet
_SHOWN_CHARS = 80  # of a tool's name in a reason: a model may have made the name up


class _Snapshot(BaseModel):
    """What a saved monitor looks like."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1]
    state: str | None
    unchanged: NonNegativeInt
    iteration: NonNegativeInt
    calls: tuple[tuple[NonNegativeInt, str, PositiveInt], ...]


class Monitor:
    """Watches whether one run converges: repeated calls, a state that stands still, the depth.

    Three detectors that share nothing but the iteration number. Nothing is latched: while a
    condition holds, each further event fires again. Feed one monitor per run, in order; it is
    not safe for concurrent use. It does no I/O and acts on nothing. Names and hashes are kept as
    short digests, and of calls at most `window.MAX_ENTRIES` different ones, so a snapshot stays
    below 10 kB however long the run is. Source: the converge specification.

    Args:
        config: The settings; None takes the defaults.
    """

    __slots__ = ("_calls", "_config", "_state", "_unchanged")

    def __init__(self, config: ConvergeConfig | None = None) -> None:
        self._config = checked("config", config, ConvergeConfig)
        self._calls = CallWindow(self._config.oscillation_window)
        self._state: str | None = None
        self._unchanged = 0

    @property
    def config(self) -> ConvergeConfig:
        """The settings in force."""
        return self._config

    def observe_iteration(self, state_hash: str) -> ConvergeVerdict:
        """Begin an iteration whose state at its start has the hash *state_hash*.

        Fires at the `zero_progress_k`-th iteration in a row with one hash. An empty hash is one
        like any other. `loopguard_core.fingerprint.digest` makes a hash of any state.
        Source: converge specification, section 6.

        Raises:
            InvalidInputError: *state_hash* is no string.
        """
        state = _short_digest(_text("state_hash", state_hash))
        self._calls.advance()
        self._unchanged = self._unchanged + 1 if state == self._state else 1
        self._state = state
        if self._unchanged < self._config.zero_progress_k:
            return QUIET
        return ConvergeVerdict(
            fired=True,
            detector="zero-progress",
            reason=f"zero-progress: {self._unchanged} iterations in a row began in the same state",
            count=self._unchanged,
            response=self._response(self._config.zero_progress_response),
        )

    def observe_tool_call(self, tool: str, arguments_hash: str) -> ConvergeVerdict:
        """Count a call that the present iteration makes.

        Fires at the `oscillation_k`-th equal call inside the window, whatever lies in between
        and whatever the tool answered. A host that never reports an iteration has a window
        that never moves: every call counts, back to the 256th different one before.
        Source: converge specification, section 5.

        Args:
            tool: The tool's name.
            arguments_hash: A hash of its arguments, such as `fingerprint.digest(arguments)`.

        Raises:
            InvalidInputError: An argument is no string.
        """
        count = self._calls.add(_signature(tool, arguments_hash))
        if count < self._config.oscillation_k:
            return QUIET
        return ConvergeVerdict(
            fired=True,
            detector="oscillation",
            reason=f"oscillation: {tool[:_SHOWN_CHARS]!r} was called {count} times with the same "
            f"arguments within {self._config.oscillation_window} iterations",
            count=count,
            response=self._response(self._config.oscillation_response),
        )

    def forget_tool_call(self, tool: str, arguments_hash: str) -> None:
        """Let the count of a call start over, as when a person allowed it.

        Raises:
            InvalidInputError: An argument is no string.
        """
        self._calls.forget(_signature(tool, arguments_hash))

    def observe_depth(self, depth: int) -> ConvergeVerdict:
        """Check how deep the present agent was spawned; the root's depth is usually 0.

        Fires when *depth* exceeds `max_depth`, and never while that is 0.
        Source: converge specification, section 8.

        Raises:
            InvalidInputError: *depth* is no int.
        """
        depth, limit = _int("depth", depth), self._config.max_depth
        if not 0 < limit < depth:
            return QUIET
        return ConvergeVerdict(
            fired=True,
            detector="depth",
            reason=f"depth: {depth} is more than the {limit} allowed",
            count=depth,
            response=self._response(None),
        )

    def snapshot(self) -> dict[str, object]:
        """Return the state of the run as JSON values, with a `version`; settings are not in it."""
        state = _Snapshot(
            version=1,
            state=self._state,
            unchanged=self._unchanged,
            iteration=self._calls.iteration,
            calls=tuple(self._calls.entries()),
        )
        return state.model_dump(mode="json")

    @classmethod
    def restore(cls, snapshot: Mapping[str, object], config: ConvergeConfig | None = None) -> Self:
        """Return a monitor that goes on where the one that gave *snapshot* stood.

        With the same settings every later verdict is the same; with others they hold from now on.

        Raises:
            pydantic.ValidationError: *snapshot* was not made by `snapshot`, or by another version.
        """
        saved = _Snapshot.model_validate(snapshot)
        monitor = cls(config)
        monitor._state, monitor._unchanged = saved.state, saved.unchanged
        monitor._calls = CallWindow(
            monitor.config.oscillation_window, iteration=saved.iteration, entries=saved.calls
        )
        return monitor

    def _response(self, override: Response | None) -> Response:
        return self._config.response if override is None else override


def _short_digest(text: str) -> str:
    return digest_text(text)[:_KEPT_DIGITS]


def _signature(tool: str, arguments_hash: str) -> str:
    # The length keeps ("ab", "c") and ("a", "bc") apart.
    name, arguments = _text("tool", tool), _text("arguments_hash", arguments_hash)
    return _short_digest(f"{len(name)}:{name}{arguments}")


def _text(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInputError(field, value, "a string")
    return value


def _int(field: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInputError(field, value, "an int")
    return value
