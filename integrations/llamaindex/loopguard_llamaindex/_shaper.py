"""`ContextShaper`: how a history is brought into its budget before it is sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from llama_index.core.llms.llm import LLM
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr
from typing_extensions import override

from loopguard_core.agent import CharsByFour, ShaperPolicy
from loopguard_core.agent.thread_shaping import FoldRecord, SummaryBreaker, ThreadShaper

from ._convert import NeutralThread
from ._shaped import shaped_natives

if TYPE_CHECKING:
    from llama_index.core.llms import ChatMessage

__all__ = ["ContextShaper"]


class ContextShaper(BaseModel):
    """Shortens what is sent and keeps what is stored; frozen, so that anything may share it.

        shaper = ContextShaper(policy=ShaperPolicy.for_context(32_000), summarizer=llm)
        memory = LoopGuardMemory.from_defaults(shaper=shaper)

    Results are made harmless and cut to `max_result_bytes`, long messages before the newest ones
    become stubs where the history does not fit, and calls and results are brought together.

    | where it is given | what it shortens |
    | --- | --- |
    | `LoopGuardMemory` | what is read of the history; alone there a fold happens, and is stored |
    | `GuardedLLM` | all that is sent, with what an agent did in the run that goes on: LlamaIndex has that in memory only when the run ends. Never folds. A `ReActAgent` writes its run as plain messages, in which no result can be told from other text |
    | both | both; what is short already is not shortened again |

    Without either, `prepare_tools` makes results of a run harmless and cuts them.

    Args:
        policy: The limits; see `ShaperPolicy.for_context`.
        summarizer: Writes what stands for a folded part: a model, or a callable of the prompt,
            which may be async. `LoopGuardMemory.get` folds with models and plain callables,
            `aget` with all. None never folds.
        max_result_bytes: Bytes of one result that are sent; the rest is cut out of its middle. 0
            is no limit.
        transclude: True tells the model of a result of this turn that is cut that `{OUTPUT}`
            shows all of it; see `prepare_tools` and `Transcluding`.
        on_fold: Called with the record of each fold, after it was stored.
        estimate: Prices one text, in tokens.

    Raises:
        pydantic.ValidationError: An argument cannot be used; the error names it and its value.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=True
    )

    policy: ShaperPolicy
    summarizer: LLM | Callable[[str], str | Awaitable[str]] | None = None
    max_result_bytes: int = Field(default=0, ge=0)
    transclude: bool = False
    on_fold: Callable[[FoldRecord], object] | None = None
    estimate: Callable[[str], int] = CharsByFour.estimate
    _thread_shaper: ThreadShaper = PrivateAttr()
    _breaker: SummaryBreaker = PrivateAttr(default_factory=SummaryBreaker)

    @override
    def model_post_init(self, context: Any, /) -> None:
        """Make the shaper that decides."""
        self._thread_shaper = ThreadShaper(
            self.policy, max_result_bytes=self.max_result_bytes, estimate=self.estimate
        )

    @property
    def thread_shaper(self) -> ThreadShaper:
        """What decides."""
        return self._thread_shaper

    @property
    def breaker(self) -> SummaryBreaker:
        """What leaves a failing summariser alone."""
        return self._breaker

    def sent(self, messages: Sequence[ChatMessage], *, beside_tokens: int = 0) -> list[ChatMessage]:
        """Return what is sent of *messages*: the very objects, but for those that are shortened.

        Args:
            messages: The thread; neither it nor what it holds is changed.
            beside_tokens: What the request costs beside it.
        """
        thread = NeutralThread(messages, as_sent=True)
        neutral = list(thread)
        shape = self._thread_shaper.shape(
            neutral, beside_tokens=beside_tokens, expandable=self.transclude, may_fold=False
        )
        return shaped_natives(thread, neutral, shape)
