"""The grammar that lets a model write nothing but prose and calls that can be read.

Whatever it accepts, `parse_heredoc` reads without a fault: a body closes with the line that opened it,
and commas stand where the parser wants them. Source: agent specification, section 15 (grammar).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from .declared import declared_keys
from .format import BODY_OPENER, BODY_TAGS, CALL_PREFIX, MAX_CALLS, TERMINATOR
from .gbnf import any_of, line_not_beginning_with, literal, rule, text_without
from .loose import WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loopguard_core.agent.chat import ToolDefinition

__all__ = ["heredoc_grammar"]

_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_CLOSE: Final = literal(f"\n{TERMINATOR}\n")

_GENERIC_CALL: Final = rf'{literal(CALL_PREFIX)} [A-Za-z0-9_.:/-]+ "\n" object {_CLOSE}'

# A bare key is none of true, false, null, True, False and None, which the parser takes for values.
_BARE_KEY: Final = any_of(
    "[a-eg-mo-su-zA-EG-MO-SU-Z_$] bare-rest",
    "[tT] ([a-qs-zA-Z0-9_$] bare-rest)?",
    "[fF] ([b-zA-Z0-9_$] bare-rest)?",
    '"n" ([a-tv-zA-Z0-9_$] bare-rest)?',
    '"N" ([a-np-zA-Z0-9_$] bare-rest)?',
)

# Where more follows, a comma has to stand; behind the last value it may. The line that closes a body
# is a line of its own, so its comma stands on it.
_VALUES: Final = (
    r'next ::= plain ws "," ws | body "," new-line',
    r'last ::= plain ws ("," ws)? | body ","? new-line',
    r'plain ::= object | array | string | number | "true" | "false" | "null"',
    r'object ::= "{" ws ((key ":" ws next)* key ":" ws last)? "}"',
    r'array ::= "[" ws (next* last)? "]"',
    r"key ::= string | bare",
    rule("bare", _BARE_KEY),
    r"bare-rest ::= [a-zA-Z0-9_$]*",
    r'string ::= "\"" ([^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" hex hex hex hex))* "\""',
    r"hex ::= [0-9a-fA-F]",
    r'number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?',
    r'ws ::= " "? new-line?',
    r'new-line ::= "\n" [ \t]{0,20}',  # bounded, because a model may write blanks for ever
    r"rest-of-line ::= [^\n]*",
)


def heredoc_grammar(tools: Iterable[ToolDefinition], *, allow_prose: bool = True) -> str:
    """Write the grammar of a reply, in GBNF.

    A reply is prose, or up to four calls with prose before them. The keys of a call's object are
    the tool's declared ones, bare or quoted; a tool that declares none takes empty braces. Whether
    keys are required, and the types of values, are the validator's to check.

    Args:
        tools: What may be called; those without a name are left out. Without any, a call of
            any name with any object is accepted.
        allow_prose: False demands a call in every reply, with nothing before it: a turn then
            ends only by a tool that ends it or by a limit (quirk Q06).
    """
    named = sorted((tool for tool in tools if tool.name), key=lambda tool: tool.name)
    rules = [*_reply(allow_prose=allow_prose), *_calls(named), *_VALUES, *_bodies()]
    return "\n".join(rules) + "\n"


def _reply(*, allow_prose: bool) -> list[str]:
    calls = rule("calls", f"call call{{0,{MAX_CALLS - 1}}}")
    if not allow_prose:
        return [rule("root", "calls"), calls]
    root = rule("root", any_of(r'(prose "\n")? calls', "prose"))
    return [root, calls, *text_without(CALL_PREFIX, "prose")]


def _calls(tools: list[ToolDefinition]) -> list[str]:
    if not tools:
        return [rule("call", _GENERIC_CALL)]
    rules = [rule("call", any_of(*(f"call-{number}" for number in range(1, len(tools) + 1))))]
    for number, tool in enumerate(tools, 1):
        opening = literal(f"{CALL_PREFIX}{tool.name}\n")
        rules.append(rule(f"call-{number}", f"{opening} object-{number} {_CLOSE}"))
        rules += _declared_object(number, declared_keys(tool))
    return rules


def _declared_object(number: int, keys: list[str]) -> list[str]:
    """Write the object of a tool: at least one pair, and at most as many as it has keys."""
    if not keys:
        return [rule(f"object-{number}", '"{" ws "}"')]
    pair = f'key-{number} ":" ws'
    more = f" ({pair} next){{0,{len(keys) - 1}}}" if len(keys) > 1 else ""
    return [
        rule(f"object-{number}", f'"{{" ws{more} {pair} last "}}"'),
        rule(f"key-{number}", any_of(*(form for key in keys for form in _key_forms(key)))),
    ]


def _key_forms(key: str) -> list[str]:
    """Write a key bare, if the parser would read it so, and quoted."""
    quoted = literal(json.dumps(key, ensure_ascii=False))
    bare = _IDENTIFIER.fullmatch(key) is not None and key not in WORDS
    return [literal(key), quoted] if bare else [quoted]


def _bodies() -> list[str]:
    rules = [rule("body", any_of(*(f"body-{tag}" for tag in BODY_TAGS)))]
    for tag in BODY_TAGS:
        mark = f"{BODY_OPENER}{tag}"
        opening, closing = literal(f"{mark}\n"), literal(mark)
        rules.append(rule(f"body-{tag}", rf'{opening} (line-{tag} "\n")* {closing}'))
        rules.append(rule(f"line-{tag}", line_not_beginning_with(mark, "rest-of-line")))
    return rules
