"""Where an OpenAI client streams: `client_seams`, and what stands in those places."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, wraps
from types import MethodType
from typing import TYPE_CHECKING, TypeAlias

from loopguard_core.errors import InvalidInputError

from .chat import ChatReading
from .proxy import stand_in
from .responses import ResponseReading
from .stream import watched, watched_manager

if TYPE_CHECKING:
    from loopguard_core.guard.config import LoopGuard

    from .proxy import Proxy, Seam
    from .reading import Reading

__all__ = ["client_seams"]

_Method: TypeAlias = Callable[..., object]
_NewReading: TypeAlias = "Callable[[Mapping[str, object]], Reading]"
"""Makes the reading of one stream, given the keyword arguments of its request."""


def client_seams(guard: LoopGuard) -> Mapping[str, Seam]:
    """Return the members of a client below which it streams; all are public."""
    chat, response = partial(ChatReading, guard), partial(ResponseReading, guard)
    completions = {
        "create": partial(_streaming, new_reading=chat),
        "stream": partial(_helping, new_reading=chat),
    }
    responses = {
        "create": partial(_streaming, new_reading=response),
        "retrieve": partial(_streaming, new_reading=response),
        "stream": partial(_helping, new_reading=response),
    }
    both = {
        "chat": partial(stand_in, seams={"completions": partial(stand_in, seams=completions)}),
        "responses": partial(stand_in, seams=responses),
    }
    client: dict[str, Seam] = {**both, "beta": partial(stand_in, seams=both)}
    client["copy"] = client["with_options"] = partial(_copying, seams=client)
    return client


def _copying(method: _Method, seams: Mapping[str, Seam]) -> _Method:
    @wraps(method)
    def copy(*args: object, **changes: object) -> Proxy[object]:
        return stand_in(method(*args, **changes), seams)

    return copy


def _streaming(method: _Method, new_reading: _NewReading) -> _Method:
    @wraps(method)
    def create(*args: object, **request: object) -> object:
        answer = method(*args, **request)
        return watched(answer, new_reading(request)) if request.get("stream") else answer

    return create


def _helping(method: _Method, new_reading: _NewReading) -> _Method:
    """Let a helper make its stream from a `create`, or `retrieve`, that is watched.

    A helper is a method that asks its own resource for the stream. So it runs on a stand-in for
    the resource, and what it accumulates can hold no more than the watched stream lets through.
    """
    if not isinstance(method, MethodType):
        raise InvalidInputError("client", method, "a client whose helper `stream` is a method")

    @wraps(method)
    def stream(*args: object, **request: object) -> Proxy[object]:
        reading = new_reading(request)
        below = partial(_streaming, new_reading=lambda _: reading)
        resource = stand_in(method.__self__, {"create": below, "retrieve": below})
        return watched_manager(method.__func__(resource, *args, **request), reading)

    return stream
