"""The tokens that stand in a conformance case for wording: ours is put in their place."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from loopguard_core.agent.arguments import gate_arguments, refusal_cut, refusal_not_object
from loopguard_core.agent.chat import ToolDefinition
from loopguard_core.agent.heredoc import FaultKind, HeredocFault, heredoc_prompt
from loopguard_core.agent.result_cut import ResultCut
from loopguard_core.agent.runner import finding_text
from loopguard_core.agent.session import notices
from loopguard_core.agent.transclusion import SLOT_NOTE
from loopguard_core.reply import ExactFinding

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Wording"]

_TOKEN: Final = re.compile("⟦([a-z_]+) ?([^⟦⟧]*)⟧")
_MADE: Final = re.compile("⟦id ([0-9]+)⟧")
_WORDING: Final = "⟦wording⟧"


class Wording:
    """Compares what a case expects, with tokens, to what came.

    Args:
        case: The case's input, whose tools the heredoc prompt is for.
    """

    def __init__(self, case: Mapping[str, Any]) -> None:
        self._made: dict[str, str] = {}
        tools = [ToolDefinition(**tool) for tool in case.get("tools") or ()]
        self._texts: dict[str, Callable[[str], str]] = {
            "slot_note": lambda _: SLOT_NOTE,
            "heredoc_prompt": lambda _: heredoc_prompt(tools),
            "cut": _cut_marker,
            "finding": _finding,
            "repetition_notice": notices.repetition_notice,
            "tool_loop_notice": _tool_loop,
            "malformed_call_notice": _malformed_call,
            "refusal_of": lambda given: gate_arguments(given).refusal,
            "refusal_cut": lambda given: refusal_cut(int(given.removeprefix("chars="))),
            "refusal_not_object": lambda given: refusal_not_object(given.removeprefix("got=")),
        }

    def agrees(self, expected: object, actual: object) -> bool:
        """Return True if *actual* is what *expected* asks for."""
        match expected, actual:
            case dict(), dict():
                same = expected.keys() == actual.keys()
                return same and all(self.agrees(expected[key], actual[key]) for key in expected)
            case list(), list():
                same = len(expected) == len(actual)
                return same and all(map(self.agrees, expected, actual))
            case str(), str() if expected.startswith('{"_error"'):
                return self.agrees(json.loads(expected), json.loads(actual))
            case str(), str() if made := _MADE.fullmatch(expected):
                return self._made.setdefault(made[1], actual) == actual and bool(actual)
            case str(), str():
                return self.rendered(expected) == actual
            case _:
                return expected in (_WORDING, actual)

    def rendered(self, text: str) -> str:
        """Put our wording in the place of every token, the innermost first."""
        while token := _TOKEN.search(text):
            ours = self._texts[token[1]](token[2])
            text = text[: token.start()] + ours + text[token.end() :]
        return text


def _cut_marker(given: str) -> str:
    found = re.fullmatch(r"dropped=(\d+) total=(\d+) sections=(.*)", given)
    assert found is not None
    dropped, total, sections = int(found[1]), int(found[2]), tuple(found[3].split())
    return ResultCut(head="", tail="", dropped=dropped, total=total, sections=sections).marker()


def _finding(given: str) -> str:
    found = re.fullmatch(r'period=(\d+) reps=(\d+) where=(.*?) sample="(.*)"', given, re.DOTALL)
    assert found is not None
    period, reps, sample = int(found[1]), int(found[2]), found[4].encode()
    return finding_text(ExactFinding(found[3], period, reps, 0, sample))


def _tool_loop(given: str) -> str:
    found = re.fullmatch(r"tools=(.*) rounds=(\d+)", given)
    assert found is not None
    return notices.tool_loop_notice(found[1].split(", "), int(found[2]))


def _malformed_call(given: str) -> str:
    kind, tool = (part.partition("=")[2] for part in given.split())
    return notices.malformed_call_notice(HeredocFault(FaultKind(kind), tool))
