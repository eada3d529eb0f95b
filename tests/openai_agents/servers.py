"""An MCP server in the same process."""

from __future__ import annotations

from typing import Any

from agents.mcp import MCPServer
from mcp.types import CallToolResult, GetPromptResult, ListPromptsResult, TextContent, Tool

_SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}


class SearchServer(MCPServer):
    """Offers one tool, which finds nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.ran: list[str] = []

    @property
    def name(self) -> str:
        """The server's name."""
        return "search-server"

    async def connect(self) -> None:
        """There is nothing to connect to."""

    async def cleanup(self) -> None:
        """There is nothing to clean up."""

    async def list_tools(self, *_args: Any, **_options: Any) -> list[Tool]:
        """Return the one tool."""
        return [Tool(name="search", description="Search.", input_schema=_SCHEMA)]

    async def call_tool(
        self, _name: str, arguments: dict[str, Any] | None, *_args: Any, **_options: Any
    ) -> CallToolResult:
        """Find nothing."""
        self.ran.append((arguments or {})["q"])
        return CallToolResult(content=[TextContent(type="text", text="nothing")])

    async def list_prompts(self) -> ListPromptsResult:
        """There are no prompts."""
        raise NotImplementedError

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None
    ) -> GetPromptResult:
        """There are no prompts."""
        raise NotImplementedError


def search_server() -> tuple[SearchServer, list[str]]:
    """Return a server, and the list of the queries that its tool ran with."""
    server = SearchServer()
    return server, server.ran
