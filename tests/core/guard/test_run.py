"""`GuardedRun`, rule by rule: what each call may answer, and what makes a verdict stronger."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from loopguard_core import (
    Action,
    Finding,
    GuardedRun,
    InvalidInputError,
    LoopGuard,
    Message,
    Policy,
    ToolRule,
    Verdict,
)
from loopguard_core.converge import ConvergeConfig
from loopguard_core.guard.guidance import append_guidance
from loopguard_core.tool_loop import ToolLoopConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ARGUMENTS = {"path": "a.py"}


def guard(**policy: object) -> LoopGuard:
    """Return a guard with the given policy."""
    return LoopGuard(policy=Policy.model_validate(policy))


class Host:
    """The shortest host: it keeps the thread, and does each step whole."""

    def __init__(self, guard: LoopGuard | None = None) -> None:
        self.run: GuardedRun = (guard or LoopGuard()).start_run()
        self.thread: list[Message] = [Message.user("Go.")]
        self.count = 0

    def check_thread(self) -> Verdict:
        """Judge the thread as it is."""
        return self.run.check_thread(self.thread)

    def call(
        self, name: str = "read", arguments: object = ARGUMENTS, result: object = "text"
    ) -> tuple[Verdict, Verdict | None]:
        """Check a call and, if it may run, observe its result."""
        self.count += 1
        call_id = f"c{self.count}"
        self.thread.append(Message.tool_request(name, arguments, call_id))
        checked = self.run.check_call(name, arguments, call_id)
        if checked.action >= Action.BLOCK:
            return checked, None
        self.thread.append(Message.tool_response(name, arguments, result, call_id))
        return checked, self.run.observe_result(name, arguments, result, call_id=call_id)


def spaced(host: Host, times: int) -> list[Verdict]:
    """Make the same call so many times, and something new now and then."""
    verdicts = []
    for number in range(times):
        verdicts.append(host.call()[0])
        if number % 3 == 2:
            host.call("note", {"item": number}, "ok")
    return verdicts


def test_the_eighth_equal_attempt_is_blocked() -> None:
    """The tool-loop thresholds are the reference's: seven equal results allow no eighth call."""
    verdicts = spaced(Host(), 8)
    assert [verdict.action for verdict in verdicts] == [Action.ALLOW] * 7 + [Action.BLOCK]
    assert verdicts[-1].reason == "tool_loop.no_progress"
    assert "not executed" in verdicts[-1].guidance


@pytest.mark.parametrize("compacted", [False, True])
def test_equal_answers_are_no_loop_while_the_work_goes_on(compacted: bool) -> None:
    """Each job is new, and confirmed with the same word; so it may be for ever."""
    host = Host()
    if compacted:
        host.run.context_compacted()
    for number in range(40):
        host.call("pop", {}, f"job {number}")
        checked, observed = host.call("confirm", {}, "ok")
        assert checked.action is Action.ALLOW
        assert observed is not None
        assert observed.action is Action.ALLOW
        assert host.check_thread().action is Action.ALLOW


def test_three_blocks_in_a_row_halt() -> None:
    """A model that insists on a refused call is stopped at the third refusal."""
    host = Host()
    spaced(host, 7)
    actions = [host.call()[0].action for _ in range(3)]
    assert actions == [Action.BLOCK, Action.BLOCK, Action.HALT]


def test_a_new_result_ends_the_row_of_blocks() -> None:
    """Something new between two refusals means that the model moved on."""
    host = Host()
    spaced(host, 7)
    assert host.call()[0].action is Action.BLOCK
    host.call("look", {}, "something new")
    actions = [host.call()[0].action for _ in range(3)]
    assert actions == [Action.BLOCK, Action.BLOCK, Action.HALT]


def test_an_old_result_does_not_end_the_row_of_blocks() -> None:
    """A call that gives what it gave before is nothing new."""
    host = Host()
    host.call("look", {}, "old")
    spaced(host, 7)
    actions = []
    for _ in range(3):
        actions.append(host.call()[0].action)
        host.call("look", {}, "old")
    assert actions == [Action.BLOCK, Action.BLOCK, Action.HALT]


def test_a_new_turn_forgets_calls_and_rows_but_not_totals() -> None:
    """A person's message starts everything over, except what is counted for the whole run."""
    host = Host()
    spaced(host, 7)
    assert host.call()[0].action is Action.BLOCK
    host.run.begin_turn()
    assert host.call()[0].action is Action.ALLOW
    assert host.run.totals.blocks == 1
    assert host.run.totals.calls == 11


def test_a_person_who_allows_a_call_starts_its_count_over() -> None:
    """An allowed call runs, and is blocked again only after as many results as before."""
    host = Host()
    spaced(host, 7)
    assert host.call()[0].action is Action.BLOCK
    host.run.allow_call("read", ARGUMENTS)
    assert [v.action for v in spaced(host, 8)] == [Action.ALLOW] * 7 + [Action.BLOCK]


def test_a_person_who_allows_a_call_starts_its_count_over_in_strict_too() -> None:
    """Every detector that counts the call forgets it, those that ignore results included."""
    host = Host(LoopGuard(policy=Policy.strict()))
    for number in range(3):
        host.call(result=number)
    host.run.allow_call("read", ARGUMENTS)
    for number in range(2):
        _, observed = host.call(result=number)
        assert observed is not None
        assert not observed.findings


def test_two_equal_calls_may_wait_and_the_fourth_is_blocked() -> None:
    """A call without a result is an attempt for the equal calls after it."""
    run = LoopGuard().start_run()
    actions = [run.check_call("now", {}, f"c{n}").action for n in range(5)]
    assert actions == [Action.ALLOW] * 3 + [Action.BLOCK] * 2


def test_calls_that_wait_count_towards_no_progress() -> None:
    """Six equal results and a batch of two: the second one is the eighth attempt."""
    host = Host()
    spaced(host, 6)
    assert host.run.check_call("read", ARGUMENTS, "x").action is Action.ALLOW
    assert host.run.check_call("read", ARGUMENTS, "y").reason == "tool_loop.no_progress"


def test_a_storm_of_equal_calls_is_one_mistake() -> None:
    """All refusals of one batch count once: the model could not heed the first before the last."""
    run = LoopGuard().start_run()
    actions = {run.check_call("now", {}, f"c{n}").action for n in range(20)}
    assert actions == {Action.ALLOW, Action.BLOCK}


def test_a_storm_in_each_of_three_steps_halts() -> None:
    """Three steps in a row with refusals, and nothing new between them, are a row of blocks."""
    run = LoopGuard().start_run()
    found = []
    for step in range(3):
        ids = [f"{step}-{n}" for n in range(4)]
        found.append([run.check_call("now", {}, key).action for key in ids])
        for key in ids[:3]:
            run.observe_result("now", {}, "12:00", call_id=key)
    assert found[0][-1] is Action.BLOCK
    assert Action.HALT in found[-1]


def test_the_same_id_in_the_same_step_gives_the_same_verdict_and_does_not_count() -> None:
    """A hook that is entered twice for one call must not make two attempts of it."""
    run = LoopGuard().start_run()
    for _ in range(10):
        assert run.check_call("now", {}, "same").action is Action.ALLOW
    assert run.totals.calls == 1


def test_the_same_id_in_a_later_step_counts() -> None:
    """A model that sends the id of an unanswered call again makes another attempt."""
    host = Host()
    actions = []
    for number in range(5):
        host.thread.append(Message.bot(f"Try {number}."))
        host.check_thread()
        actions.append(host.run.check_call("now", {}, "same").action)
    assert actions == [Action.ALLOW] * 3 + [Action.BLOCK] * 2


def test_a_blocked_call_checked_again_stays_blocked_once() -> None:
    """The second check of a refusal is the first one's verdict, not a second refusal."""
    host = Host()
    spaced(host, 7)
    verdicts = [host.run.check_call("read", ARGUMENTS, "again") for _ in range(5)]
    assert {verdict.action for verdict in verdicts} == {Action.BLOCK}
    assert host.run.totals.blocks == 1


def test_the_result_of_a_blocked_call_is_no_result() -> None:
    """A host that reports the refusal as a result does not hide the loop by it."""
    host = Host()
    spaced(host, 7)
    refusal = host.run.check_call("read", ARGUMENTS, "x")
    host.run.observe_result("read", ARGUMENTS, refusal.guidance, call_id="x", is_error=True)
    assert host.run.check_call("read", ARGUMENTS, "y").action is Action.BLOCK


def test_three_copies_nudge_once_and_two_more_without_a_change_halt() -> None:
    """The model is told once for an episode; two nudges unheeded end the run."""
    host = Host()
    told = []
    for _ in range(6):
        told.append(host.check_thread())
        host.call()
    actions = [verdict.action for verdict in told]
    assert actions == [Action.ALLOW] * 3 + [Action.NUDGE] * 2 + [Action.HALT]
    assert [bool(verdict.guidance) for verdict in told[3:5]] == [True, False]


def test_something_new_ends_the_episode() -> None:
    """After a new result the next warning is told again, and counts from the start."""
    host = Host()
    guidance = []
    for path in ("a", "b", "c"):
        for _ in range(4):
            host.call("read", {"path": path}, f"text of {path}")
            guidance.append(bool(host.check_thread().guidance))
    assert guidance.count(True) == 3


def test_what_was_found_before_is_not_found_again() -> None:
    """Old evidence that is still among the newest messages is no new sighting."""
    host = Host()
    for _ in range(3):
        host.call()
    assert host.check_thread().action is Action.NUDGE
    for number in range(4):
        host.thread.append(Message.bot(f"Let me think about it, part {number}."))
        assert host.check_thread().action is Action.ALLOW


def test_the_same_thread_again_gives_the_same_verdict_and_does_not_count() -> None:
    """A retried model call must not be taken for a model that does not listen."""
    host = Host()
    for _ in range(3):
        host.call()
    verdicts = [host.check_thread() for _ in range(5)]
    assert verdicts == [verdicts[0]] * 5
    assert verdicts[0].guidance


def test_equal_results_in_different_turns_are_no_run() -> None:
    """A person may ask for the same thing in every turn."""
    host = Host()
    for number in range(8):
        host.run.begin_turn()
        host.thread.append(Message.user(f"And now, {number}?"))
        assert host.check_thread().action is Action.ALLOW
        host.call()
        assert host.check_thread().action is Action.ALLOW
        host.thread.append(Message.bot(f"Still the same, {number}."))


def test_history_before_a_turn_is_taken_note_of_without_being_judged() -> None:
    """A run that starts in the middle of a conversation does not find what is over."""
    stuck = [
        message
        for n in range(6)
        for message in (
            Message.tool_request("read", ARGUMENTS, f"c{n}"),
            Message.tool_response("read", ARGUMENTS, "text", f"c{n}"),
        )
    ]
    history = [Message.user("Go."), *stuck, Message.bot("I give up.")]
    run = LoopGuard().start_run()
    run.begin_turn(history)
    assert run.check_thread([*history, Message.user("Thanks.")]).action is Action.ALLOW


def test_a_warning_comes_with_the_result_of_its_call() -> None:
    """A call is never held back by a warning; the model reads it behind the result."""
    run = LoopGuard().start_run()
    seen = []
    for number in range(6):
        name = "ab"[number % 2]
        seen.append(run.check_call(name, {}, str(number)).action)
        seen.append(run.observe_result(name, {}, name, call_id=str(number)).action)
    assert seen == [Action.ALLOW] * 11 + [Action.NUDGE]


def test_a_warning_is_dropped_when_the_result_is_new() -> None:
    """An alternation whose answer changed at last is none."""
    run = LoopGuard().start_run()
    for number in range(5):
        name = "ab"[number % 2]
        run.check_call(name, {}, str(number))
        run.observe_result(name, {}, name, call_id=str(number))
    run.check_call("b", {}, "5")
    assert run.observe_result("b", {}, "something new", call_id="5").action is Action.ALLOW


def test_the_whole_result_is_compared() -> None:
    """A log that grows behind its first 4 kB is progress."""
    host = Host()
    for number in range(12):
        checked, _ = host.call(result="x" * 10_000 + str(number))
        assert checked.action is Action.ALLOW
        assert host.check_thread().action is Action.ALLOW


def test_a_note_behind_a_result_does_not_make_it_a_new_one() -> None:
    """What loopguard appended to a stored result is not part of it."""
    run = LoopGuard().start_run()
    note = LoopGuard().start_run().reply_cut().guidance
    for number in range(7):
        result = append_guidance("text", note) if number % 2 else "text"
        assert run.check_call("read", {}, str(number)).action is Action.ALLOW
        run.observe_result("read", {}, result, call_id=str(number))
    assert run.check_call("read", {}, "last").action is Action.BLOCK


def test_compaction_makes_the_same_calls_end_the_run_sooner() -> None:
    """A model that lost its history and starts over is stopped at the fourth equal attempt."""
    host = Host()
    host.run.context_compacted()
    verdicts = spaced(host, 4)
    assert [v.action for v in verdicts] == [Action.ALLOW] * 3 + [Action.HALT]
    assert verdicts[-1].reason == "tool_loop.post_compaction"


RULES: Sequence[tuple[str, Mapping[str, ToolRule], Callable[[int], Mapping[str, object]], int]] = [
    ("an exempt tool", {"read": ToolRule(exempt=True)}, lambda _n: ARGUMENTS, 10),
    (
        "a key that is ignored",
        {"read": ToolRule(ignore_arguments=("request",))},
        lambda n: {"path": "a", "request": n},
        7,
    ),
    (
        "thresholds of its own",
        {"read": ToolRule(tool_loop=ToolLoopConfig(no_progress_critical=3))},
        lambda _n: ARGUMENTS,
        2,
    ),
    ("a rule for another tool", {"write": ToolRule(exempt=True)}, lambda _n: ARGUMENTS, 7),
]


@pytest.mark.parametrize(
    ("rules", "arguments", "runs"), [r[1:] for r in RULES], ids=[r[0] for r in RULES]
)
def test_rules_for_single_tools(
    rules: Mapping[str, ToolRule], arguments: Callable[[int], Mapping[str, object]], runs: int
) -> None:
    """A rule changes how often the same call may run."""
    host = Host(guard(tools=rules))
    ran = 0
    for number in range(10):
        ran += host.call("read", arguments(number))[0].action is Action.ALLOW
    assert ran == runs


def test_an_exempt_tool_is_left_out_of_the_thread_too() -> None:
    """Neither copies nor equal results of an exempt tool are found in the thread."""
    host = Host(guard(tools={"poll": ToolRule(exempt=True)}))
    for _ in range(20):
        host.call("poll", {}, "running")
        assert host.check_thread().action is Action.ALLOW


def test_an_observing_policy_allows_everything_and_says_what_it_saw() -> None:
    """`Policy.observe()` never interferes; its verdicts still have findings."""
    host = Host(LoopGuard(policy=Policy.observe()))
    verdicts = []
    for _ in range(25):
        verdicts += [host.check_thread(), *filter(None, host.call())]
    assert {verdict.action for verdict in verdicts} == {Action.ALLOW}
    assert {"thread.repeated_suffix", "tool_loop.no_progress"} <= {v.reason for v in verdicts}
    assert not any(verdict.guidance for verdict in verdicts)


def test_a_strict_policy_looks_at_the_call_alone() -> None:
    """`Policy.strict()` warns at the third equal call and blocks the tenth, whatever came back."""
    host = Host(LoopGuard(policy=Policy.strict()))
    checked, observed = zip(*[host.call(result=f"progress {n}") for n in range(10)], strict=True)
    assert [v.action for v in checked] == [Action.ALLOW] * 9 + [Action.BLOCK]
    assert [v.action for v in observed if v] == [Action.ALLOW] * 2 + [Action.NUDGE] * 7


def test_a_disabled_detector_finds_nothing_and_hides_nothing() -> None:
    """The detectors behind a disabled one are still tried."""
    off = {"thread.repeated_suffix", "thread.repeated_activity_tail"}
    host = Host(guard(disabled_detectors=off))
    reasons = []
    for _ in range(5):
        host.call()
        reasons.append(host.check_thread().reason)
    assert reasons == ["", "", "", "thread.repeated_result_run", "thread.repeated_result_run"]


def test_the_third_cut_in_a_row_halts() -> None:
    """Two retries are the reference's; a reply that ends by itself starts the row over."""
    run = LoopGuard().start_run()
    assert [run.reply_cut().action for _ in range(2)] == [Action.NUDGE] * 2
    run.reply_done()
    assert [run.reply_cut().action for _ in range(3)] == [Action.NUDGE] * 2 + [Action.HALT]
    assert run.totals.cuts == 5


def test_a_halt_is_about_its_finding() -> None:
    """A stopped run has a reason that a machine can read."""
    host = Host()
    spaced(host, 7)
    verdict = [host.call()[0] for _ in range(3)][-1]
    finding = verdict.findings[0]
    assert isinstance(finding, Finding)
    assert (finding.detector, finding.severity) == ("tool_loop.no_progress", "critical")
    assert finding.evidence == ("read",)


@pytest.mark.parametrize("bad", [None, "text", {"type": "user"}, 3])
def test_a_thread_that_is_no_sequence_is_refused(bad: object) -> None:
    """The error names the field and the value."""
    with pytest.raises(InvalidInputError, match="messages"):
        LoopGuard().start_run().check_thread(bad)  # type: ignore[arg-type]  # what is tested


def test_a_message_that_is_no_mapping_is_refused_by_its_index() -> None:
    """The error says which element cannot be read."""
    with pytest.raises(InvalidInputError, match=r"messages\[1\].*'x'"):
        LoopGuard().start_run().check_thread([Message.user("a"), "x"])  # type: ignore[list-item]


class Hostile:
    """A value that raises whatever is done with it."""

    def __repr__(self) -> str:
        """Raise."""
        raise RuntimeError

    def __eq__(self, other: object) -> bool:
        """Raise."""
        raise RuntimeError

    __hash__ = None  # type: ignore[assignment]  # on purpose


@pytest.mark.parametrize(
    "value", [None, float("nan"), b"x", {1, 2}, object(), Hostile(), "\ud800", [[[]]], 10**400]
)
def test_nothing_that_a_model_or_tool_says_raises(value: object) -> None:
    """Arguments and results are data, of whatever type they are."""
    host = Host()
    for name in ("read", "", "\ud800", "x" * 10_000):
        host.call(name, {"value": value}, value)
        host.call(name, value, value)
        host.check_thread()
    host.run.snapshot()


def test_a_state_that_stands_still_halts() -> None:
    """Five iterations that begin in one state are the reference's zero progress."""
    run = LoopGuard().start_run()
    actions = [run.observe_iteration("same").action for _ in range(5)]
    assert actions == [Action.ALLOW] * 4 + [Action.HALT]
    assert run.observe_iteration("other").action is Action.ALLOW


def test_a_depth_beyond_the_limit_halts() -> None:
    """There is no limit by default."""
    assert LoopGuard().start_run().observe_depth(99).action is Action.ALLOW
    limited = LoopGuard(converge=ConvergeConfig(max_depth=3)).start_run()
    assert limited.observe_depth(3).action is Action.ALLOW
    assert limited.observe_depth(4).reason == "converge.depth"


def test_equal_calls_in_a_window_are_found_only_by_the_strict_policy() -> None:
    """The detector ignores results, so a poll with changing answers is a loop to it."""
    for policy, found in ((Policy(), False), (Policy.strict(), True)):
        host = Host(LoopGuard(policy=policy))
        verdicts = [host.call(result=f"progress {n}")[1] for n in range(4)]
        assert ("converge.oscillation" in {v.reason for v in verdicts if v}) is found


def test_in_strict_one_model_call_is_one_iteration() -> None:
    """Old calls leave the window of the oscillation as the model is asked again."""
    host = Host(LoopGuard(policy=Policy.strict()))
    reasons = []
    for number in range(30):
        host.thread.append(Message.bot(f"Step {number}."))
        host.check_thread()
        if number % 6 == 0:
            verdict = host.call(result=f"new {number}")[1]
            reasons.append(verdict.reason if verdict else "")
    assert "converge.oscillation" not in reasons
