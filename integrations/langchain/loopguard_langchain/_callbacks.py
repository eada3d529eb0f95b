"""A guard for whatever takes callbacks: agents, graphs built by hand, `AgentExecutor`.

Uses callback events alone. The state of a run is kept here, under the outermost run that the
handler sees, and goes when that run ends or fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, GenerationChunk, LLMResult
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolInvocationError
from typing_extensions import override

from loopguard_core import Action, LoopDetected, LoopGuard, Verdict
from loopguard_core.errors import checked

from ._content import reply_pieces
from ._convert import NeutralThread
from ._live import LiveRun, OpenCall
from ._results import outcome_of, with_note
from ._tracking import RunTracker

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

__all__ = ["CallBlocked", "LoopGuardCallbackHandler"]


class CallBlocked(LoopDetected, ToolInvocationError):  # noqa: N818 - named like its base
    """A call that is not executed; a `ToolNode` answers it with the guidance.

    This is the one kind of error that `ToolNode` by default turns into an error message for the
    model. Whatever else runs tools is stopped by it, as by any `LoopDetected`.
    """

    def __init__(self, verdict: Verdict, call: OpenCall) -> None:
        # Not super(): the bases' constructors do not know of each other.
        Exception.__init__(self, str(LoopDetected(verdict)))
        self.verdict = verdict
        self.message = verdict.guidance
        self.tool_name = call.name
        self.tool_kwargs = call.arguments if isinstance(call.arguments, dict) else {}


class LoopGuardCallbackHandler(RunTracker):
    """Watches the runs it is passed to, blocks single calls, and stops runs that loop.

    Pass it in a run's config: `agent.invoke(..., config={"callbacks": [handler]})`. Agents inside
    tools are watched as a part of the run. One handler serves any number of runs at once, which
    do not see each other. Each invocation is a new run: one that is resumed after an interrupt
    starts its counts over.

    * A blocked call is not executed and the model reads why, wherever a `ToolNode` with its
      default error handling runs the tools: `create_agent`, `create_react_agent`. In an
      `AgentExecutor`, or where a tool is called directly, nobody can answer it: the run stops.
    * A halt raises `LoopDetected` out of the run, whatever the policy's `on_halt` says: callbacks
      cannot end a run gracefully. So does a looping reply that is streamed, as a callback cannot
      have it written again. `on_block="ask"` acts like `"tell"`.
    * Nudges reach nobody unless *nudge_results* is set.

    Args:
        guard: What is watched for and what is done about it; None is `LoopGuard()`.
        nudge_results: Write nudges behind the next result of a tool. It leans on LangGraph
            handing on the very message that callbacks are shown, which is promised nowhere.
    """

    raise_error = True
    run_inline = True  # in a thread pool it could neither stop an async run nor keep its order

    def __init__(self, *, guard: LoopGuard | None = None, nudge_results: bool = False) -> None:
        super().__init__(checked("guard", guard, LoopGuard))
        self._nudge_results = nudge_results

    @override
    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Judge the thread that the model is about to read.

        Raises:
            LoopDetected: The run is to end, or was to end and went on.
        """
        live = self._runs.enter(run_id, parent_run_id)
        thread = messages[0] if messages else []
        with live.lock:
            verdict = live.halted or live.settle(thread)
            if verdict.action is not Action.HALT:
                verdict = live.run.check_thread(NeutralThread(thread))
            live.untold = verdict.guidance or live.untold
            live.replies[run_id] = live.run.watch_reply()
        self._stop_on_halt(live, verdict, run_id)

    @override
    def on_llm_new_token(
        self,
        token: str | list[str | dict[str, Any]],
        *,
        chunk: GenerationChunk | ChatGenerationChunk | None = None,
        run_id: UUID,
        **kwargs: Any,
    ) -> None:
        """Watch a reply while it streams.

        Raises:
            LoopDetected: The reply goes round.
        """
        live = self._runs.get(run_id)
        reply = live.replies.get(run_id) if live is not None else None
        if live is None or reply is None or not isinstance(chunk, ChatGenerationChunk):
            return
        for channel, piece in reply_pieces(chunk.message):
            self._stop_on_halt(live, reply.feed(piece, channel), run_id)

    @override
    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Take note of the calls that the model asks for."""
        live = self._runs.leave(run_id)
        if live is None:
            return
        with live.lock:
            live.replies.pop(run_id, None)
            live.ask(_calls_in(response))

    @override
    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Forget the model call."""
        self._forget(run_id)

    @override
    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        inputs: dict[str, Any] | None = None,
        tool_call_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Judge a call before it runs.

        Raises:
            CallBlocked: The call is not to be executed.
            LoopDetected: The run is to end.
        """
        live = self._runs.enter(run_id, parent_run_id)
        arguments = input_str if inputs is None else inputs
        with live.lock:
            call = live.started(_name_of(serialized), arguments, tool_call_id)
            verdict = live.judge(call)
            live.running[run_id] = call
        self._stop_on_halt(live, verdict, run_id)
        if verdict.action is Action.BLOCK:
            self._forget(run_id)
            raise CallBlocked(verdict, call)

    @override
    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Take the result of a call.

        Raises:
            LoopDetected: The run is to end.
        """
        live = self._runs.get(run_id)
        call = live.running.get(run_id) if live is not None else None
        if live is None or call is None:
            return  # it began before this handler was there
        note = self._observe(live, call, run_id, *outcome_of(output, call.call_id))
        if self._nudge_results and isinstance(output, ToolMessage) and note:
            output.content = with_note(output.content, note)

    @override
    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Take the failure of a call; an interrupt and a cancellation are none.

        Raises:
            LoopDetected: The run is to end.
        """
        live = self._runs.get(run_id)
        call = live.running.get(run_id) if live is not None else None
        failed = isinstance(error, Exception) and not isinstance(error, GraphBubbleUp)
        if live is None or call is None or not failed:
            self._forget(run_id)
        else:
            self._observe(live, call, run_id, error, True)

    def _observe(
        self, live: LiveRun, call: OpenCall, run_id: UUID, result: object, is_error: bool
    ) -> str:
        """Give a result to the guard; return what the model is to be told."""
        with live.lock:
            verdict = live.observe(call, result, is_error)
            note, live.untold = verdict.guidance or live.untold, ""
        self._stop_on_halt(live, verdict, run_id)
        self._forget(run_id)
        return note

    def _stop_on_halt(self, live: LiveRun, verdict: Verdict, run_id: UUID) -> None:
        """Raise on a halt, and again at the next model call if somebody swallows it."""
        if verdict.action is Action.HALT:
            live.halted = verdict
            self._forget(run_id)
            raise LoopDetected(verdict)

    def _forget(self, run_id: UUID) -> None:
        """Drop a run: LangChain does not report the end of one that is refused as it starts."""
        live = self._runs.leave(run_id)
        if live is not None:
            live.running.pop(run_id, None)
            live.replies.pop(run_id, None)


def _calls_in(response: LLMResult) -> list[OpenCall]:
    """Return the calls of a reply, those with broken arguments last, as LangChain holds them."""
    for generation in (one for prompt in response.generations for one in prompt):
        message = generation.message if isinstance(generation, ChatGeneration) else None
        if isinstance(message, AIMessage):
            calls = (*message.tool_calls, *message.invalid_tool_calls)
            return [OpenCall(c.get("name") or "", c.get("args"), c.get("id")) for c in calls]
    return []


def _name_of(serialized: Mapping[str, Any] | None) -> str:
    return str((serialized or {}).get("name", ""))
