"""Replies of the model, each of them watched.

Written as generators that yield what the model is to be asked and are sent what it said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain.agents.structured_output import StructuredOutputError
from langchain_core.messages import AIMessage

from loopguard_core import Action, Verdict
from loopguard_core.guard.guidance import answer_instruction

from ._batch import newest_batch
from ._content import read_content
from ._convert import NeutralThread
from ._mending import readable
from ._streaming import CutReply, ReplyWatcher

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from langchain_core.messages import BaseMessage

    from loopguard_core import GuardedReply, GuardedRun

    from ._sent import Sent

__all__ = ["Replies", "Reply"]

Reply: TypeAlias = ModelResponse[Any]


class Replies:
    """Asks the model, and takes note of what it said.

    Args:
        run: The run, which hears of every cut.
        sent: What the model is sent; a reply, or what is kept of one, is added to it.
        history: The thread before the step.
    """

    def __init__(self, run: GuardedRun, sent: Sent, history: Sequence[BaseMessage]) -> None:
        self._run = run
        self._sent = sent
        self._history = history
        self._thread: tuple[int, NeutralThread] | None = None

    def thread(self) -> NeutralThread:
        """Return the thread, with what the step added to it; read anew only where it grew."""
        added = len(self._sent.stored)
        if self._thread is None or self._thread[0] != added:
            self._thread = added, NeutralThread([*self._history, *self._sent.stored])
        return self._thread[1]

    def next(self) -> Generator[ModelRequest[Any], Reply, Reply | Verdict]:
        """Ask until a reply is not cut; return it, or the verdict on one cut too many."""
        while True:
            watcher = ReplyWatcher(self._watch, streams=self._run.cuts_replies)
            reply = yield from self._watched(watcher, self._sent.request)
            if reply is not None:
                self._run.reply_done()
                self._sent.add(*reply.result)
                return reply
            verdict = self._run.reply_cut()
            self._sent.add(*watcher.kept())
            if verdict.action is Action.HALT:
                return verdict
            self._sent.tell(verdict.guidance)

    def last(self, verdict: Verdict) -> Generator[ModelRequest[Any], Reply, Reply | None]:
        """Ask once, without tools, for an answer from what is known; None if there is none.

        Of a reply that was cut, or that calls a tool it was not offered, the words are kept.
        """
        self._sent.tell(answer_instruction(verdict))
        watcher = ReplyWatcher(self._watch, streams=self._run.cuts_replies)
        request = self._sent.request.override(tools=[], tool_choice=None)
        try:
            reply = yield from self._watched(watcher, request)
        except StructuredOutputError:
            return None
        if reply is None:
            words: Sequence[BaseMessage] = watcher.kept()
        elif newest_batch(reply.result).dangling_calls:
            words = _words(reply.result)
        elif reply.structured_response is not None or _words(reply.result):
            return reply
        else:
            return None
        return ModelResponse(list(words)) if words else None

    def _watched(
        self, watcher: ReplyWatcher, request: ModelRequest[Any]
    ) -> Generator[ModelRequest[Any], Reply, Reply | None]:
        """Ask once; return the reply, None if it was cut."""
        try:
            reply = readable((yield watcher.watched(request)))
        except CutReply:
            return None
        return None if watcher.was_cut(reply.result) else reply

    def _watch(self) -> GuardedReply:
        return self._run.watch_reply(self.thread())


def _words(messages: Sequence[BaseMessage]) -> list[AIMessage]:
    """Return what the model wrote in *messages*, without its calls; nothing if that is blank."""
    replies = (message for message in messages if isinstance(message, AIMessage))
    text = "".join(read_content(reply.content).text for reply in replies)
    return [AIMessage(text)] if text.strip() else []
