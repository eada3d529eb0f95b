"""The row of a scan: what was found, where, and what came after the guard stepped in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loopguard_core.guard import Action, Finding, LoopGuard, Policy, Verdict
from loopguard_core.report import ScanRow, scan, scan_reply, scan_run
from loopguard_core.transcripts import Saved, SavedReply, Unreadable

from .scripted import ScriptedGuard, bot, call, calls, result, run_of, user, verdict

STUCK = [user(), *[calls("a"), result("a", "none")] * 12]
KEYS = [
    "run", "source", "format", "messages", "looping", "action", "detector", "at_message",
    "findings", "messages_after", "tokens_after",
]  # fmt: skip


def scripted(script: dict[str, Verdict], *messages: dict[str, Any]) -> ScanRow:
    """Scan *messages* with a guard that follows *script*."""
    return scan_run(run_of(*messages), ScriptedGuard(script).as_guard())


def test_a_healthy_run() -> None:
    """Without findings everything is empty, and the guard would have allowed."""
    row = scripted({}, user(), bot("hello"))
    assert json.loads(row.to_json()) == {
        "run": "r",
        "source": "s",
        "format": "openai-chat",
        "messages": 2,
        "looping": False,
        "action": "allow",
        "detector": None,
        "at_message": None,
        "findings": [],
        "messages_after": 0,
        "tokens_after": 0,
    }


@pytest.mark.parametrize(
    ("event", "at"),
    [("thread 3", 2), ("call b", 3), ("result b ok", 4), ("content done", 5)],
    ids=["thread", "call", "result", "reply"],
)
def test_where_a_finding_is(event: str, at: int) -> None:
    """A finding is at the newest message that was there: a thread's last, a call's own."""
    messages = [user(), calls("a"), result("a"), calls("b"), result("b"), bot("done")]
    row = scripted({event: verdict(Action.NUDGE)}, *messages)
    assert (row.looping, row.action, row.detector, row.at_message) == (True, "nudge", "d", at)
    assert (row.messages_after, row.tokens_after) == (0, 0)


def test_what_came_after_the_first_stop() -> None:
    """After the first block everything in the file counts, and the action is the strongest."""
    messages = [user(), calls("a"), result("a", "x" * 5), calls("a"), result("a", "y" * 6)]
    row = scripted({"call a": verdict(Action.BLOCK), "call a 2": verdict(Action.HALT)}, *messages)
    assert (row.at_message, row.action, row.messages_after) == (1, "halt", 3)
    assert row.tokens_after == (5 + len("a{}") + 6) // 4


def test_what_came_after_a_halt_before_a_reply() -> None:
    """A halt before a model call saves that reply."""
    row = scripted({"thread 1": verdict(Action.HALT)}, user("xxxxxxxx"), bot("y" * 40))
    assert (row.at_message, row.messages_after, row.tokens_after) == (0, 1, 10)


def test_what_came_after_a_cut() -> None:
    """The rest of a cut reply came after the cut, and so did its calls."""
    text = "la " * 40
    row = scripted(
        {f"content {text[16:32]}": verdict(Action.HALT)}, user(), bot(text), bot("z" * 8)
    )
    assert (row.at_message, row.messages_after) == (1, 1)
    assert row.tokens_after == (len(text) - 32 + 8) // 4


def test_what_came_after_a_cut_behind_reasoning() -> None:
    """Reasoning that was read before the cut did not come after it."""
    script = {"content so": verdict(Action.HALT)}
    row = scripted(script, bot("so", reasoning="r" * 400, tool_calls=[call("abcdef")]))
    assert row.tokens_after == len("abcdef{}") // 4


def test_one_episode_is_listed_once() -> None:
    """A finding that stays true, with a count that grows or stands, is one finding."""
    script = {f"thread {n}": verdict(Action.NUDGE, count=max(n, 3)) for n in range(1, 9)}
    row = scripted(script, user(), *[bot("x")] * 7)
    assert [(finding.count, finding.at_message) for finding in row.findings] == [(3, 0)]


@pytest.mark.parametrize(
    "second",
    [
        verdict(Action.NUDGE, "other", count=4),
        verdict(Action.NUDGE, count=3),
        verdict(Action.NUDGE, count=4, evidence=("tool",)),
        Verdict(Action.BLOCK, (Finding("d", "critical", 4, "d seen"),)),
    ],
    ids=["detector", "count-fell", "evidence", "severity"],
)
def test_another_finding_is_listed(second: Verdict) -> None:
    """Another detector, severity or tool, or a count that starts over, is another finding."""
    row = scripted(
        {"thread 1": verdict(Action.NUDGE, count=4), "thread 2": second}, user(), bot("x"), bot("y")
    )
    assert [finding.at_message for finding in row.findings] == [0, 1]


def test_a_turn_lists_a_finding_again() -> None:
    """What a person's message has interrupted is found anew."""
    script = {"content x": verdict(Action.NUDGE)}
    row = scripted(script, user(), bot("x"), bot("x"), user(), bot("x"))
    assert [finding.at_message for finding in row.findings] == [1, 4]


def test_a_stuck_run() -> None:
    """The default guard stops a run that makes one call again and again."""
    row = scan_run(run_of(*STUCK), LoopGuard())
    assert row.looping
    assert row.action == "halt"
    assert row.at_message is not None
    assert row.at_message < 10
    assert row.messages_after > 10
    assert row.tokens_after > 0
    assert list(json.loads(row.to_json())) == KEYS


def test_a_policy_that_observes() -> None:
    """A guard that never interferes still reports what it sees."""
    row = scan_run(run_of(*STUCK), LoopGuard(policy=Policy.observe()))
    assert (row.looping, row.action, row.messages_after, row.tokens_after) == (True, "allow", 0, 0)


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [user()],
        [bot("hello")],
        [user(), *[m for n in range(12) for m in (calls("poll"), result("poll", f"{n}%"))]],
        [user(), *[m for n in range(12) for m in (calls(f"read{n}"), result(f"read{n}"))]],
        [user(), *[m for n in range(12) for m in (user(f"question {n}"), bot(f"answer {n}"))]],
        [user(), *[calls("a"), result("a", "none")] * 2, bot("It is not there.")],
    ],
    ids=["empty", "only-user", "only-bot", "polling", "batch", "chat", "two-equal"],
)
def test_healthy_runs(messages: list[dict[str, Any]]) -> None:
    """Work that makes progress is left alone."""
    row = scan_run(run_of(*messages), LoopGuard())
    assert (row.looping, row.action, row.messages) == (False, "allow", len(messages))


def test_a_looping_reply() -> None:
    """A reply is one message; the row says at which character it was found to loop."""
    text = "We begin with the plan. " + "Let me call lint once more. " * 120
    row = scan_reply(SavedReply("t", "s", text), LoopGuard())
    assert list(json.loads(row.to_json())) == [*KEYS, "at_char"]
    assert (row.format, row.messages, row.looping, row.action) == ("text", 1, True, "halt")
    assert (row.at_message, row.messages_after) == (0, 0)
    assert row.at_char is not None
    assert 100 < row.at_char < len(text) - 200
    assert row.tokens_after == (len(text) - row.at_char) // 4


def test_a_healthy_reply() -> None:
    """Without findings there is no message and no character, and the fields say so."""
    row = scan_reply(SavedReply("t", "s", "A short and healthy answer."), LoopGuard())
    found = json.loads(row.to_json())
    assert (found["at_message"], found["at_char"], found["looping"]) == (None, None, False)


def test_the_channel_of_a_reply() -> None:
    """The channel is handed on to the guard."""
    guard = ScriptedGuard()
    scan_reply(SavedReply("t", "s", "hm"), guard.as_guard(), channel="reasoning")
    assert guard.events == ["reasoning hm"]


def test_a_scan_hands_on_what_is_unreadable() -> None:
    """Items come back in their order, each as a row or as what is wrong with it."""
    bad = Unreadable("s", 2, "broken")
    items: list[Saved] = [run_of(user()), bad, SavedReply("t", "s", "x")]
    first, second, third = scan(items, LoopGuard(), channel="content")
    assert isinstance(first, ScanRow)
    assert second is bad
    assert isinstance(third, ScanRow)


def test_half_a_surrogate_pair_can_be_written() -> None:
    """Whatever a model or a file says, a row is one line of ASCII."""
    found = Verdict(Action.NUDGE, (Finding("d", "warn", 1, "\ud83d seen\n"),))
    saved = SavedReply("\ud83d", "\udcff", "x\ud83d")
    row = scan_reply(saved, ScriptedGuard({"content x\ud83d": found}).as_guard())
    line = row.to_json()
    assert line.isascii()
    assert "\n" not in line
    assert json.loads(line)["run"] == "?"
