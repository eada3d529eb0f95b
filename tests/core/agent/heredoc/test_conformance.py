"""The heredoc transport answers every conformance case as the reference does.

Two quirks are mended, and their cases are tested for the advised behaviour: a terminator is no prose
(Q02), and the escapes of a JSON literal do not matter (Q26). The grammar's cases (Q06) ask for
one without prose, which is an option here.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from loopguard_core.agent.heredoc import (
    HeredocFault,
    close_heredoc,
    loose_json,
    parse_heredoc,
    render_call,
)
from tests.core.agent.cases import cases, ids
from tests.core.agent.quirks import FIXED

_PARSED = cases("heredoc_parse", "heredoc_parse")
_LOOSE = cases("heredoc_parse", "loose")
_CLOSED = cases("heredoc_parse", "close_heredoc")
_RENDERED = cases("heredoc_parse", "render_call")


def test_every_case_is_run() -> None:
    """The file holds 48 cases of four operations."""
    assert [len(some) for some in (_PARSED, _LOOSE, _CLOSED, _RENDERED)] == [34, 6, 5, 3]
    assert len(cases("heredoc_parse")) == 48


@pytest.mark.parametrize("case", _PARSED, ids=ids(_PARSED))
def test_a_reply_is_parsed_like_the_reference_does(case: dict[str, Any]) -> None:
    """Prose, calls with their arguments' text, and the kind of error agree."""
    reply = parse_heredoc(case["in"]["text"])
    expected = case["out"]
    prose = "" if case["id"] in FIXED else expected["prose"]

    assert prose == reply.prose
    assert _error(expected) == _kind(reply.error)
    assert expected["calls"] == [
        {"id": call.id, "name": call.name, "arguments": _as_go_escapes(call.arguments, case)}
        for call in reply.calls
    ]


@pytest.mark.parametrize("case", _LOOSE, ids=ids(_LOOSE))
def test_loose_json_is_rewritten_like_the_reference_does(case: dict[str, Any]) -> None:
    """The JSON text and the kind of error agree."""
    found = loose_json(case["in"]["text"])
    assert (case["out"]["json"], _error(case["out"])) == (found.json, _kind(found.fault))


@pytest.mark.parametrize("case", _CLOSED, ids=ids(_CLOSED))
def test_a_reply_is_closed_like_the_reference_does(case: dict[str, Any]) -> None:
    """A terminator is added only to a reply with a call and without one."""
    assert case["out"] == close_heredoc(case["in"]["text"])


@pytest.mark.parametrize("case", _RENDERED, ids=ids(_RENDERED))
def test_a_call_is_rendered_like_the_reference_does(case: dict[str, Any]) -> None:
    """A stored call is shown between its marks."""
    assert case["out"] == render_call(case["in"]["name"], case["in"]["args"])


def _kind(fault: HeredocFault | None) -> tuple[str, str, bool] | None:
    return None if fault is None else (str(fault.kind), fault.tool, "cut off" in fault.message)


def _error(expected: dict[str, Any]) -> tuple[str, str, bool] | None:
    error = expected["error"]
    if error is None:
        return None
    return error["kind"], error.get("tool", ""), "must_contain" in error


def _as_go_escapes(arguments: str, case: dict[str, Any]) -> str:
    """Escape angle brackets and ampersands as the reference's JSON writer does."""
    if "Q26" not in case.get("quirk", ()):
        return arguments
    for character in "<>&":
        arguments = arguments.replace(character, f"\\u{ord(character):04x}")
    json.loads(arguments)
    return arguments
