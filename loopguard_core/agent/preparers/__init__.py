"""What looks after a session's notices before each model call."""

from __future__ import annotations

from .doc_hits import parse_doc_hits
from .finder import FinderPreparer
from .options import FinderOptions
from .pointer import pointer_text
from .protocol import DocFinder, DocHit, NotificationPreparer, RevalidateStore, Revalidator
from .revalidate import MCPPreparer, is_resolved_truth

__all__ = [
    "DocFinder",
    "DocHit",
    "FinderOptions",
    "FinderPreparer",
    "MCPPreparer",
    "NotificationPreparer",
    "RevalidateStore",
    "Revalidator",
    "is_resolved_truth",
    "parse_doc_hits",
    "pointer_text",
]
