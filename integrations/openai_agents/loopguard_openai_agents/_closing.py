"""The items of a reply as an input in which calls that were not executed are answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from agents import ModelResponse, Usage

from ._items import call_in, is_hosted, kind
from ._notes import user_note

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from agents import TResponseInputItem

    from ._items import Call

__all__ = ["answer_to", "closed", "local_call", "without"]

# The calls that a text can answer; that of a computer is answered by a picture alone.
_ANSWERABLE: Final = frozenset(
    {
        "function_call",
        "custom_tool_call",
        "local_shell_call",
        "shell_call",
        "apply_patch_call",
    }
)


def local_call(item: object) -> Call | None:
    """Return the call that *item* is if it runs on this side, hand-offs included."""
    return None if is_hosted(item) else call_in(item)


def without(output: Sequence[Any], dropped: Container[str | None]) -> list[Any]:
    """Return *output* without the calls whose ids are *dropped*, nor the reasoning that led there.

    A provider refuses reasoning without the item that followed it.
    """
    kept: list[Any] = []
    for item in output:
        call = local_call(item)
        if call is None or call.call_id not in dropped:
            kept.append(item)
            continue
        while kept and kind(kept[-1]) == "reasoning":
            kept.pop()
    return kept


def closed(
    said: Sequence[Any], reasons: Mapping[str | None, str], *, only_answers: bool
) -> list[TResponseInputItem]:
    """Return what a model reads of its reply.

    Args:
        said: The items of the reply.
        reasons: For each call that was not executed what the model reads in place of a result;
            in place of a call that no text can answer it reads it as a message.
        only_answers: True if the server has the reply itself already.
    """
    named = [(item, local_call(item)) for item in said]
    calls = [(kind(item), call) for item, call in named if call and call.call_id in reasons]
    lost = [call.call_id for name, call in calls if name not in _ANSWERABLE]
    reply = (
        [] if only_answers else ModelResponse(without(said, lost), Usage(), None).to_input_items()
    )
    answers = [
        _answer(name, call.call_id, reasons[call.call_id])
        for name, call in calls
        if call.call_id not in lost
    ]
    return [*reply, *answers, *[user_note(reasons[call_id]) for call_id in lost]]


def answer_to(name: str, call_id: str, text: str) -> TResponseInputItem | None:
    """Return the answer *text* to a call of the kind *name*; None if no text can answer it."""
    return _answer(name, call_id, text) if name in _ANSWERABLE else None


def _answer(name: str, call_id: str | None, text: str) -> TResponseInputItem:
    """Return the answer *text* to a call of the kind *name*, as a failure where that can be said."""
    answer: dict[str, object] = {"type": f"{name}_output", "call_id": call_id, "output": text}
    if name == "shell_call":
        outcome = {"type": "exit", "exit_code": 1}
        answer["output"] = [{"stdout": "", "stderr": text, "outcome": outcome}]
    elif name == "apply_patch_call":
        answer["status"] = "failed"
    return cast("TResponseInputItem", answer)
