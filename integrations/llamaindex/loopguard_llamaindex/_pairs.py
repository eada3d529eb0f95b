"""Which result answers which call, also where an integration gives calls no ids.

Ollama's has none and writes the tool's name on results; others write an empty text, or give equal
calls of one reply the same id. Within a reply's own results the names decide then, and their order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from llama_index.core.llms import ChatMessage, MessageRole

from loopguard_core.agent.pairing import UNANSWERED

from ._content import Requested, read_message

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = [
    "ASSISTANTS",
    "TOOLS",
    "Answered",
    "answered_by",
    "is_made_up",
    "with_answers",
    "with_ids",
]

ASSISTANTS: Final = (MessageRole.ASSISTANT, MessageRole.CHATBOT, MessageRole.MODEL)
TOOLS: Final = (MessageRole.TOOL, MessageRole.FUNCTION)

_MADE_UP: Final = "\0call "


class Answered(NamedTuple):
    """The call that a result answers.

    Args:
        call_id: What links the two in a neutral thread; None if nothing does.
        call: The call; None if there is none.
    """

    call_id: str | None
    call: Requested | None


def is_made_up(call_id: object) -> bool:
    """Return True if a neutral id was made here, for a call that has none of its own."""
    return isinstance(call_id, str) and call_id.startswith(_MADE_UP)


def with_ids(calls: Sequence[Requested], index: int) -> list[Requested]:
    """Return the calls of the message at *index*, each with an id of its own among them."""
    ids = [call.call_id for call in calls]
    return [
        call
        if call.call_id and ids.count(call.call_id) == 1
        else call._replace(call_id=f"{_MADE_UP}{index}.{number}")
        for number, call in enumerate(calls)
    ]


def answered_by(natives: Sequence[ChatMessage], index: int) -> Answered:
    """Find the call that the result at *index* answers.

    That is the nearest earlier call with its id, because providers reuse ids in later turns; else
    one without an id of its own in the reply that the result stands behind.
    """
    call_id = _id_of(natives[index])
    behind = True  # nothing but results so far
    for at in range(index - 1, -1, -1):
        native = natives[at]
        if native.role in ASSISTANTS:
            calls = with_ids(read_message(native).calls, at)
            for call in calls:
                if call_id and call.call_id == call_id:
                    return Answered(call_id, call)
            if behind and (made := _in_order(natives, index, at, calls)):
                return Answered(made.call_id, made)
        behind = behind and native.role in TOOLS
        if not (behind or call_id):
            break
    return Answered(call_id or None, None)


def with_answers(natives: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return messages with an answer for each call that has none, behind those that have one.

    LlamaIndex leaves such calls where a tool with `return_direct` fails beside another one.
    """
    answered: list[ChatMessage] = []
    for at, native in enumerate(natives):
        answered.append(native)
        is_next_of_batch = at + 1 < len(natives) and natives[at + 1].role in TOOLS
        if not is_next_of_batch:
            answered += map(_no_answer, _open_calls(natives, at))
    return answered


def _open_calls(natives: Sequence[ChatMessage], end: int) -> list[Requested]:
    """Return the calls without an answer of the reply whose batch of results ends at *end*."""
    reply = end
    while reply >= 0 and natives[reply].role in TOOLS:
        reply -= 1
    if reply < 0 or natives[reply].role not in ASSISTANTS:
        return []
    calls = read_message(natives[reply]).calls
    if len(calls) <= end - reply:
        return []
    results = [at for at in range(reply + 1, len(natives)) if natives[at].role in TOOLS]
    known = {answered_by(natives, at).call_id for at in results}
    return [
        call._replace(call_id=call.name if is_made_up(call.call_id) else call.call_id)
        for call in with_ids(calls, reply)
        if call.call_id not in known
    ]


def _no_answer(call: Requested) -> ChatMessage:
    told = {"tool_call_id": call.call_id}
    return ChatMessage(role=MessageRole.TOOL, content=UNANSWERED, additional_kwargs=told)


def _in_order(
    natives: Sequence[ChatMessage], index: int, reply: int, calls: Sequence[Requested]
) -> Requested | None:
    """Give each result behind *reply*, up to *index*, a call without an id; return the last one."""
    own = {call.call_id for call in calls}
    left = [call for call in calls if is_made_up(call.call_id)]
    answered = None
    for at in range(reply + 1, index + 1):
        native = natives[at]
        call_id = _id_of(native)
        if not left or (call_id and call_id in own):
            continue
        names = {call_id, native.additional_kwargs.get("name")}
        answered = next((call for call in left if call.name in names), left[0])
        left.remove(answered)
        if at < index:
            answered = None
    return answered


def _id_of(native: ChatMessage) -> str | None:
    call_id = native.additional_kwargs.get("tool_call_id")
    return call_id if isinstance(call_id, str) else None
