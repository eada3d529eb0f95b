"""The conformance cases that show a quirk which is mended here, and what is expected instead."""

from __future__ import annotations

from typing import Final

__all__ = ["FIXED"]

FIXED: Final[dict[str, str]] = {
    "heredoc_parse-016": "Q02: the terminators behind the calls are no prose",
    "heredoc_parse-019": "Q02: the terminator behind the call is no prose",
}
