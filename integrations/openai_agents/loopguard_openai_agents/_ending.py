"""`ToolsEnd`: a `tool_use_behavior` that ends a stopped run after its tools."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from agents import ToolsToFinalOutputResult

from loopguard_core import Action, InvalidInputError

from ._halt import HaltText
from ._items import call_in, is_hosted
from ._tools import is_guarded

if TYPE_CHECKING:
    from agents import (
        Agent,
        FunctionToolResult,
        ModelResponse,
        RunContextWrapper,
        StopAtTools,
    )
    from agents.agent import ToolsToFinalOutputFunction

    from loopguard_core import Policy, Verdict

    from ._live import LiveRun
    from ._table import RunTable

__all__ = ["ToolUseBehavior", "ToolsEnd"]

ToolUseBehavior: TypeAlias = "str | StopAtTools | ToolsToFinalOutputFunction"
"""What an agent takes as its `tool_use_behavior`."""


_BEHAVIORS: Final = ("run_llm_again", "stop_on_first_tool")


class ToolsEnd:
    """Ends a run that the guard stops, and else does what the agent did.

    Args:
        runs: The runs under way.
        existing: The agent's own behaviour.

    Raises:
        InvalidInputError: *existing* is none.
    """

    def __init__(self, runs: RunTable, existing: ToolUseBehavior) -> None:
        is_known = callable(existing) or isinstance(existing, Mapping) or existing in _BEHAVIORS
        if not is_known:
            raise InvalidInputError("existing", existing, "a tool_use_behavior of the SDK")
        self._runs = runs
        self._existing = existing

    @staticmethod
    def without(behavior: ToolUseBehavior) -> ToolUseBehavior:
        """Return an agent's own behaviour, which may be inside one of these already."""
        return behavior._existing if isinstance(behavior, ToolsEnd) else behavior  # noqa: SLF001 - its own class

    async def __call__(
        self, context: RunContextWrapper[Any], results: list[FunctionToolResult]
    ) -> ToolsToFinalOutputResult:
        """Judge what the tools of a turn returned, before the model would be shown it."""
        live = self._runs.of(context)
        wants_text = all(
            _wants_text(result.run_item.agent) for result in results if result.run_item
        )
        if live.begun and wants_text and self._runs.guard.policy.on_halt == "end":
            verdict = live.halt[0] if live.halt else self._next_step(live, results)
            if verdict.action is Action.HALT:
                return ToolsToFinalOutputResult(True, HaltText.of(verdict))
        return await self._as_before(context, results)

    @staticmethod
    def can_end(agent: Agent[Any], response: ModelResponse, policy: Policy) -> bool:
        """Return True if *agent* can end gracefully after the calls of *response*.

        All of them must be calls of guarded tools, which answer without running, and its output
        must be text, because there is nobody to ask for a value of another type.
        """
        if not isinstance(agent.tool_use_behavior, ToolsEnd) or policy.on_halt != "end":
            return False
        if not _wants_text(agent):
            return False
        guarded = {tool.name for tool in agent.tools if is_guarded(tool)}
        calls = [call_in(item) for item in response.output if not is_hosted(item)]
        names = [call.name for call in calls if call is not None]
        return bool(names) and guarded.issuperset(names)

    def _next_step(self, live: LiveRun, results: list[FunctionToolResult]) -> Verdict:
        """Judge the thread as the model would be shown it next."""
        answers = [result.run_item.to_input_item() for result in results if result.run_item]
        return live.look_ahead(answers)

    async def _as_before(
        self, context: RunContextWrapper[Any], results: list[FunctionToolResult]
    ) -> ToolsToFinalOutputResult:
        existing = self._existing
        if isinstance(existing, Mapping):
            names = existing.get("stop_at_tool_names", [])
            final = [r for r in results if {r.tool.name, r.tool.qualified_name} & set(names)]
        elif isinstance(existing, str):
            final = results if existing == "stop_on_first_tool" else []
        else:
            result = existing(context, results)
            return await result if inspect.isawaitable(result) else result
        if not final:
            return ToolsToFinalOutputResult(is_final_output=False, final_output=None)
        return ToolsToFinalOutputResult(is_final_output=True, final_output=final[0].output)


def _wants_text(agent: Agent[Any]) -> bool:
    return agent.output_type is None or agent.output_type is str
