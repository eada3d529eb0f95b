"""What an item of the Responses protocol says, whether it is a dict or one of openai's models.

Input items are dicts, what a model just said are pydantic objects; both have the same fields, and
everything here reads them by name. Nothing raises: what a model or a tool wrote is data.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel

from loopguard_core.fingerprint import digest

__all__ = [
    "Call",
    "Content",
    "as_json",
    "call_in",
    "content_of",
    "field",
    "hosted_result",
    "is_hosted",
    "is_output",
    "is_passed_through",
    "is_text",
    "kind",
    "plain",
    "result_in",
    "spoken",
    "text_said",
    "thought",
]

# Each kind of call that runs on this side, with the fields that hold its arguments.
_LOCAL_CALLS: Final[Mapping[str, tuple[str, ...]]] = {
    "function_call": ("arguments",),
    "custom_tool_call": ("input",),
    "local_shell_call": ("action",),
    "shell_call": ("action",),
    "apply_patch_call": ("operation",),
    "computer_call": ("action", "actions"),
}
# Each kind that the provider executes within a model call: fields of its arguments and results.
_HOSTED_CALLS: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "web_search_call": (("action",), ()),
    "file_search_call": (("queries",), ("results",)),
    "code_interpreter_call": (("code",), ("outputs",)),
    "image_generation_call": (("revised_prompt",), ("result",)),
    "mcp_call": (("arguments",), ("output", "error")),
    "tool_search_call": (("arguments",), ()),
}
# Its answer is an item of a kind of its own, so neither may go alone.
_HALF_A_PAIR: Final = "tool_search_call"
_OUTPUT_ENDING: Final = "_call_output"
_TEXT_KEYS: Final = {"input_text": "text", "output_text": "text", "text": "text"}


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a model, hand-offs included.

    Args:
        name: The tool, or the hand-off.
        arguments: Parsed where they are JSON.
        call_id: The id that links it to its result.
        again: How often the run had sent this id before. The SDK takes such a call for a replay:
            the thread does not grow, so the id alone would not tell that it was made once more.
    """

    name: str
    arguments: object
    call_id: str | None
    again: int = 0

    @property
    def key(self) -> str | None:
        """What the guard knows the call by."""
        return f"{self.call_id} again {self.again}" if self.again else self.call_id


@dataclass(frozen=True, slots=True)
class Content:
    """The text of an item, and what else stands in it: its kinds, and what makes it the same."""

    text: str = ""
    kinds: tuple[str, ...] = ()
    identity: tuple[dict[str, str], ...] = ()


def field(item: object, name: str) -> object:
    """Return the field *name* of an item, None where there is none."""
    if type(item) is dict:  # nearly always; asking an abstract class costs more than all the rest
        return item.get(name)
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def kind(item: object) -> str:
    """Return the type of an item; a message may leave it out."""
    name = field(item, "type")
    return name if isinstance(name, str) else "message"


def is_output(item: object) -> bool:
    """Return True if *item* is the answer to a call that ran on this side."""
    return kind(item).endswith(_OUTPUT_ENDING)


def is_hosted(item: object) -> bool:
    """Return True if *item* is a call that the provider executed itself."""
    return kind(item) in _HOSTED_CALLS


def is_passed_through(item: object) -> bool:
    """Return True if *item* is none that is read here, as compactions, approvals, references."""
    name = kind(item)
    is_read = name in {"message", "reasoning"} or name in _LOCAL_CALLS or is_output(item)
    return name == _HALF_A_PAIR or not (is_read or is_hosted(item))


def call_in(item: object, *, as_sent: bool = False) -> Call | None:
    """Return the call that *item* is, hosted ones included; None if it is none.

    Args:
        item: Any item.
        as_sent: True leaves arguments that are a text unread.
    """
    type_name = kind(item)
    if (fields := _LOCAL_CALLS.get(type_name)) is not None:
        call_id = field(item, "call_id") or field(item, "id")
    elif (hosted := _HOSTED_CALLS.get(type_name)) is not None:
        fields, call_id = hosted[0], field(item, "id")
    else:
        return None
    arguments = None
    for key in fields:
        if (arguments := field(item, key)) is not None:
            break
    name = field(item, "name")
    return Call(
        name if isinstance(name, str) else type_name,
        arguments if as_sent and isinstance(arguments, str) else as_json(arguments),
        call_id if isinstance(call_id, str) else None,
    )


def hosted_result(item: object) -> tuple[object, bool] | None:
    """Return the result of a hosted call and whether it is an error; None where none is shown."""
    hosted = _HOSTED_CALLS.get(kind(item))
    for name in hosted[1] if hosted else ():
        if (value := field(item, name)) is not None:
            return plain(value), name == "error"
    return None


def result_in(item: object) -> object:
    """Return what an output item answers: its text, or a list of texts and stand-ins."""
    output = field(item, "output")
    if isinstance(output, str) or not isinstance(output, Iterable):
        return output
    content = content_of(output)
    if not content.kinds:
        return content.text
    return [content.text, *content.identity]


def content_of(value: object) -> Content:
    """Read the content of a message: a string, or parts of which some are no text."""
    if isinstance(value, str):
        return Content(value)
    if not isinstance(value, Iterable) or isinstance(value, Mapping):
        return Content()
    texts, others = [], []
    for part in value:
        type_name = kind(part)
        text = field(part, _TEXT_KEYS.get(type_name, type_name))
        if isinstance(text, str) and (type_name in _TEXT_KEYS or type_name == "refusal"):
            texts.append(text)
        else:
            others.append(part)
    identity = tuple({"type": kind(part), "digest": digest(plain(part))} for part in others)
    return Content("".join(texts), tuple(kind(part) for part in others), identity)


def is_text(part: object) -> bool:
    """Return True if a part of a content is text that may be written anew; a refusal is not."""
    return kind(part) in _TEXT_KEYS


def spoken(item: object, index: int) -> tuple[str, str]:
    """Return the channel and the text of what an item of a reply says; its place names a call."""
    match kind(item):
        case "reasoning":
            return "reasoning", thought(item)
        case "message":
            return "content", content_of(field(item, "content")).text
        case name:
            written = [field(item, key) for key in _LOCAL_CALLS.get(name, ())]
            return f"tool:{index}", next((text for text in written if isinstance(text, str)), "")


def text_said(items: Iterable[object]) -> str:
    """Return the text of the messages among the items of a reply."""
    return "".join(spoken(item, 0)[1] for item in items if kind(item) == "message")


def thought(item: object) -> str:
    """Return the text of a reasoning item: its summary, and its content where that is shown."""
    texts = []
    for name in ("summary", "content"):
        parts = field(item, name)
        for part in parts if isinstance(parts, Iterable) else ():
            text = field(part, "text")
            texts.append(text if isinstance(text, str) else "")
    return "".join(texts)


def as_json(written: object) -> object:
    """Parse arguments that were written as JSON; what is none stays the text that it is."""
    if not isinstance(written, str):
        return plain(written)
    try:
        return json.loads(written) if written.strip() else {}
    except (ValueError, RecursionError):
        return written


def plain(value: object) -> object:
    """Return openai's models as the dicts that they stand for."""
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_unset=True)
    if isinstance(value, (list, tuple)):
        return [plain(element) for element in value]
    return value
