"""loopguard for LangChain and LangGraph.

* `LoopGuardMiddleware` is the whole guard, for `create_agent`.
* `LoopGuardCallbackHandler` watches, blocks and stops whatever takes callbacks.
* `guard_tools` guards the tools of a graph that is built by hand.
* `ContextShaper` sends long threads with stubs and summaries; `ToolHygieneMiddleware` checks the
  arguments of calls and writes results in fewer tokens.
* `ThreadTrimmer` brings threads into a token budget, in a chain or in an agent.
"""

from __future__ import annotations

from loopguard_core.errors import missing_extra as _missing_extra

try:
    # First, so that it is the extra's own package whose absence is reported.
    import langchain.agents.middleware  # noqa: F401 - only to see whether it is there

    from ._callbacks import LoopGuardCallbackHandler
    from ._hygiene import ToolHygieneMiddleware
    from ._middleware import LoopGuardMiddleware
    from ._shaper import ContextShaper
    from ._tools import guard_tools
    from ._trimmer import ThreadTrimmer
except ImportError as error:
    raise _missing_extra(error, package="langchain", extra="langchain") from error

__all__ = [
    "ContextShaper",
    "LoopGuardCallbackHandler",
    "LoopGuardMiddleware",
    "ThreadTrimmer",
    "ToolHygieneMiddleware",
    "guard_tools",
]
