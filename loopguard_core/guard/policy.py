"""What findings lead to: `Policy`, its presets, and rules for single tools.

Every number that turns findings into actions has its one home here, with its reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator

from loopguard_core.tool_loop import ToolLoopConfig

from .verdict import Action, Severity

__all__ = ["BLIND_TO_RESULTS", "DETECTORS", "Policy", "ToolRule"]

DETECTORS: Final = frozenset(
    {
        "thread.repeated_suffix",
        "thread.repeated_activity_tail",
        "thread.repeated_result_run",
        "thread.repeated_message_text_run",
        "thread.stream_guard",
        "tool_loop.post_compaction",
        "tool_loop.global_circuit_breaker",
        "tool_loop.no_progress",
        "tool_loop.ping_pong",
        "tool_loop.generic_repeat",
        "tool_loop.unanswered",
        "reply.exact",
        "reply.cycle",
        "reply.phrase",
        "reply.tool",
        "reply.short_period",
        "converge.oscillation",
        "converge.zero_progress",
        "converge.depth",
    }
)
"""The ids of all detectors; they are stable once released."""

BLIND_TO_RESULTS: Final = frozenset({"tool_loop.generic_repeat", "converge.oscillation"})
"""Detectors that count calls whatever came back; a poll that gets new answers is a loop to them."""


# The stream guard finds 1 of 160 labelled looping replies that the reply detectors do not, and
# takes JSON on one line, whose objects share their values, for a phrase that comes again.
_OFF_BY_DEFAULT: Final = BLIND_TO_RESULTS | {"thread.stream_guard"}


class ToolRule(BaseModel):
    """How one tool differs from the others.

    Args:
        exempt: True leaves its calls and results out of every detector, as for a tool that
            waits for something.
        tool_loop: Thresholds of the tool-loop detectors for this tool; None uses the guard's.
            The window of remembered calls is shared by all tools, so `window` has no effect.
        ignore_arguments: Top-level argument keys that do not make two calls different, such
            as a request id or a free-text `reason`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    exempt: bool = False
    tool_loop: ToolLoopConfig | None = None
    ignore_arguments: Annotated[tuple[str, ...], Field(strict=False)] = ()

    def kept_arguments(self, arguments: object) -> object:
        """Return *arguments* without the ignored keys; anything but a mapping as it is."""
        if not self.ignore_arguments or not isinstance(arguments, Mapping):
            return arguments
        return {key: value for key, value in arguments.items() if key not in self.ignore_arguments}


_NO_RULE: Final = ToolRule()


class Policy(BaseModel):
    """Turns findings into actions. Frozen, so one policy serves any number of runs.

    Args:
        on_block: `tell` answers a blocked call with guidance; `ask` asks a person first.
        on_halt: `end` ends the run with a message that says why; `answer` asks the model once
            more, without tools, to answer from what it knows; `raise` raises `LoopDetected`.
        tools: Rules for single tools, by name.
        on_warn: What a finding of severity `warn` leads to.
        on_critical: What `critical` leads to.
        on_terminal: What `terminal` leads to.
        on_cut: What a reply that goes round leads to, HALT being its cut.
        max_unheeded_nudges: After so many nudges in one episode the next sighting halts. Two:
            one may have been lost on the model, the second shows that it does not listen.
        max_blocks_in_row: The block with this number halts. Three, because a model that is told
            that a call was not executed may try it once more before it believes it.
        max_cuts_in_row: The cut with this number halts, as the reference's two retries do.
        max_unanswered_calls: So many equal calls may wait for their results; the next is
            blocked. Three: two equal calls in a batch are common in healthy runs.
        model_call_is_iteration: True lets each model call with something new before it count as
            an iteration of the loop, whose state is what is new. False leaves iterations to the
            host, which may report its own through `observe_iteration`.
        disabled_detectors: Ids of detectors whose findings are never made.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    on_block: Literal["tell", "ask"] = "tell"
    on_halt: Literal["end", "answer", "raise"] = "end"
    tools: Mapping[str, ToolRule] = Field(default_factory=dict)
    on_warn: Action = Action.NUDGE
    on_critical: Action = Action.BLOCK
    on_terminal: Action = Action.HALT
    on_cut: Action = Action.HALT
    max_unheeded_nudges: int = Field(default=2, ge=1, strict=True)
    max_blocks_in_row: int = Field(default=3, ge=1, strict=True)
    max_cuts_in_row: int = Field(default=3, ge=1, strict=True)
    max_unanswered_calls: int = Field(default=3, ge=1, strict=True)
    model_call_is_iteration: bool = False
    disabled_detectors: frozenset[str] = _OFF_BY_DEFAULT

    @field_validator("disabled_detectors")
    @classmethod
    def _known(cls, ids: frozenset[str]) -> frozenset[str]:
        if unknown := sorted(ids - DETECTORS):
            raise ValueError(f"no detector is called {', '.join(unknown)}")
        return ids

    @classmethod
    def observe(cls) -> Self:
        """Return a policy that never interferes: every verdict allows, and lists its findings."""
        allow = Action.ALLOW
        return cls(on_warn=allow, on_critical=allow, on_terminal=allow, on_cut=allow)

    @classmethod
    def strict(cls) -> Self:
        """Return a policy with every detector on, those that ignore results included.

        Each model call is an iteration for the convergence monitor.
        """
        return cls(disabled_detectors=frozenset(), model_call_is_iteration=True)

    def rule(self, tool: str) -> ToolRule:
        """Return the rule for *tool*, which changes nothing where there is none."""
        return self.tools.get(tool, _NO_RULE)

    def action(self, severity: Severity) -> Action:
        """Return what a finding of *severity* leads to, before any escalation."""
        match severity:
            case "warn":
                return self.on_warn
            case "critical":
                return self.on_critical
            case "terminal":
                return self.on_terminal
            case "cut":
                return self.on_cut

    def is_enabled(self, detector: str) -> bool:
        """Return True unless *detector* is disabled."""
        return detector not in self.disabled_detectors

    def disabled_in(self, package: str) -> frozenset[str]:
        """Return the disabled detectors of *package*, without the package's prefix."""
        prefix = f"{package}."
        return frozenset(
            name.removeprefix(prefix) for name in self.disabled_detectors if name.startswith(prefix)
        )
