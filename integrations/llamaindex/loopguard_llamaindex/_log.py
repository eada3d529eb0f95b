"""The thread of a run as its guard saw it, which LlamaIndex itself does not have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, overload

from typing_extensions import override

from loopguard_core import Message
from loopguard_core.fingerprint import digest_text
from loopguard_core.guard.guidance import without_guidance
from loopguard_core.message import activity_of

__all__ = ["RunLog", "kept"]

_SAVED: Final = {"type", "text", "meta", "call_id", "is_error"}
_REMEMBERED: Final = 128
"""How many messages of a log stay readable: as many as a reply is compared with."""

_DIGEST_CHARS: Final = len(digest_text(""))


class RunLog(Sequence[Message]):
    """The thread of a run as the guard saw it: it only grows, and forgets what is old.

    LlamaIndex has no such thread: what happens in a run is in one of two scratchpads, in memory
    only at the end, and a retried ReAct reply nowhere.

    Args:
        messages: The newest messages, oldest first.
        forgotten: How many messages were before them.
    """

    def __init__(self, messages: Iterable[Message] = (), forgotten: int = 0) -> None:
        self.newest = list(messages)
        self.forgotten = forgotten

    def extend(self, messages: Iterable[Message]) -> None:
        """Add messages at the end; of each is kept what is saved of it."""
        self.newest += map(_bare, messages)

    def add(self, *messages: Message) -> None:
        """Add messages at the end that hold nothing else, and no result that is not `kept`."""
        self.newest += messages

    def forget(self) -> None:
        """Forget what is old; to be done when the guard has read all of it."""
        old = max(0, len(self.newest) - _REMEMBERED)
        del self.newest[:old]
        self.forgotten += old

    @override
    def __len__(self) -> int:
        return self.forgotten + len(self.newest)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    @override
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step == 1 and start >= self.forgotten:
                return self.newest[start - self.forgotten : stop - self.forgotten]
            return [self[position] for position in range(start, stop, step)]
        position = index if index < 0 else index - self.forgotten
        if -len(self.newest) <= position < len(self.newest) and (index < 0 or position >= 0):
            return self.newest[position]
        range(len(self))[index]  # an IndexError where there never was a message
        return Message(type="other", text="")


def kept(result: object) -> object:
    """Return what a log keeps of a result: the digest of a long text."""
    if not isinstance(result, str) or len(result) <= _DIGEST_CHARS:
        return result
    return digest_text(result) if without_guidance(result) else result  # a refusal stays one


def _bare(message: Message) -> Message:
    """Return what is kept of a message: neither its native object nor a long result."""
    bare = message
    if not message.keys() <= _SAVED:
        bare = Message((key, message[key]) for key in message if key in _SAVED)
    activity = activity_of(message)
    if activity is None or (result := kept(activity.result)) is activity.result:
        return bare
    function = {"name": activity.name, "arguments": activity.arguments, "result": result}
    return Message(bare, meta={"activity": {"type": activity.type, "function": function}})
