"""What a model is told of the transport: examples first, then the rules, then its tools.

Source: agent specification, sections 15 (prompt) and 20.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .declared import declared_keys, required_keys
from .format import BODY_OPENER, BODY_TAGS, CALL_PREFIX, MAX_CALLS, TERMINATOR

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loopguard_core.agent.chat import ToolDefinition

__all__ = ["heredoc_prompt"]

_GUIDE: Final = f"""\
To call a tool, write:

{CALL_PREFIX}find_files
{{pattern: "*.py", limit: 20, hidden: false}}
{TERMINATOR}

Calls that do not need each other's results may follow each other, at most {MAX_CALLS} in a reply:

{CALL_PREFIX}read_file
{{path: "a.py"}}
{TERMINATOR}
{CALL_PREFIX}read_file
{{path: "b.py"}}
{TERMINATOR}

A long text goes into a body, just as it is:

{CALL_PREFIX}write_file
{{path: "hello.py", content: {BODY_OPENER}py
print("no escapes: \\n and ' and `")
{BODY_OPENER}py
}}
{TERMINATOR}

Rules:
- The names above are examples. Call only the tools that you have.
- If a step needs the result of another one, make one call, end your reply and wait for the result.
- Numbers, true, false, null, lists and objects are written as in JSON, without quotes around them.
- A body begins with {BODY_OPENER} and a tag, such as {BODY_OPENER}py, at the end of a line. It ends with a line \
that is exactly the same. Nothing in between is escaped.
- Always write a tag: {", ".join(BODY_TAGS)}. If a line of the text \
begins like the first line of the body, take another tag.
- If another key follows a body, put the comma on its last line: {BODY_OPENER}py,
- Short strings on one line go in double quotes.
- What you write outside of calls is your message. To answer without a tool, write only that."""


def heredoc_prompt(tools: Iterable[ToolDefinition]) -> str:
    """Write the part of the system text that teaches the transport and names the tools.

    Args:
        tools: What may be called, in the order in which the model reads of them; those without a
            name are left out. Without any, only the transport is taught.
    """
    lines = [_tool_line(tool) for tool in tools if tool.name]
    return "\n".join([_GUIDE, "", "Tools:", *lines]) if lines else _GUIDE


def _tool_line(tool: ToolDefinition) -> str:
    """Write the name, the arguments, optional ones with a question mark, and the description."""
    required = required_keys(tool)
    keys = ", ".join(key if key in required else f"{key}?" for key in declared_keys(tool))
    description = " ".join(tool.description.split())
    return f"- {tool.name}({keys}): {description}" if description else f"- {tool.name}({keys})"
