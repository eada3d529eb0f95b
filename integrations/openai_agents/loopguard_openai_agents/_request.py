"""One call of a model, as a value: what the SDK asked, and what is asked instead."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from agents import (
    Handoff,
    ModelBehaviorError,
    ModelSettings,
    ModelTracing,
    Tool,
    TResponseInputItem,
)
from agents.agent_output import AgentOutputSchemaBase
from openai.types.responses.response_prompt_param import ResponsePromptParam

from loopguard_core import GuardedReply

from ._items import content_of

if TYPE_CHECKING:
    from openai.types.responses import ResponseOutputMessage

__all__ = ["Asked", "Request"]


@dataclass(frozen=True, slots=True)
class Request:
    """The arguments of a model call, by the names and in the order that `Model` gives them."""

    system_instructions: str | None
    input: list[TResponseInputItem]
    model_settings: ModelSettings
    tools: list[Tool]
    output_schema: AgentOutputSchemaBase | None
    handoffs: list[Handoff[Any, Any]]
    tracing: ModelTracing
    previous_response_id: str | None
    conversation_id: str | None
    prompt: ResponsePromptParam | None

    @property
    def is_on_server(self) -> bool:
        """True if the server keeps the conversation."""
        return bool(self.conversation_id or self.previous_response_id)

    @property
    def wants_text(self) -> bool:
        """True if the agent's output type is text."""
        return self.output_schema is None or self.output_schema.is_plain_text()

    def takes(self, final: ResponseOutputMessage | None) -> bool:
        """Return True if a run can end with *final*; None is a text of ours."""
        if self.output_schema is None or self.wants_text:
            return True
        if final is None:
            return False
        try:
            self.output_schema.validate_json(content_of(final.content).text)
        except ModelBehaviorError:
            return False
        return True

    def keywords(self) -> dict[str, Any]:
        """Return all arguments by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True, slots=True)
class Asked:
    """One question to a model, and what watches the answer."""

    request: Request
    watch: GuardedReply
