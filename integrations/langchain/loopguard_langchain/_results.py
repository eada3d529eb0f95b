"""The messages in which tools answer: found, read, and written on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.types import Command

from loopguard_core.guard.guidance import append_guidance, without_guidance

from ._content import read_content

__all__ = ["outcome_of", "result_of", "with_note", "with_text"]

M = TypeVar("M", bound=BaseMessage)


def outcome_of(output: object, call_id: str | None) -> tuple[object, bool]:
    """Return the result in what a tool returned to *call_id*, and whether it is an error."""
    answer = _answer_in(output, call_id)
    return (output, False) if answer is None else (result_of(answer), answer.status == "error")


def _answer_in(output: object, call_id: str | None) -> ToolMessage | None:
    """Return the message that answers *call_id* in what a tool returned; None without one.

    A tool returns a message, a `Command` that puts one into the state, or a list of either.
    """
    if isinstance(output, ToolMessage):
        return output
    if isinstance(output, Command):
        update = output.update
        output = list(update.values()) if isinstance(update, Mapping) else update
    if not isinstance(output, (list, tuple)):
        return None
    answers = (_answer_in(item, call_id) for item in output)
    return next((a for a in answers if a is not None and a.tool_call_id == call_id), None)


def result_of(message: ToolMessage) -> object:
    """Return what a tool answered, without the notes that a guard appended to it.

    Text comes back as a string; an answer with other content as a list of its text and of
    short stand-ins, which differ where the content differs.
    """
    content = read_content(message.content)
    text = without_guidance(content.text)
    if message.status == "error":
        # create_agent names the id in its answer to arguments that it could not parse, which
        # would make every such answer a new one.
        text = text.replace(f" with id {message.tool_call_id} ", " ")
    return [text, *content.identity] if content.blocks else text


def with_note(
    content: str | list[str | dict[Any, Any]], note: str
) -> str | list[str | dict[Any, Any]]:
    """Return the content of an answer with *note* behind it, which `result_of` leaves out."""
    if isinstance(content, str):
        return append_guidance(content, note)
    return [*content, {"type": "text", "text": append_guidance("", note)}]


def with_text(message: M, text: str) -> M:
    """Return a copy of *message* with another text; content that is not text stays."""
    blocks = read_content(message.content).blocks
    content: object = [{"type": "text", "text": text}, *blocks] if blocks else text
    return message.model_copy(update={"content": content})
