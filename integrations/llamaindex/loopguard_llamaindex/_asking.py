"""`on_block="ask"`: a person is asked about a blocked call, through the events of the workflow.

Asked in the tool, because a step that waits begins anew when the answer comes: in `take_step` that
would call the model twice.
"""

from __future__ import annotations

from typing import Any

from llama_index.core.tools import ToolOutput
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent

from loopguard_core.fingerprint import digest

__all__ = ["ask_person", "question_id", "refusal"]


def question_id(name: str, arguments: object) -> str:
    """Return what equal calls are known by; LlamaIndex does not tell a tool its call's id."""
    return digest([name, arguments])


async def ask_person(name: str, arguments: object, guidance: str) -> str | None:
    """Ask a person about a blocked call; the step waits, and begins anew with the answer.

    Returns:
        None if the call is allowed, else what the model is told.
    """
    question = question_id(name, arguments)
    event = InputRequiredEvent(
        prefix=guidance, call_id=question, tool_name=name, tool_kwargs=arguments
    )
    response = await Context.get_step_context().wait_for_event(
        HumanResponseEvent,
        waiter_event=event,
        waiter_id=question,
        requirements={"call_id": question},
        timeout=None,  # a person takes as long as it takes
    )
    if response.get("allow") is True:
        return None
    return str(response.get("message") or guidance)


def refusal(name: str, arguments: dict[str, Any], why: str) -> ToolOutput:
    """Return the result of a call that is not executed."""
    return ToolOutput(name, content=why, raw_input=arguments, raw_output=why, is_error=True)
