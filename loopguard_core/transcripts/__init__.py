"""Readers for saved runs: a file in, neutral messages out, and what could not be read by name.

    read_path ──▶ SavedRun (messages) │ SavedReply (one streamed text) │ Unreadable (where, why)

The first format is OpenAI chat messages. Nothing here judges a run; `loopguard_core.report` does.
"""

from __future__ import annotations

from .openai_chat import to_messages
from .reader import read_path, read_row, read_stream
from .saved import Saved, SavedReply, SavedRun, Unreadable, chars_of, index_of

__all__ = [
    "Saved",
    "SavedReply",
    "SavedRun",
    "Unreadable",
    "chars_of",
    "index_of",
    "read_path",
    "read_row",
    "read_stream",
    "to_messages",
]
