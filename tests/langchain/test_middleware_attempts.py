"""Replies that are asked for more than once: retries and fallbacks, inside and outside the guard."""

from __future__ import annotations

from hashlib import sha256
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents.middleware import (
    AgentMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
)
from langgraph.errors import GraphBubbleUp

from .agents import DONE, ENDLESS, TOLD, finish, guarded, person, reason, said
from .harness import MODES
from .scripted import ScriptedModel, reply

if TYPE_CHECKING:
    from collections.abc import Iterator

PLACES = ["before", "after"]
LETS_THROUGH = tuple(map(int, version("langchain").split(".")[:2])) >= (1, 4)
"""Whether LangChain's retry and fallback middleware let a cut through."""


class Breaks(ScriptedModel):
    """A model whose connection breaks in the middle of every reply."""

    def _stream(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        for number, chunk in enumerate(super()._stream(*args, **kwargs)):
            if number == 100:
                raise ConnectionError("gone")
            yield chunk


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("mode", MODES)
def test_a_cut_is_no_failure_to_retry(mode: str, place: str) -> None:
    """Retry middleware neither repeats the reply that was cut nor puts words in its place."""
    retry = ModelRetryMiddleware(max_retries=1, initial_delay=0, jitter=False)
    model = ScriptedModel(script=[reply(ENDLESS), DONE])
    messages = finish(guarded(model, **{place: [retry]}), person(), mode=mode)["messages"]
    assert model.calls == 2
    assert said(messages)[-1] == "Done."
    assert (TOLD in str(model.inputs[1])) is (place == "before" or LETS_THROUGH)
    assert "CutReply" not in str(messages)


def test_a_retry_of_the_users_own_is_watched_anew() -> None:
    """Middleware that takes a cut for a failure all the same gets its second try."""

    class Retries(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            try:
                return handler(request)
            except GraphBubbleUp:
                return handler(request)

    model = ScriptedModel(script=[reply(ENDLESS), DONE])
    messages = finish(guarded(model, after=[Retries()]), person())["messages"]
    assert said(messages) == ["Done."]
    assert model.calls == 2


@pytest.mark.parametrize("mode", MODES)
def test_a_reply_that_goes_round_in_every_retry_is_not_taken_for_one(mode: str) -> None:
    """Before langchain 1.4, retry middleware inside the guard answers for the model at last."""
    retry = ModelRetryMiddleware(max_retries=1, initial_delay=0, jitter=False)
    model = ScriptedModel(script=[reply(ENDLESS)])
    messages = finish(guarded(model, after=[retry]), person(), mode=mode)["messages"]
    assert reason(messages) == "reply.cut"
    assert "CutReply" not in str(messages)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("mode", MODES)
def test_a_cut_is_no_failure_to_fall_back_from(mode: str, place: str) -> None:
    """The model that was cut is the one that tries again."""
    other = ScriptedModel(script=[reply("Somebody else.")])
    model = ScriptedModel(script=[reply(ENDLESS), DONE])
    fallback = ModelFallbackMiddleware(other)
    messages = finish(guarded(model, **{place: [fallback]}), person(), mode=mode)["messages"]
    assert said(messages)[-1] == "Done."
    assert model.calls == 2
    assert other.calls == (place == "after" and not LETS_THROUGH)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("mode", MODES)
def test_the_reply_of_a_fallback_model_is_watched(mode: str, place: str) -> None:
    """What a model said before it failed is no part of the reply that counts."""
    other = ScriptedModel(script=[reply(ENDLESS), DONE])
    numbers = " ".join(f"Number {n} is {n * n}." for n in range(99))
    model = Breaks(script=[reply(numbers)])
    fallback = ModelFallbackMiddleware(other)
    messages = finish(guarded(model, **{place: [fallback]}), person(), mode=mode)["messages"]
    assert said(messages)[-1] == "Done."
    assert "Number" not in said(messages)[0]
    assert len(said(messages)[0]) < 300


@pytest.mark.parametrize("mode", MODES)
def test_a_reply_that_is_streamed_again_after_a_failure_repeats_nothing(mode: str) -> None:
    """Each attempt is watched by itself."""
    text = " ".join(sha256(str(n).encode()).hexdigest()[: 4 + n % 9] for n in range(200))
    tries = iter([True] * 9 + [False])

    class Unsteady(ScriptedModel):
        def _stream(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
            fails = next(tries)
            for number, chunk in enumerate(super()._stream(*args, **kwargs)):
                if fails and number == 300:
                    raise ConnectionError("gone")
                yield chunk

    retry = ModelRetryMiddleware(max_retries=9, initial_delay=0, jitter=False)
    model = Unsteady(script=[reply(text)])
    messages = finish(guarded(model, after=[retry]), person(), mode=mode)["messages"]
    assert said(messages) == [text]
