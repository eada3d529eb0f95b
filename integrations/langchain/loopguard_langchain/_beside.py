"""What a request holds beside its thread, as texts that can be priced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.utils.function_calling import convert_to_openai_tool

from loopguard_core.tokens import written

if TYPE_CHECKING:
    from langchain.agents.middleware import ModelRequest

__all__ = ["tool_texts"]


def tool_texts(request: ModelRequest[Any]) -> list[str]:
    """Return the tools of a request, each as a provider reads it.

    Those that are dicts are in some provider's own form, which LangChain may not know.
    """
    return [
        written(tool if isinstance(tool, dict) else convert_to_openai_tool(tool))
        for tool in request.tools
    ]
