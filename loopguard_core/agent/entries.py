"""`Entry`: what a session keeps, its JSON form and its order.

Source: agent specification, sections 1 and 3. Entries are frozen: what a model is shown in the
place of one (a stub, a cut, an expanded text) never changes what was stored.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from enum import StrEnum
from operator import lt
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
)
from pydantic.alias_generators import to_pascal

from .chat import ContentPart

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Compaction", "CompactionInfo", "Entry", "EntryKind", "EntryUsage", "in_order", "new_id"]


class EntryKind(StrEnum):
    """The kinds that are rendered in a way of their own; any other string is a notification."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    COMPACTION = "compaction"
    NOTIFICATION = "notification"


class EntryUsage(BaseModel):
    """What one model call cost; in JSON, what is zero is left out.

    Args:
        latency_ms: Milliseconds from the request to the end of the stream.
        cached: Prompt tokens that the provider read from its cache.
        processed: Prompt tokens that were new to it.
        generated: Tokens of the reply.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", strict=True)

    latency_ms: Annotated[int, Field(ge=0)] = 0
    cached: Annotated[int, Field(ge=0)] = 0
    processed: Annotated[int, Field(ge=0)] = 0
    generated: Annotated[int, Field(ge=0)] = 0

    @model_serializer(mode="wrap")
    def _without_zeros(self, handler: SerializerFunctionWrapHandler) -> dict[str, int]:
        values: dict[str, int] = handler(self)
        return {name: value for name, value in values.items() if value}


def _json_name(field: str) -> str:
    """Spell a field as the stored form does: `tool_call_id` is `ToolCallID`."""
    return "ID" if field == "id" else to_pascal(field).replace("CallId", "CallID")


class Entry(BaseModel):
    """One durable record of a session.

    Args:
        kind: An `EntryKind`, or any other string, which behaves as a notification.
        content: The text. Of a call: its arguments; of a compaction: the summary.
        id: Unique in its session; empty means that a store or session sets one.
        parts: Text and images in the place of the content; only a user entry renders them.
        tool_call_id: On a call and on its result.
        tool_name: On a call and on its result.
        usage: On an assistant entry alone.
        tag: A label, shown in the place of the kind.
        origin: The host's own text; kept and never read.
        created_at: Nanoseconds; orders the entries. 0 means that a session sets it.

    Raises:
        pydantic.ValidationError: A value of the wrong type, or an unknown field.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", strict=True, alias_generator=_json_name, populate_by_name=True
    )

    kind: str
    content: str = ""
    id: str = ""
    parts: Annotated[tuple[ContentPart, ...], Field(strict=False)] = ()
    tool_call_id: str = ""
    tool_name: str = ""
    usage: EntryUsage | None = None
    tag: str = ""
    origin: str = ""
    created_at: int = 0

    @property
    def label(self) -> str:
        """The tag, or the kind where there is none."""
        return self.tag or str(self.kind)

    def to_json(self) -> str:
        """Return the stored form; `Usage` is left out when there is none."""
        omitted = {"usage"} if self.usage is None else None
        try:
            return self.model_dump_json(by_alias=True, exclude=omitted)
        except ValueError:  # a lone surrogate, which only an escape can write
            return json.dumps(self.model_dump(by_alias=True, exclude=omitted))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the stored form again.

        Raises:
            pydantic.ValidationError: *text* is not one.
        """
        try:
            return cls.model_validate_json(text)
        except ValidationError:
            if "\\ud" not in text:  # pydantic reads no escape of a lone surrogate
                raise
            return cls.model_validate(json.loads(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """A fold as a store writes it: the marker comes, what it stands for goes.

    Args:
        marker: The compaction entry; its content is the summary.
        subsumed: The entries that it stands for, as they were read.
    """

    marker: Entry
    subsumed: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionInfo:
    """What a fold did; all empty where nothing was folded.

    Args:
        summary: The text of the marker.
        subsumed_count: Entries that the marker stands for.
        tokens_before: The price of the whole history before, without stubs.
        tokens_after: The price of what is sent after, with stubs; 0 if it could not be read.
    """

    summary: str = ""
    subsumed_count: int = 0
    tokens_before: int = 0
    tokens_after: int = 0


def in_order(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries by time, those of one time by the bytes of their ids; a stable sort."""
    entries = list(entries)
    times = [entry.created_at for entry in entries]
    if all(map(lt, times, times[1:])):
        return entries  # as stores give them; a long history is read at every model call
    return sorted(entries, key=lambda entry: (entry.created_at, entry.id.encode("utf-8")))


def new_id() -> str:
    """Return a random id: RFC 4122, version 4, in its usual lower-case form."""
    return str(uuid.uuid4())
