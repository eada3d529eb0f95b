"""What stands in a thread of the Agents SDK: the traps that have to do with kinds of items."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Any

import pytest
from agents import (
    Agent,
    AgentHooks,
    ApplyPatchTool,
    CustomTool,
    FunctionTool,
    LocalShellTool,
    Runner,
    ShellTool,
    WebSearchTool,
    function_tool,
    handoff,
)
from agents.editor import ApplyPatchResult
from agents.extensions.handoff_filters import remove_all_tools
from agents.models.fake_id import FAKE_RESPONSES_ID
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from openai.types.responses import (
    ResponseApplyPatchToolCall,
    ResponseComputerToolCall,
    ResponseCustomToolCall,
    ResponseFunctionCallArgumentsDeltaEvent,
    ResponseFunctionShellToolCall,
    ResponseReasoningSummaryTextDeltaEvent,
    ResponseReasoningTextDeltaEvent,
    ResponseRefusalDeltaEvent,
    ResponseTextDeltaEvent,
)
from openai.types.responses.response_output_item import LocalShellCall, McpCall

from loopguard_core import LoopGuard, Policy
from loopguard_openai_agents import (
    AgentLoopDetected,
    LoopGuardHooks,
    guard_agent,
    halted_by,
)
from loopguard_openai_agents._closing import closed
from loopguard_openai_agents._items import call_in

from .harness import (
    CONFIG,
    LOOPING_TEXT,
    MODES,
    NO_THREADS,
    WARNING,
    agent_of,
    blocking_guard,
    calling,
    run,
    saying,
    search_tool,
)
from .test_traps import streaming, web_search

if TYPE_CHECKING:
    from loopguard_core import VerdictEvent

RAN: list[object] = []


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    RAN.clear()


def execute(request: object) -> str:
    """Execute a command, or whatever it is: note it, and find nothing."""
    RAN.append(request)
    return "nothing"


class Editor:
    """Applies nothing."""

    def create_file(self, operation: object) -> ApplyPatchResult:
        """Note it."""
        return ApplyPatchResult(output=execute(operation))

    update_file = delete_file = create_file


async def invoke(_context: Any, given: str) -> str:
    """Be the body of a custom tool."""
    return execute(given)


def item_of(cls: Any, number: int, **fields: Any) -> Any:
    """Return a call of one of the kinds that are no function calls."""
    ids = {"id": f"i{number}", "call_id": f"c{number}", "status": "completed"}
    return cls.model_validate({**ids, **fields})


def shell(number: int) -> Any:
    """Return a call of a shell."""
    action = {"commands": ["ls"], "max_output_length": None, "timeout_ms": None}
    return item_of(
        ResponseFunctionShellToolCall, number, type="shell_call", action=action, environment=None
    )


def local_shell(number: int) -> Any:
    """Return a call of the older shell."""
    action = {"type": "exec", "command": ["ls"], "env": {}}
    return item_of(LocalShellCall, number, type="local_shell_call", action=action)


def patch(number: int) -> Any:
    """Return a call that edits a file."""
    operation = {"type": "create_file", "path": "a", "diff": "+x"}
    return item_of(ResponseApplyPatchToolCall, number, type="apply_patch_call", operation=operation)


def custom(number: int) -> Any:
    """Return a call of a tool that takes any text."""
    return item_of(ResponseCustomToolCall, number, type="custom_tool_call", name="free", input="x")


def steps(replies: list[list[Any]], mode: str) -> list[Any]:
    """Return a script of *replies*, also of kinds of items that no script streams by itself."""
    if mode != "run_streamed":
        return list(replies)
    return [ModelStep.stream(streaming(reply)) for reply in replies]


LOCAL = {
    "shell": (shell, ShellTool(executor=execute)),
    "local_shell": (local_shell, LocalShellTool(executor=execute)),
    "apply_patch": (patch, ApplyPatchTool(editor=Editor())),
    "custom": (custom, CustomTool(name="free", description="Free.", on_invoke_tool=invoke)),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", LOCAL)
def test_oa31_a_refused_call_of_a_tool_that_is_no_function_is_answered(
    kind: str, mode: str
) -> None:
    """OA31: no guardrail sees it and its results have forms of their own; the model reads why."""
    call, tool = LOCAL[kind]
    model = ScriptedModel([*steps([[call(n)] for n in range(3)], mode), *saying("Done.")])
    agent = Agent(name="a", model=model, tools=[tool])
    result = run(guard_agent(agent, guard=blocking_guard()), mode=mode)
    assert result.final_output == "Done."
    assert len(RAN) == 2
    asked, answer = model.calls[-1].input[-2:]
    assert answer["type"] == f"{asked['type']}_output"
    assert answer["call_id"] == asked["call_id"] == "c2"
    assert "This call was not executed" in str(answer)
    assert "[loopguard]" not in str(result.to_input_list())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", LOCAL)
def test_oa31_a_run_that_goes_round_without_functions_is_ended(kind: str, mode: str) -> None:
    """OA31: hooks of tools do not say with what such a tool was called; the reply does."""
    call, tool = LOCAL[kind]
    agent = agent_of(steps([[call(n)] for n in range(9)], mode), tool)
    verdict = halted_by(run(guard_agent(agent), mode=mode))
    assert verdict is not None
    assert verdict.reason == "thread.repeated_suffix"
    assert len(RAN) == 5


def test_oa31_a_call_that_only_a_picture_can_answer_is_spoken_of() -> None:
    """OA31: the call of a computer is taken out, with the reasoning before it; a message says why."""
    call = item_of(
        ResponseComputerToolCall,
        0,
        type="computer_call",
        action={"type": "wait"},
        pending_safety_checks=[],
    )
    reply = closed([assistant_message("Well."), call], {"c0": "No."}, only_answers=False)
    assert [item.get("role") for item in reply] == ["assistant", "user"]
    assert reply[-1]["content"] == "No."  # type: ignore[typeddict-item]  # it is a message


def round_trips(times: int, *tools: Any, **options: Any) -> tuple[Agent[Any], ScriptedModel]:
    """Return two agents that hand over to each other; the second one works when it has a tool."""
    here, there = ScriptedModel(), ScriptedModel()
    for n in range(times):
        here.enqueue([function_call("transfer_to_there", {}, call_id=f"h{n}")])
        if tools:
            there.enqueue([function_call("search", {"q": f"{n}"}, call_id=f"s{n}")])
        there.enqueue([function_call("transfer_to_here", {}, call_id=f"t{n}")])
    here.enqueue([assistant_message("Done.")])
    first, second = Agent(name="here", model=here), Agent(name="there", model=there)
    second.tools = list(tools)
    first.handoffs, second.handoffs = [handoff(second, **options)], [handoff(first, **options)]
    return first, here


REWRITING = [{"input_filter": remove_all_tools}, {"nest_handoff_history": True}]


@pytest.mark.parametrize("options", REWRITING)
@pytest.mark.parametrize("mode", MODES)
def test_oa32_a_hand_off_that_rewrites_the_history_was_answered(options: Any, mode: str) -> None:
    """OA32: its answer is not in the next input; healthy hand-offs are not taken for unanswered."""
    search, ran = search_tool()
    agent, _ = round_trips(6, search, **options)
    result = run(guard_agent(agent), mode=mode, max_turns=30)
    assert result.final_output == "Done."
    assert halted_by(result) is None
    assert len(ran) == 6


@pytest.mark.parametrize("options", [{}, *REWRITING])
@pytest.mark.parametrize("mode", MODES)
def test_oa32_a_rewritten_history_does_not_hide_a_circle(options: Any, mode: str) -> None:
    """OA32: what models asked for is counted in their replies, and not in what is left of them."""
    agent, _ = round_trips(20, **options)
    verdict = halted_by(run(guard_agent(agent), mode=mode, max_turns=60))
    assert verdict is not None
    assert verdict.reason == "tool_loop.ping_pong"


class Recorder(AgentHooks[Any]):
    """An agent's own hooks: every one of them says that it was called."""

    def __init__(self, heard: list[str]) -> None:
        for name in ("start", "end", "handoff", "tool_start", "tool_end", "llm_start", "llm_end"):
            setattr(self, f"on_{name}", self._hook(name, heard))

    def _hook(self, name: str, heard: list[str]) -> Any:
        async def hook(*_given: Any, **_named: Any) -> None:
            heard.append(name)

        return hook


@pytest.mark.parametrize("mode", MODES)
def test_oa33_an_agents_own_hooks_go_on_being_called(mode: str) -> None:
    """OA33: an agent has room for one hooks object, and the SDK calls hooks by parameter names."""
    heard: list[str] = []
    search, _ = search_tool()
    second = Agent(name="b", model=ScriptedModel([*calling(1), *saying("Done.")]), tools=[search])
    first = agent_of([[function_call("transfer_to_b", {}, call_id="h")]], handoffs=[second])
    first.hooks, second.hooks = Recorder(heard), Recorder(heard)
    run(guard_agent(first), mode=mode)
    asked = ["llm_start", "llm_end"]
    assert heard[:4] == ["start", *asked, "handoff"]
    assert heard[4:] == ["start", *asked, "tool_start", "tool_end", *asked, "end"]


@pytest.mark.parametrize("mode", MODES)
def test_oa34_what_is_ours_has_the_id_that_is_never_sent(mode: str) -> None:
    """OA34: a provider refuses ids that it did not give, and one that comes twice."""
    search, _ = search_tool()
    model = ScriptedModel([*saying("Well. " + LOOPING_TEXT), *calling(9)])
    result = run(guard_agent(Agent(name="a", model=model, tools=[search])), mode=mode)
    assert halted_by(result) is not None
    said = [item for item in result.to_input_list() if item.get("type") == "message"]
    assert [item["id"] for item in said] == [FAKE_RESPONSES_ID] * 2


DELTAS = {
    "text": (ResponseTextDeltaEvent, "response.output_text.delta"),
    "refusal": (ResponseRefusalDeltaEvent, "response.refusal.delta"),
    "reasoning": (ResponseReasoningTextDeltaEvent, "response.reasoning_text.delta"),
    "summary": (ResponseReasoningSummaryTextDeltaEvent, "response.reasoning_summary_text.delta"),
    "arguments": (
        ResponseFunctionCallArgumentsDeltaEvent,
        "response.function_call_arguments.delta",
    ),
}


@pytest.mark.parametrize("channel", DELTAS)
@pytest.mark.parametrize(("text", "is_cut"), [(LOOPING_TEXT, True), ("All is well. ", False)])
def test_oa35_every_channel_of_a_stream_is_watched(channel: str, text: str, is_cut: bool) -> None:
    """OA35: text, reasoning and arguments stream as events of their own; each can go round."""
    cls, name = DELTAS[channel]
    read: list[int] = []

    async def events(call: Any) -> Any:
        for start in range(0, len(text), 4):
            read.append(start)
            yield cls.model_construct(
                type=name, delta=text[start : start + 4], output_index=0, item_id="m"
            )
        async for event in streaming([assistant_message("As it came.")])(call):
            yield event

    agent = agent_of([ModelStep.stream(events), *saying("Done.")])
    result = run(guard_agent(agent), mode="run_streamed")
    assert result.final_output == ("Done." if is_cut else "As it came.")
    assert (len(read) * 4 < len(text)) == is_cut


@pytest.mark.parametrize("mode", MODES)
def test_oa36_replies_that_are_nothing_but_hosted_calls_are_ended(mode: str) -> None:
    """OA36: the runner asks on for as long as a reply has no message, and there is no tool to end."""
    script = steps([[web_search("x", n)] for n in range(20)], mode)
    result = run(guard_agent(agent_of(script, WebSearchTool())), mode=mode, max_turns=30)
    assert halted_by(result) is not None
    assert len(result.raw_responses) < 10


def remote_search(number: int) -> McpCall:
    """Return a call of a remote server, with its result."""
    return McpCall.model_validate(
        {
            "id": f"m{number}",
            "type": "mcp_call",
            "server_label": "s",
            "name": "remote",
            "arguments": '{"q": "x"}',
            "output": "nothing",
        }
    )


@pytest.mark.parametrize("mode", MODES)
def test_oa36_a_reply_is_read_as_the_continuation_of_its_turn(mode: str) -> None:
    """OA36: hosted calls that go round from reply to reply are found in the reply itself."""
    replies = [[remote_search(n)] for n in range(30)]
    heard: list[VerdictEvent] = []
    off = NO_THREADS | {"tool_loop.no_progress", "tool_loop.unanswered", "tool_loop.ping_pong"}
    guard = LoopGuard(policy=Policy(disabled_detectors=off), listeners=(heard.append,))
    agent = agent_of([*steps(replies, mode), *saying("Done.")])
    run(guard_agent(agent, guard=guard), mode=mode, max_turns=40)
    assert "reply.tool" in {event.verdict.reason for event in heard}


@pytest.mark.parametrize("mode", MODES)
def test_oa36_hooks_alone_see_hosted_calls_and_hand_offs(mode: str) -> None:
    """OA36: both pass no hook of a tool; they stand in the reply that `on_llm_end` is given."""
    script = steps([[web_search("x", n)] for n in range(20)], mode)
    for agent in (agent_of(script, WebSearchTool()), round_trips(20)[0]):
        with pytest.raises(AgentLoopDetected):
            run(agent, mode=mode, hooks=LoopGuardHooks(), max_turns=30)


@pytest.mark.parametrize("mode", MODES)
def test_oa37_results_are_taken_in_the_order_of_their_calls(mode: str) -> None:
    """OA37: parallel tools finish in any order, and verdicts must not depend on it."""
    heard: list[VerdictEvent] = []

    @function_tool
    async def wait(ticks: int) -> str:
        """Answer the later the larger the number."""
        await asyncio.sleep(ticks / 1_000)
        return "nothing"

    pairs = [
        [function_call("wait", {"ticks": t}, call_id=f"{n}-{t}") for t in (9, 0)] for n in range(3)
    ]
    guard = WARNING.model_copy(update={"listeners": (heard.append,)})
    run(guard_agent(agent_of([*pairs, *saying("Done.")], wait), guard=guard), mode=mode)
    results = [event.call_id for event in heard if event.kind == "result"]
    assert results == ["2-9", "2-0"]


@pytest.mark.parametrize("mode", MODES)
def test_a_reply_that_ends_by_itself_ends_a_row_of_cuts(mode: str) -> None:
    """The third cut in a row ends a run; three cuts with work in between do not."""
    search, ran = search_tool()
    work = [[function_call("search", {"q": f"{n}"}, call_id=f"c{n}")] for n in range(3)]
    script = [reply for step in work for reply in (*saying(LOOPING_TEXT), step)]
    result = run(guard_agent(agent_of([*script, *saying("Done.")], search)), mode=mode)
    assert result.final_output == "Done."
    assert ran == ["0", "1", "2"]


@pytest.mark.parametrize("mode", MODES)
def test_oa16_nothing_is_left_of_a_run_however_it_ended(mode: str) -> None:
    """OA16: a run that raised, one that was left in the middle, and one that is done."""
    hooks, (search, _) = LoopGuardHooks(), search_tool()

    def once() -> None:
        with pytest.raises(AgentLoopDetected):
            run(agent_of(calling(9), search), mode=mode, hooks=hooks)
        run(hooks.guard_agent(agent_of(calling(9), search)), mode=mode, hooks=hooks)

    async def left() -> None:
        result = Runner.run_streamed(
            hooks.guard_agent(agent_of(calling(3), search)), "Go.", hooks=hooks, run_config=CONFIG
        )
        async for _ in result.stream_events():
            break
        result.cancel()

    once()
    asyncio.run(left())
    gc.collect()
    assert len(hooks.runs) == 0


def test_oa38_a_tool_that_answers_data_is_never_added_to() -> None:
    """OA38: with a schema of its output a text behind it would be wrapped as an error."""
    search, _ = search_tool()
    if not hasattr(search, "output_json_schema"):
        pytest.skip("this version has no such tools")
    search.output_json_schema = {"type": "object", "properties": {}}
    (guarded,) = LoopGuardHooks(guard=WARNING).guard_tools([search])
    assert isinstance(guarded, FunctionTool)
    assert not guarded.tool_output_guardrails
    assert guarded.tool_input_guardrails


def test_every_reader_of_calls_knows_the_local_ones() -> None:
    """The kinds of calls that are tested here are all that are read, functions and computers beside."""
    for call, _ in LOCAL.values():
        made = call_in(call(1))
        assert made is not None
        assert made.call_id == "c1"
