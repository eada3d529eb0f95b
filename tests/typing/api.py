"""A page of user code that the type checker has to accept; never executed. See `make types`."""

# ruff: noqa: T201 - user code prints

from collections.abc import Iterator, Mapping
from typing import assert_type

from loopguard_core import (
    Action,
    Finding,
    GuardedReply,
    GuardedRun,
    LoopDetected,
    LoopGuard,
    Policy,
    ToolRule,
    Verdict,
    VerdictEvent,
)
from loopguard_core.converge import ConvergeConfig, ConvergeVerdict, Monitor, Response
from loopguard_core.errors import InvalidInputError, LoopguardError
from loopguard_core.fingerprint import digest
from loopguard_core.guard import LoggingListener
from loopguard_core.message import Message
from loopguard_core.reply import (
    ExactConfig,
    ExactFinding,
    ExactRepetition,
    LoopFinding,
    ReplyLoopConfig,
    ReplyLoopDetector,
    ReplyWatch,
)
from loopguard_core.thread import (
    BuildResult,
    CycleOptions,
    StreamGuard,
    StreamGuardOptions,
    TextRunOptions,
    ThreadWatch,
    build_thread,
    describe_thread_cycle,
    exchanges,
    has_repeated_suffix,
    has_repeated_text_run,
    is_thread_cyclic,
)
from loopguard_core.tool_loop import (
    Decision,
    ToolLoopConfig,
    ToolLoopDetector,
    call_fingerprint,
    result_fingerprint,
)
from loopguard_core.transcripts import SavedReply, SavedRun, Unreadable, read_path

# A guard is made once, from plain values, and shared.


def on_event(event: VerdictEvent) -> None:
    """Any callable is a listener."""
    print(event.run_id, event.kind, event.name, event.call_id, event.verdict.reason)


heard: list[VerdictEvent] = []
guard = LoopGuard()
guard = LoopGuard(
    policy=Policy(
        on_block="ask",
        on_halt="answer",
        tools={
            "poll": ToolRule(exempt=True),
            "search": ToolRule(ignore_arguments=("request_id",), tool_loop=ToolLoopConfig()),
        },
    ),
    thread=CycleOptions(min_repetitions=3),
    tool_loop=ToolLoopConfig(window=40),
    listeners=(on_event, LoggingListener(), heard.append),
)
presets: list[Policy] = [Policy(), Policy.observe(), Policy.strict()]

# A loop of one's own, step by step.


def drive(history: list[Message], saved: Mapping[str, object] | None) -> str:
    """Ask before a model call, before and after a tool, and while a reply streams."""
    run = guard.start_run("run-1") if saved is None else guard.resume(saved)
    assert_type(run, GuardedRun)
    run.begin_turn()
    verdict = assert_type(run.check_thread(history), Verdict)
    if verdict.action is Action.HALT:
        raise LoopDetected(verdict)
    if verdict.action >= Action.NUDGE:
        history.append(Message.user(verdict.guidance))

    reply = assert_type(run.watch_reply(history), GuardedReply)
    for piece in pieces():
        if reply.feed(piece).action is Action.HALT or reply.feed(piece, "reasoning").findings:
            return run.reply_cut().guidance
    if reply.feed_call("search", {"q": "x"}).action is Action.HALT and reply.finding:
        return reply.finding.message
    run.reply_done()

    if run.check_call("search", {"q": "x"}, "call-1").action is Action.BLOCK:
        run.allow_call("search", {"q": "x"})
    run.observe_result("search", {"q": "x"}, "found", call_id="call-1", is_error=False)
    run.context_compacted()
    assert_type(run.snapshot(), dict[str, object])
    return ""


def pieces() -> Iterator[str]:
    """Stand for a model that streams."""
    yield "Hello"


def describe(finding: Finding) -> tuple[str, str, int, str, tuple[str, ...]]:
    """A finding is plain data."""
    return finding.detector, finding.severity, finding.count, finding.message, finding.evidence


# Each package alone.


def trim(messages: list[dict[str, object]]) -> BuildResult:
    """Plain dicts are messages too; the price is whatever the caller says."""
    build_thread(messages, max_tokens=1000, estimate=lambda m: len(str(m)) / 4, min_messages=2)
    return build_thread(messages, max_tokens=1000, inclusive="all")


def look_for_cycles(messages: list[Message]) -> bool:
    """The heuristics take a thread, or the text of a message, and options."""
    watch = ThreadWatch(window_messages=100)
    watch.follow(messages)
    for exchange in exchanges(messages):
        print(exchange.messages, exchange.start, exchange.stop, exchange.open_calls)
    return (
        has_repeated_suffix(messages, CycleOptions(max_pattern_length=4))
        or has_repeated_text_run(messages[-1].text, TextRunOptions(min_units=10))
        or is_thread_cyclic(messages)
        or describe_thread_cycle(messages) is not None
    )


def watch_stream() -> str:
    """The stream guard says yes or no, and keeps why."""
    stream = StreamGuard(StreamGuardOptions(min_chars=500))
    if any(stream.push(piece) for piece in pieces()) and stream.reason is not None:
        return stream.reason.phrase
    return ""


def watch_replies(detector: ReplyLoopDetector, history: list[Message]) -> LoopFinding | None:
    """A detector is shared, a watch belongs to one reply; the repetition guard works alone."""
    watch = assert_type(detector.begin(history), ReplyWatch)
    for piece in pieces():
        if (finding := watch.watch("content", piece)) is not None:
            return finding
    repetition = ExactRepetition(ExactConfig(min_reps=5))
    assert_type(repetition.feed(b"bytes") or repetition.feed("text"), ExactFinding | None)
    print(watch.loops(), detector.counters(), ReplyLoopDetector(ReplyLoopConfig()))
    return watch.watch_tool_call("search", {"q": 1}) or watch.finding


def watch_tools() -> Decision:
    """The tool-loop detector knows names, arguments and results of any kind."""
    tools = ToolLoopDetector(ToolLoopConfig(enabled=True))
    decision = assert_type(tools.check("search", {"q": 1}), Decision)
    tools.observe_result("search", {"q": 1}, b"bytes", is_error=True)
    tools.reset_fingerprint(call_fingerprint("search", {"q": 1}))
    tools.arm_post_compaction()
    tools.reset()
    print(result_fingerprint("search", ValueError("x"), is_error=True), tools.config.window)
    return decision


def watch_convergence(state: object, saved: Mapping[str, object]) -> Response | None:
    """The monitor is fed iterations, calls and depths; it names a response."""
    config = ConvergeConfig(oscillation_k=4, response="warn", zero_progress_response=Response.WARN)
    monitor = Monitor.restore(saved, config) if saved else Monitor()
    verdict = assert_type(monitor.observe_iteration(digest(state)), ConvergeVerdict)
    if monitor.observe_tool_call("search", digest({"q": 1})).fired:
        return verdict.response
    return monitor.observe_depth(2).response


def read(path: str) -> None:
    """A file of saved runs holds runs, replies, and what cannot be read."""
    for item in read_path(path):
        match item:
            case SavedRun():
                print(item.id, item.format, item.messages)
            case SavedReply():
                print(item.id, item.text)
            case Unreadable():
                print(item.describe())


def catch() -> None:
    """What is raised on purpose has one base; bad input is a ValueError too."""
    try:
        drive([], None)
    except LoopDetected as stopped:
        print(stopped.verdict.findings)
    except InvalidInputError as error:
        value_error: ValueError = error
        print(value_error, error.field, error.expected)
    except LoopguardError as error:
        print(error)
