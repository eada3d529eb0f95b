"""loopguard for LlamaIndex.

* `GuardedFunctionAgent`, `GuardedReActAgent` and `LoopGuardMixin` are the whole guard.
* `LoopGuardMemory` reads a history that fits, and notices one that goes round.
* `guard_tools` guards the tools of agents and workflows that are not guarded themselves.
* `ContextShaper` shortens what is sent, for a memory and for a model.
* `prepare_tools` checks arguments and shortens results; `Transcluding` agents show them whole.
* `GuardedLLM` cuts the replies of any model that go round.
"""

from __future__ import annotations

from loopguard_core.errors import missing_extra as _missing_extra

try:
    # First, so that it is the extra's own package whose absence is reported.
    import llama_index.core.agent.workflow  # noqa: F401 - only to see whether it is there

    from ._agent import GuardedFunctionAgent, GuardedReActAgent, LoopGuardMixin
    from ._llm import GuardedLLM
    from ._memory import LoopGuardMemory
    from ._prepared_tools import prepare_tools
    from ._shaper import ContextShaper
    from ._tools import guard_tools
    from ._transclusion import Transcluding, expanded
except ImportError as error:
    raise _missing_extra(error, package="llama_index", extra="llamaindex") from error

__all__ = [
    "ContextShaper",
    "GuardedFunctionAgent",
    "GuardedLLM",
    "GuardedReActAgent",
    "LoopGuardMemory",
    "LoopGuardMixin",
    "Transcluding",
    "expanded",
    "guard_tools",
    "prepare_tools",
]
