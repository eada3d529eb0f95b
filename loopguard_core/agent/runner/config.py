"""What an `OpenAIRunner` is told once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from loopguard_core.reply import ExactConfig

__all__ = ["OpenAIRunnerConfig"]


class OpenAIRunnerConfig(BaseModel):
    """Settings of an `OpenAIRunner`; frozen, so that any number of runners can share them.

    Args:
        extra_body: Fields of every request beyond those of the protocol, or of each call: what
            `ChatOptions` says goes before these.
        include_usage: True asks for a report of the tokens (`stream_options`); False for the
            servers that refuse to be asked.
        repetition: Thresholds of the watch over the reply; `ExactConfig(off=True)` never cuts.
        timeout_s: Seconds without a byte after which a call fails, above 0; None leaves it to
            the client.
        max_retries: How often a call is tried again before its stream begins; None leaves it to
            the client, whose default is 2.
        trace_header: The name of a header that carries `ChatOptions.trace_id`, percent-encoded;
            empty sends none.

    Raises:
        pydantic.ValidationError: A setting is of the wrong type or out of range, or not known.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False
    )

    extra_body: Mapping[str, object] = Field(default_factory=dict)
    include_usage: bool = True
    repetition: ExactConfig = ExactConfig()
    timeout_s: Annotated[float, Field(gt=0)] | None = None
    max_retries: Annotated[int, Field(ge=0)] | None = None
    trace_header: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]*$")] = ""
