"""`watch_client`: every stream of an OpenAI client is watched."""

from __future__ import annotations

from typing import TypeVar, cast

from loopguard_core.errors import InvalidInputError, checked
from loopguard_core.guard.config import LoopGuard

from .proxy import Proxy, stand_in
from .seams import client_seams

__all__ = ["watch_client"]

ClientT = TypeVar("ClientT")


def watch_client(client: ClientT, *, guard: LoopGuard | None = None) -> ClientT:
    """Watch every chat completion and every response that a client streams.

    The client is wrapped, not changed. What is returned is used as the client is, passes for it in
    `isinstance`, and gives the client's own objects but for the streams, each a `WatchedStream`:
    `create(stream=True)` and the `stream` helper of chat completions and of responses, also those
    below `beta`, and `retrieve(stream=True)` of responses. So are the streams of what its `copy`,
    `with_options` and `with` return. Watched are content, reasoning, refusals, the arguments of
    calls, and calls made over and over. Everything else passes through as it is; what
    `with_raw_response` and `with_streaming_response` give is the HTTP response, and not watched.

    Each stream is a run of its own, judged by itself: the messages of the request are not read, so
    any number of conversations can share the client. Where a reply goes round, its stream ends
    after the chunk that completes the loop; the HTTP response is closed, `finding` of the stream
    says why, and the guard's listeners hear of it. A policy that only observes ends no stream.

    * No finish reason and no usage follow a cut. A stream that is read to its end is read as
      ever, the usage at its end included.
    * Of several choices each is a reply; the stream ends when all that are unfinished go round.
    * A `stream` helper stops where its stream does: `get_final_completion` returns what there is
      by then, without a finish reason (and raises the client's own error where that cannot be
      parsed as the format asked for); `get_final_response` raises the client's RuntimeError,
      because a response that was cut never completes.
    * A response with `background=True` goes on at the provider; cancel it by its id.

    Args:
        client: An `openai.OpenAI` or `openai.AsyncOpenAI`, or a subclass such as the Azure ones.
        guard: What is watched for; None is `LoopGuard()`.

    Returns:
        The watched client; the client itself stays unwatched.

    Raises:
        InvalidInputError: *client* is no client, or is watched already.
    """
    if isinstance(client, type) or not hasattr(client, "chat") or isinstance(client, Proxy):
        raise InvalidInputError(
            "client", client, "an OpenAI or AsyncOpenAI client, not yet watched"
        )
    return cast("ClientT", stand_in(client, client_seams(checked("guard", guard, LoopGuard))))
