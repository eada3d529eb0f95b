"""How a stopped run ends: the exception, the final message, and how programs see why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from agents import AgentsException
from agents.models.fake_id import FAKE_RESPONSES_ID
from openai.types.responses import ResponseOutputMessage, ResponseOutputText
from pydantic import PrivateAttr
from typing_extensions import override

from loopguard_core import LoopDetected, Verdict
from loopguard_core.guard.guidance import halt_text

if TYPE_CHECKING:
    from agents import RunErrorDetails, RunResult, RunResultStreaming

__all__ = ["AgentLoopDetected", "FinalMessage", "HaltText", "halted_by", "message"]


class AgentLoopDetected(AgentsException, LoopDetected):
    """A run was stopped. Both of the SDK's and of loopguard's kind, so either can be caught.

    Attributes:
        verdict: The HALT verdict, with its findings.
        run_data: What the run did until then, as the SDK attaches it to its own exceptions.
    """

    run_data: RunErrorDetails | None

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict)


class FinalMessage(ResponseOutputMessage):
    """The last message of a stopped run; the verdict travels on it and is never sent."""

    _verdict: Verdict = PrivateAttr()

    @property
    def verdict(self) -> Verdict:
        """Why the run was stopped."""
        return self._verdict

    @classmethod
    def of(cls, said: ResponseOutputMessage, verdict: Verdict) -> Self:
        """Return a copy of *said* that carries *verdict*."""
        final = cls.model_validate(said.model_dump(exclude_unset=True))
        final._verdict = verdict  # noqa: SLF001 - its own class
        return final


class HaltText(str):
    """The final output of a run that ends with its tools, where there is no final message."""

    __slots__ = ("verdict",)
    verdict: Verdict

    @classmethod
    def of(cls, verdict: Verdict) -> Self:
        """Return what is said about *verdict*."""
        text = cls(halt_text(verdict))
        text.verdict = verdict
        return text

    @override
    def __str__(self) -> str:
        return self  # the SDK calls `str` on a final output, which must not lose the verdict


def halted_by(result: RunResult | RunResultStreaming) -> Verdict | None:
    """Return the verdict that ended a run gracefully; None if it ended by itself.

    `guidance.verdict_record(verdict)` has it as JSON values. A run that was stopped by raising
    has no result: its verdict is on the exception.
    """
    if isinstance(result.final_output, HaltText):
        return result.final_output.verdict
    last = result.raw_responses[-1].output[-1:] if result.raw_responses else []
    return last[0].verdict if last and isinstance(last[0], FinalMessage) else None


def message(text: str) -> ResponseOutputMessage:
    """Return an assistant message that says *text*; the SDK sends no provider the id it gets."""
    return ResponseOutputMessage(
        id=FAKE_RESPONSES_ID,
        content=[ResponseOutputText(text=text, type="output_text", annotations=[])],
        role="assistant",
        status="completed",
        type="message",
    )
