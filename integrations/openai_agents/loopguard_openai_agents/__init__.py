"""loopguard for the OpenAI Agents SDK.

* `guarded_run`, `guarded_run_sync` and `guarded_run_streamed` are the SDK's runner, guarded.
* `guard_agent` guards an agent, with its tools, models and hand-offs, wherever it runs.
* `LoopGuardHooks` is the guard as hooks of a run, and makes guarded tools, models and agents.
* `GuardedModel` guards the replies of any model.
* `TrimmedSession` brings a history into a token budget.
* `ContextShaper` sends long threads with stubs and summaries, `ShapedSession` keeps the summaries;
  `prepare_tools` checks arguments and writes results in fewer tokens, `expanded_output` shows them.
* `halted_by` says why a run was stopped; `AgentLoopDetected` is raised where it has to raise.
"""

from __future__ import annotations

from loopguard_core.errors import missing_extra as _missing_extra

try:
    # First, and a name that only the SDK has: any module may be called `agents`.
    from agents.tool_guardrails import ToolInputGuardrail as _ToolInputGuardrail  # noqa: F401

    from ._halt import AgentLoopDetected, halted_by
    from ._hooks import LoopGuardHooks
    from ._hygiene import expanded_output, prepare_tools
    from ._model import GuardedModel
    from ._run import guard_agent, guarded_run, guarded_run_streamed, guarded_run_sync
    from ._session import TrimmedSession
    from ._shaped_session import ShapedSession
    from ._shaper import ContextShaper
except ImportError as error:
    raise _missing_extra(error, package="agents", extra="openai-agents") from error

__all__ = [
    "AgentLoopDetected",
    "ContextShaper",
    "GuardedModel",
    "LoopGuardHooks",
    "ShapedSession",
    "TrimmedSession",
    "expanded_output",
    "guard_agent",
    "guarded_run",
    "guarded_run_streamed",
    "guarded_run_sync",
    "halted_by",
    "prepare_tools",
]
