"""What a scan says about one saved run: the row that `loopguard scan --json` writes."""

from __future__ import annotations

import json
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict

from loopguard_core.guard import Severity

__all__ = ["ActionName", "ScanFinding", "ScanRow"]

ActionName: TypeAlias = Literal["allow", "nudge", "block", "halt"]
"""An `Action`, by its name in lower case."""


def _encodable(text: str) -> str:
    """Replace what no encoding can write: half a surrogate pair from a file, or from a path."""
    return text.encode("utf-8", "replace").decode()


_Text: TypeAlias = Annotated[str, BeforeValidator(_encodable)]


class ScanFinding(BaseModel):
    """One finding, with the index of the saved message at which it was made."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    detector: str
    severity: Severity
    count: int
    message: _Text
    at_message: int


class ScanRow(BaseModel):
    """One saved run: did it loop, where, and what would the guard have done.

    Args:
        run: The run's id.
        source: The file it came from.
        format: What it was saved in, such as `openai-chat`.
        messages: How many messages the file holds.
        looping: True if anything was found.
        action: The strongest verdict; `allow` without findings.
        detector: What made the first finding; None without findings.
        at_message: The index of the newest message that was there when the first finding was
            made, counted from 0; None without findings.
        findings: What was found, in order; what stays true over several messages is listed once.
        messages_after: How many messages followed the first block or halt; 0 without one.
        tokens_after: What followed it, the rest of a cut reply included, in characters divided
            by 4.
        at_char: Of a saved reply, how many characters had been read when it was found to loop;
            None without findings. A run has no such field.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    run: _Text
    source: _Text
    format: str
    messages: int
    looping: bool
    action: ActionName
    detector: str | None
    at_message: int | None
    findings: tuple[ScanFinding, ...]
    messages_after: int
    tokens_after: int
    at_char: int | None = None

    def to_json(self) -> str:
        """Write the row as one line of JSON, in ASCII."""
        return json.dumps(self.model_dump(mode="json", exclude_unset=True))
