"""What is expected where a quirk is mended: the parts of a case's outcome that differ.

`⟦id N⟧` stands for an id that the session made, the same at each place of one case.
"""

from __future__ import annotations

import json
from typing import Any, Final

__all__ = ["ADVISED"]

_USER: Final = {"role": "user", "content": "go"}
_PROMPT: Final = {"role": "system", "content": "⟦heredoc_prompt⟧"}
_PROMPT_ALONE: Final = [_PROMPT, _USER]
_ASKED: Final = {"id": "u1", "kind": "user", "content": "go", "created_at": 1}
_WRITTEN: Final = '{"path": "a", "content": "b"}'
_LONG: Final = "P" * 400
_LOOPED: Final = (
    "⟦repetition_notice ⟦finding period=49 reps=6 where=tool:rec arguments "
    'sample="SOUTH OF THE LONG WALL BY THE MILL, THENCE WEST, "⟧⟧'
)
_MALFORMED: Final = "⟦malformed_call_notice kind=string_never_closed tool=write_file⟧"
_USAGE: Final = {
    "total": 0,
    "active": "⟦wording⟧",
    "cached": 0,
    "processed": 0,
    "generated": 0,
    "turns": 0,
}
_OPTIONS: Final = {
    "has_grammar": True,
    "max_tokens": 0,
    "stop": None,
    "tool_choice": "",
    "trace_id": "",
}


def _said(number: int, text: str, at: int) -> dict[str, Any]:
    return {"id": f"~{number:03}", "kind": "assistant", "content": text, "created_at": at}


def _notice(number: int, tag: str, text: str, at: int) -> dict[str, Any]:
    return _said(number, text, at) | {"kind": "notification", "tag": tag}


def _call(number: int, made: int, tool: str, arguments: str, at: int) -> dict[str, Any]:
    return {
        "id": f"~{number:03}",
        "kind": "tool_call",
        "content": arguments,
        "tool_call_id": f"⟦id {made}⟧",
        "tool_name": tool,
        "created_at": at,
    }


def _result(number: int, made: int, tool: str, at: int) -> dict[str, Any]:
    return _call(number, made, tool, "ok", at) | {"kind": "tool_result"}


def _dispatched(made: int, tool: str, arguments: str) -> dict[str, str]:
    return {"id": f"⟦id {made}⟧", "name": tool, "arguments": arguments}


def _block(tool: str, arguments: str) -> str:
    return f"@@call {tool}\n{arguments}\n@@end"


_JUNK: Final = '{"a":1} junk'
_REFUSED: Final = f"⟦refusal_of {_JUNK}⟧"
_STAND_IN: Final = json.dumps(
    {"_error": _REFUSED, "_raw_chars": len(_JUNK), "_tail": _JUNK},
    ensure_ascii=False,
    separators=(",", ":"),
)
_REFUSED_CALL: Final = {"tool_call_id": "c1", "tool_name": "put"}


ADVISED: Final[dict[str, dict[str, Any]]] = {
    "turn_args-006": {  # Q01
        "turns": [{"compactions": [], "error": None, "reply": "done", "usage": _USAGE}],
        "on_usage": [_USAGE, _USAGE],
        "stored": [
            _ASKED,
            _said(1, _STAND_IN, 102) | {"kind": "tool_call"} | _REFUSED_CALL,
            _said(2, _REFUSED, 103) | {"kind": "tool_result"} | _REFUSED_CALL,
            _said(3, "done", 105),
        ],
        "chats": [
            [_USER],
            [
                _USER,
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"id": "c1", "name": "put", "arguments": _STAND_IN}],
                },
                {"role": "tool", "content": _REFUSED, "tool_call_id": "c1"},
            ],
        ],
        "dispatched": [],
    },
    "turn_cut-004": {  # Q09
        "stored": [
            _said(1, _LONG, 102),
            _notice(2, "repetition", _LOOPED, 103),
            _said(3, "done", 105),
        ],
        "chats": [
            [],
            [
                {"role": "assistant", "content": _LONG},
                {"role": "user", "content": f"[repetition] {_LOOPED}"},
            ],
        ],
    },
    "turn_heredoc-003": {  # Q02, Q05
        "stored": [
            _ASKED,
            _said(1, "I write.", 102),
            _call(2, 1, "write_file", _WRITTEN, 103),
            _result(3, 1, "write_file", 104),
            _said(4, "done", 106),
        ],
        "chats": [
            [{"role": "system", "content": "sys\n\n⟦heredoc_prompt⟧"}, _USER],
            [
                {"role": "system", "content": "sys\n\n⟦heredoc_prompt⟧"},
                _USER,
                {"role": "assistant", "content": "I write.\n" + _block("write_file", _WRITTEN)},
                {"role": "tool", "content": "ok"},
            ],
        ],
        "dispatched": [_dispatched(1, "write_file", _WRITTEN)],
    },
    "turn_heredoc-004": {  # Q02, Q03, Q05, Q20
        "stored": [
            _ASKED,
            _call(1, 1, "write_file", _WRITTEN, 102),
            _result(2, 1, "write_file", 103),
            _said(3, "done", 105),
        ],
        "chats": [
            _PROMPT_ALONE,
            [
                *_PROMPT_ALONE,
                {"role": "assistant", "content": _block("write_file", _WRITTEN)},
                {"role": "tool", "content": "ok"},
            ],
        ],
        "dispatched": [_dispatched(1, "write_file", _WRITTEN)],
    },
    "turn_heredoc-005": {  # Q04, Q20
        "turns": [{"compactions": [], "error": None, "reply": "done", "usage": _USAGE}],
        "stored": [
            _ASKED,
            _notice(1, "malformed_call", _MALFORMED, 102),
            _said(2, "done", 104),
        ],
        "chats": [
            _PROMPT_ALONE,
            [*_PROMPT_ALONE, {"role": "user", "content": f"[malformed_call] {_MALFORMED}"}],
        ],
        "chat_tools": [[], []],
        "chat_opts": [_OPTIONS, _OPTIONS],
        "streamed": ['@@call write_file\n{path: "a', "done"],
        "on_usage": [_USAGE, _USAGE],
        "claim_calls": 3,
    },
    "turn_heredoc-006": {"chats": [_PROMPT_ALONE]},  # Q20
    "turn_heredoc-008": {  # Q02, Q05, Q20
        "stored": [
            _ASKED,
            _call(1, 1, "echo", '{"text": "1"}', 102),
            _call(2, 2, "echo", '{"text": "2"}', 103),
            _result(3, 1, "echo", 104),
            _result(4, 2, "echo", 105),
            _said(5, "done", 107),
        ],
        "chats": [
            _PROMPT_ALONE,
            [
                *_PROMPT_ALONE,
                {
                    "role": "assistant",
                    "content": "\n".join(
                        _block("echo", arguments)
                        for arguments in ('{"text": "1"}', '{"text": "2"}')
                    ),
                },
                {"role": "tool", "content": "ok"},
                {"role": "tool", "content": "ok"},
            ],
        ],
        "dispatched": [
            _dispatched(1, "echo", '{"text": "1"}'),
            _dispatched(2, "echo", '{"text": "2"}'),
        ],
    },
    "turn_inbox-005": {  # Q19: a clock that stands still goes on all the same
        "stored": [_ASKED | {"created_at": 100}, _said(1, "one", 1100)],
    },
    "turn_prompt-006": {"chats": [_PROMPT_ALONE]},  # Q20
}
"""By the id of the case, the keys of its outcome that are replaced."""
