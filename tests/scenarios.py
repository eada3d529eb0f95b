"""THE table: what a scripted agent does, and what a user of any framework can observe of it.

A row is a promise. Drivers (`drivers.py`) run it against the core and against every framework in
every mode; a behaviour that is not in this table is not promised. Half of the rows are healthy
runs that must stay untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from loopguard_core import LoopGuard, Policy, ToolRule
from loopguard_core.tool_loop import ToolLoopConfig

Tool: TypeAlias = Callable[[Mapping[str, Any], int], str]
"""What a tool answers: its arguments, and how often it ran before; `ToolFailed` is its error."""


class ToolFailed(Exception):  # noqa: N818 - it is what a tool raises, not what goes wrong here
    """A tool's own error; the framework makes an error result of it."""


@dataclass(frozen=True)
class Step:
    """One reply of the model: text, thinking, and calls as (tool, arguments)."""

    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    reasoning: str = ""


@dataclass(frozen=True)
class Turn:
    """A person's message and what the model does about it.

    The model says *steps* in order; with *forever* it says the last one again and again, and only
    the guard can end the turn.
    """

    steps: tuple[Step, ...]
    person: str = "Please do it."
    forever: bool = False


@dataclass(frozen=True)
class Outcome:
    """What a user can observe, the same for every framework.

    Args:
        executed: How often tools ran.
        blocked: Calls that were answered without running, those of a stopped run left out.
        nudges: How often the model was told something, cuts left out.
        cuts: Replies that were cut.
        end: How the last turn ended: by itself, or by the guard in one of its three ways.
        detector: The detector that ended it, or else the first one that found something.
    """

    executed: int
    blocked: int = 0
    nudges: int = 0
    cuts: int = 0
    end: Literal["done", "end", "answer", "raise"] = "done"
    detector: str | None = None


@dataclass(frozen=True)
class Scenario:
    """One row; its id reads as a sentence."""

    id: str
    turns: tuple[Turn, ...]
    expect: Outcome
    tools: Mapping[str, Tool] = field(default_factory=dict)
    guard: LoopGuard = field(default_factory=LoopGuard)


def call(tool: str, text: str = "", **arguments: Any) -> Step:
    """Return a step that makes one call."""
    return Step(text, ((tool, arguments),))


def batch(*calls: tuple[str, Mapping[str, Any]]) -> Step:
    """Return a step that makes several calls at once."""
    return Step("", calls)


def say(text: str, reasoning: str = "") -> Step:
    """Return a step without calls, which ends the turn."""
    return Step(text, (), reasoning)


def turn(*steps: Step, person: str = "Please do it.", forever: bool = False) -> tuple[Turn, ...]:
    """Return the turns of a scenario that has one."""
    return (Turn(steps, person, forever),)


def always(result: str) -> Tool:
    """Return a tool that answers the same whatever it is asked."""
    return lambda _arguments, _ran: result


def failing(text: str, *, times: int = 10**9, then: str = "") -> Tool:
    """Return a tool that fails so many times, then works."""

    def tool(_arguments: Mapping[str, Any], ran: int) -> str:
        if ran < times:
            raise ToolFailed(text)
        return then

    return tool


def in_turn(*results: str) -> Tool:
    """Return a tool that gives one result after the other, the last one for ever."""
    return lambda _arguments, ran: results[min(ran, len(results) - 1)]


def echo(prefix: str) -> Tool:
    """Return a tool whose answer depends on its arguments alone."""
    return lambda arguments, _ran: f"{prefix} {sorted(arguments.items())}"


def counting(prefix: str) -> Tool:
    """Return a tool whose answer is new each time."""
    return lambda _arguments, ran: f"{prefix} {ran}"


DONE = say("All done.")
LOOPING_TEXT = "I will check the file once more to be sure. " * 60
RULED_POLL = LoopGuard(policy=Policy(tools={"poll": ToolRule(exempt=True)}))


def guard(**policy: Any) -> LoopGuard:
    """Return a guard with the given policy."""
    return LoopGuard(policy=Policy(**policy))


ZERO_MATRIX = "Here is the matrix:\n" + ("0 0 0 0 0 0 0 0 0 0 0 0\n" * 40)
HEX_DUMP = "".join(
    f"{line * 16:08x}  00 00 00 00 00 00 00 00  ff ff ff ff ff ff ff ff  |................|\n"
    for line in range(40)
)
REFRAIN = (
    "Row, row, row your boat,\nGently down the stream.\nMerrily, merrily, merrily, merrily,\n"
    "Life is but a dream.\n\n"
) * 4
SIMILAR_JSON = "[\n" + ",\n".join(
    f'  {{"id": {n}, "name": "Item {n}", "price": {n * 3}, "in_stock": true, "tags": ["new"]}}'
    for n in range(60)
)
EQUAL_LOG_LINES = "The log says:\n" + "INFO worker heartbeat ok\n" * 25
CSV_NUMBERS = "a,b,c,d\n" + "".join(f"{n},0,0,{n % 3}\n" for n in range(80))

HEALTHY = (
    Scenario("a-plain-answer-is-left-alone", turn(DONE), Outcome(0)),
    Scenario(
        "one-call-and-an-answer-are-left-alone",
        turn(call("read", path="a.py"), DONE),
        Outcome(1),
        {"read": always("text")},
    ),
    Scenario(
        "polling-with-changing-results-goes-on",
        turn(*[call("poll", job=7)] * 15, DONE),
        Outcome(15),
        {"poll": counting("progress")},
    ),
    Scenario(
        "paging-goes-on",
        turn(*[call("page", number=n) for n in range(20)], DONE),
        Outcome(20),
        {"page": echo("page")},
    ),
    Scenario(
        "a-batch-over-different-items-runs-whole",
        turn(batch(*[("look", {"item": n}) for n in range(12)]), DONE),
        Outcome(12),
        {"look": echo("item")},
    ),
    Scenario(
        "different-items-that-all-answer-ok-go-on",
        turn(*[call("save", item=n) for n in range(15)], DONE),
        Outcome(15),
        {"save": always("ok")},
    ),
    Scenario(
        "a-batch-whose-answers-are-all-ok-runs-whole",
        turn(*[batch(*[("save", {"item": n + i}) for i in range(8)]) for n in (0, 8)], DONE),
        Outcome(16),
        {"save": always("ok")},
    ),
    Scenario(
        "a-retry-that-succeeds-after-two-equal-failures-goes-on",
        turn(*[call("fetch", url="u")] * 3, DONE),
        Outcome(3),
        {"fetch": failing("timed out", times=2, then="the page")},
    ),
    Scenario(
        "edit-and-test-with-falling-failure-counts-goes-on",
        turn(*[s for n in range(8) for s in (call("edit", line=n), call("test", all=True))], DONE),
        Outcome(16),
        {"edit": always("edited"), "test": lambda _a, ran: f"{8 - ran} failed"},
    ),
    Scenario(
        "the-same-read-after-each-different-edit-goes-on",
        turn(
            *[s for n in range(7) for s in (call("edit", line=n), call("read", path="a.py"))], DONE
        ),
        Outcome(14),
        {"edit": always("edited"), "read": counting("text with edit")},
    ),
    Scenario(
        "two-parallel-equal-calls-both-run",
        turn(batch(("now", {}), ("now", {})), DONE),
        Outcome(2),
        {"now": always("12:00")},
    ),
    Scenario(
        "a-pasted-log-in-the-persons-message-is-no-loop",
        turn(call("read", path="a.py"), DONE, person="Why?\n" + "ERROR disk full. Retry.\n" * 200),
        Outcome(1),
        {"read": always("text")},
    ),
    Scenario(
        "the-same-question-in-every-turn-is-answered-every-time",
        tuple(
            Turn((call("status"), say(f"Still running, check {n}.")), "And now?") for n in range(6)
        ),
        Outcome(6),
        {"status": always("running")},
    ),
    Scenario(
        "a-person-who-says-the-same-in-every-turn-gets-the-same-every-time",
        tuple(Turn((call("status"), say("Still running.")), "And now?") for _ in range(6)),
        Outcome(6),
        {"status": always("running")},
    ),
    Scenario(
        "two-equal-results-and-then-another-way-go-on",
        turn(*[call("search", q="x")] * 2, call("search", q="y"), DONE),
        Outcome(3),
        {"search": echo("found")},
    ),
    Scenario(
        "an-exempt-tool-may-be-polled-for-ever",
        turn(*[call("poll", job=7)] * 20, DONE),
        Outcome(20),
        {"poll": always("running")},
        RULED_POLL,
    ),
    Scenario(
        "an-exempt-tool-between-other-calls-changes-nothing",
        turn(*[s for n in range(6) for s in (call("poll", job=7), call("page", number=n))], DONE),
        Outcome(12),
        {"poll": always("running"), "page": echo("page")},
        RULED_POLL,
    ),
    Scenario(
        "jobs-that-are-all-confirmed-with-the-same-word-go-on",
        turn(*[call("pop"), call("confirm")] * 20, DONE),
        Outcome(40),
        {"pop": counting("job"), "confirm": always("ok")},
    ),
    Scenario(
        "the-same-failing-test-after-each-different-edit-goes-on",
        turn(*[s for n in range(12) for s in (call("edit", line=n), call("test"))], DONE),
        Outcome(24),
        {"edit": always("edited"), "test": always("1 failed")},
    ),
    Scenario(
        "searches-whose-answers-differ-go-on",
        turn(*[call("search", q=f"loop {n}") for n in range(10)], DONE),
        Outcome(10),
        {"search": echo("found")},
    ),
    Scenario(
        "an-observing-guard-never-interferes",
        turn(*[call("read", path="a.py")] * 14, DONE),
        Outcome(14, detector="thread.repeated_suffix"),
        {"read": always("text")},
        LoopGuard(policy=Policy.observe()),
    ),
    *(
        Scenario(f"{name}-is-not-cut", turn(say(text)), Outcome(0))
        for name, text in {
            "a-zero-matrix": ZERO_MATRIX,
            "a-hex-dump": HEX_DUMP,
            "a-refrain": REFRAIN,
            "json-with-similar-objects": SIMILAR_JSON,
            "a-list-of-equal-log-lines": EQUAL_LOG_LINES,
            "csv-of-numbers": CSV_NUMBERS,
        }.items()
    ),
)

STUCK_READ = call("read", path="a.py")
SAME_TEXT: Mapping[str, Tool] = {"read": always("text")}
# Three copies in a row are a finding: the model is told, and two more without a change end it.
STUCK = Outcome(5, nudges=1, end="end", detector="thread.repeated_suffix")
# With other text between them it takes four equal results.
REWORDED = Outcome(6, nudges=1, end="end", detector="thread.repeated_result_run")

STUCK_RUNS = (
    Scenario(
        "the-same-call-with-the-same-result-is-nudged-then-ended",
        turn(STUCK_READ, forever=True),
        STUCK,
        SAME_TEXT,
    ),
    Scenario(
        "rewording-the-text-around-the-same-call-does-not-hide-it",
        turn(*[call("read", f"Attempt number {n}.", path="a.py") for n in range(40)]),
        REWORDED,
        SAME_TEXT,
    ),
    Scenario(
        "the-order-of-arguments-does-not-hide-the-same-call",
        turn(*[call("read", a=1, b=2), call("read", b=2, a=1)] * 20),
        STUCK,
        SAME_TEXT,
    ),
    Scenario(
        "a-stuck-run-can-end-with-an-answer",
        turn(*[STUCK_READ] * 5, say("What I know.")),
        Outcome(5, nudges=1, end="answer", detector="thread.repeated_suffix"),
        SAME_TEXT,
        guard(on_halt="answer"),
    ),
    Scenario(
        "a-stuck-run-can-raise",
        turn(STUCK_READ, forever=True),
        Outcome(5, nudges=1, end="raise", detector="thread.repeated_suffix"),
        SAME_TEXT,
        guard(on_halt="raise"),
    ),
    Scenario(
        "a-model-that-heeds-the-nudge-goes-on",
        turn(*[STUCK_READ] * 4, call("list", path="."), DONE),
        Outcome(5, nudges=1, detector="thread.repeated_suffix"),
        {**SAME_TEXT, "list": always("a.py b.py")},
    ),
    Scenario(
        "a-model-that-gets-stuck-twice-is-told-twice",
        turn(*[STUCK_READ] * 4, *[call("list", path=".")] * 4, DONE),
        Outcome(8, nudges=2, detector="thread.repeated_suffix"),
        {**SAME_TEXT, "list": always("a.py b.py")},
    ),
    Scenario(
        "the-same-failing-call-is-ended",
        turn(call("fetch", url="u"), forever=True),
        STUCK,
        {"fetch": failing("timed out")},
    ),
    Scenario(
        "two-calls-that-alternate-are-ended",
        turn(*[call("read", path="a.py"), call("read", path="b.py")] * 20),
        Outcome(6, nudges=1, end="end", detector="tool_loop.ping_pong"),
        {"read": echo("text of")},
    ),
    Scenario(
        "three-calls-that-take-turns-are-ended",
        turn(*[call("read", path=p) for p in "abc"] * 20),
        Outcome(8, nudges=1, end="end", detector="thread.repeated_activity_tail"),
        {"read": echo("text of")},
    ),
    Scenario(
        "the-same-pair-of-calls-at-once-is-ended",
        turn(batch(("read", {"path": "a"}), ("read", {"path": "b"})), forever=True),
        Outcome(8, nudges=1, end="end", detector="tool_loop.ping_pong"),
        {"read": echo("text of")},
    ),
    Scenario(
        "the-fourth-equal-call-of-a-batch-is-blocked-and-its-siblings-run",
        turn(batch(*[("read", {"path": "a"})] * 4, ("read", {"path": "b"})), DONE),
        Outcome(4, blocked=1, detector="tool_loop.unanswered"),
        {"read": echo("text of")},
    ),
    Scenario(
        "a-storm-of-equal-calls-is-answered-not-ended",
        turn(batch(*[("roll", {})] * 10), DONE),
        Outcome(3, blocked=7, detector="tool_loop.unanswered"),
        {"roll": counting("rolled")},
    ),
    Scenario(
        "the-same-call-with-something-new-now-and-then-is-blocked-at-the-eighth-attempt",
        turn(
            *[s for n in range(4) for s in (STUCK_READ, STUCK_READ, call("note", item=n))],
            DONE,
        ),
        Outcome(11, blocked=1, nudges=2, detector="thread.repeated_activity_tail"),
        {"read": always("text"), "note": always("ok")},
    ),
)

TUNED = (
    Scenario(
        "arguments-that-a-rule-ignores-do-not-hide-the-same-call",
        turn(*[call("read", path="a.py", request=n) for n in range(40)]),
        STUCK,
        SAME_TEXT,
        guard(tools={"read": ToolRule(ignore_arguments=("request",))}),
    ),
    Scenario(
        "a-tool-can-have-thresholds-of-its-own",
        turn(*[s for n in range(4) for s in (call("pay", bill=1), call("note", item=n))], DONE),
        Outcome(6, blocked=2, detector="tool_loop.no_progress"),
        {"pay": always("paid"), "note": always("ok")},
        guard(tools={"pay": ToolRule(tool_loop=ToolLoopConfig(no_progress_critical=3))}),
    ),
    Scenario(
        "a-strict-guard-looks-at-the-call-alone",
        turn(*[call("poll", job=7)] * 10, DONE),
        Outcome(9, blocked=1, nudges=7, detector="converge.oscillation"),
        {"poll": counting("progress")},
        LoopGuard(policy=Policy.strict()),
    ),
    Scenario(
        "a-tool-that-does-not-exist-is-no-way-out",
        turn(call("imaginary", path="a.py"), forever=True),
        Outcome(0, nudges=1, end="end", detector="thread.repeated_suffix"),
        SAME_TEXT,
    ),
)

CUTS = (
    Scenario(
        "a-reply-that-goes-round-is-cut-and-the-next-try-stands",
        turn(say(LOOPING_TEXT), DONE),
        Outcome(0, cuts=1, detector="reply.exact"),
    ),
    Scenario(
        "thinking-that-goes-round-is-cut-and-the-next-try-stands",
        turn(say("So.", reasoning=LOOPING_TEXT), DONE),
        Outcome(0, cuts=1, detector="reply.exact"),
    ),
    Scenario(
        "the-third-cut-in-a-row-ends-the-run",
        turn(say(LOOPING_TEXT), forever=True),
        Outcome(0, cuts=3, end="end", detector="reply.cut"),
    ),
    Scenario(
        "a-reply-between-two-cuts-ends-the-row",
        turn(*[say(LOOPING_TEXT), STUCK_READ] * 4, DONE),
        Outcome(4, cuts=4, detector="reply.exact"),
        {"read": counting("text")},
    ),
    Scenario(
        "a-run-whose-reply-goes-round-for-ever-can-raise",
        turn(say(LOOPING_TEXT), forever=True),
        Outcome(0, cuts=3, end="raise", detector="reply.cut"),
        guard=guard(on_halt="raise"),
    ),
)

LOOPS = (*STUCK_RUNS, *TUNED, *CUTS)

SCENARIOS = (*HEALTHY, *LOOPS)
