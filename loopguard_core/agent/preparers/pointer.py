"""What a model is told of a document that was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard_core.agent.neutral import neutralize_special_tokens

if TYPE_CHECKING:
    from .protocol import DocHit

__all__ = ["pointer_text"]


def pointer_text(hit: DocHit) -> str:
    """Return one line that names a document and how to read it.

    Title and line come from the document, which nobody has vetted: control tokens in them are
    neutralised, as in a tool result, and they stay on one line.
    """
    text = (
        f'A document may help: "{hit.title}" (id {hit.doc_id}, score {hit.score:.2f}): {hit.line} '
        "- read it with your search tool if you need it."
    )
    return neutralize_special_tokens(" ".join(text.split()))
