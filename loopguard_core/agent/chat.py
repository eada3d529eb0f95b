"""What one model call is made of: messages, tool calls, tool definitions, and their wire form.

Source: agent specification, sections 3 and 18. These are values within a call; what is stored is
an `Entry`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from loopguard_core.errors import InvalidInputError

__all__ = [
    "ChatMessage",
    "ContentPart",
    "ImagePart",
    "ImageUrl",
    "Role",
    "TextPart",
    "ToolCall",
    "ToolDefinition",
]

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


class _Part(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", strict=True)


class TextPart(_Part):
    """A text among the parts of a message."""

    type: Literal["text"] = "text"
    text: str


class ImageUrl(_Part):
    """Where an image is: an address, or a `data:` URL that holds it."""

    url: str


class ImagePart(_Part):
    """An image among the parts of a message."""

    type: Literal["image_url"] = "image_url"
    image_url: ImageUrl


ContentPart: TypeAlias = Annotated[TextPart | ImagePart, Field(discriminator="type")]
"""One part of a message that holds more than text; equal to its OpenAI wire form."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call as the model wrote it.

    Args:
        id: Links the call to its result; may be empty (heredoc calls, some local servers).
        name: The tool.
        arguments: The text that the model wrote, which need not be JSON.
        type: `function` at every provider known to us.
    """

    id: str
    name: str
    arguments: str
    type: str = "function"

    def wire(self) -> dict[str, object]:
        """Return the call as the OpenAI protocol spells it."""
        function = {"name": self.name, "arguments": self.arguments}
        return {"id": self.id, "type": self.type, "function": function}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """A tool as the model is told of it.

    Args:
        name: What the model calls it by.
        description: What it does, for the model.
        parameters: A JSON schema of its arguments; None says nothing about them.

    Raises:
        InvalidInputError: A field cannot be used, by its name.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, object] | None = None

    def __post_init__(self) -> None:
        """Refuse what no provider would take.

        Raises:
            InvalidInputError: A field cannot be used, by its name.
        """
        for name in ("name", "description"):
            if not isinstance(getattr(self, name), str):
                raise InvalidInputError(name, getattr(self, name), "a text")

    def wire(self) -> dict[str, object]:
        """Return the definition as the OpenAI protocol spells it."""
        function: dict[str, object] = {"name": self.name, "description": self.description}
        if self.parameters is not None:
            function["parameters"] = dict(self.parameters)
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """One message of a model call.

    Args:
        role: Who speaks.
        content: The text; empty where parts stand in its place, or calls alone.
        name: A name beside the role; empty for none.
        tool_calls: What an assistant message calls.
        tool_call_id: Which call a tool message answers; empty for none.
        parts: Text and images in the place of the content.
    """

    role: Role
    content: str = ""
    name: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    parts: tuple[ContentPart, ...] = ()

    def wire(self) -> dict[str, object]:
        """Return the message as the OpenAI protocol spells it.

        The content is written even when it is empty; of the rest, what is empty is left out.
        """
        parts = [part.model_dump(mode="json") for part in self.parts]
        message: dict[str, object] = {"role": self.role, "content": parts or self.content}
        if self.name:
            message["name"] = self.name
        if self.tool_calls:
            message["tool_calls"] = [call.wire() for call in self.tool_calls]
        if self.tool_call_id:
            message["tool_call_id"] = self.tool_call_id
        return message
