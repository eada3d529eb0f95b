"""`ReplyWatch`: one reply, read while it streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from loopguard_core.fingerprint import canonical

from .blocks import Blocks
from .excerpt import cut_bytes
from .finding import LoopFinding
from .history import checked_history, turn_of
from .reading import Reader
from .tally import Tally
from .tool import ToolDetector

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .config import ReplyLoopConfig
    from .finding import Kind
    from .reading import Reading
    from .stems import Stems
    from .totals import Totals

__all__ = ["ReplyWatch"]

_MAX_CHANNELS: Final = 16
# A call's arguments are streamed under a label of their own. They are data or code, so they
# are watched for blocks and not read as sentences.
_ARGUMENTS: Final = ("tool:", "tool ")


class _Channel(NamedTuple):
    blocks: Blocks
    reader: Reader | None


class ReplyWatch:
    """Watches one reply; made by `ReplyLoopDetector.begin`, used by one thread at a time.

    Every channel is watched by itself; calls and channels share one highest count and one cut,
    which is asked for once; counting goes on after it. What sentences and calls lead to depends
    on the text alone; what blocks lead to depends on where pieces end, so put `FixedPoints` in
    front where that matters.

    Memory does not grow with the reply: each of the latest 16 channels keeps the bytes that
    `ExactConfig.kept_bytes` says and one sentence, and if it is text, `max_sentences` different
    sentences (some 400 bytes each) and `max_phrases` with their stems (some 3 kilobytes each);
    the reply keeps 1,024 different calls (some 400 bytes each).
    """

    __slots__ = ("_channels", "_config", "_stems", "_tally", "_tool", "_totals", "_unread")

    def __init__(
        self,
        config: ReplyLoopConfig,
        totals: Totals,
        stems: Stems,
        history: Sequence[Mapping[str, object]],
    ) -> None:
        self._config = config
        self._totals = totals
        self._stems = stems
        self._tool = ToolDetector(config.tool_window, config.min_share)
        self._tally = Tally(config, totals)
        self._channels: dict[str, _Channel] = {}
        self._unread = [] if config.off else checked_history(history)
        if not config.off:
            totals.begun()

    @property
    def finding(self) -> LoopFinding | None:
        """The finding with the highest count so far, cut or not; None if there is none."""
        self._read_history()
        return self._tally.highest

    def loops(self) -> tuple[int, Kind | Literal[""]]:
        """Return the highest count so far and its kind; 0 and an empty string for none."""
        highest = self.finding
        return (0, "") if highest is None else (highest.reps, highest.kind)

    def watch(self, channel: str, delta: str) -> LoopFinding | None:
        """Take the next text of a channel.

        Args:
            channel: `content`, `thinking`, or any other name. The arguments of a call that
                stream go under `tool:NAME arguments`; they are watched for blocks only.
            delta: The text, possibly empty.

        Returns:
            What asks for a cut, once in a reply; None before and after.
        """
        if self._config.off or not delta:
            return None
        state = self._channel(channel)
        data = delta.encode("utf-8", "surrogatepass")
        self._totals.watched(len(data))
        cuts = [self._tally.take(found) for found in state.blocks.feed(delta, data)]
        if state.reader is not None and (sentences := state.reader.cut(delta)):
            self._read_history()
            cuts += [self._take(each, in_reply=True) for each in state.reader.read(sentences)]
        return next(filter(None, cuts), None)

    def watch_tool_call(self, name: str, arguments: object) -> LoopFinding | None:
        """Take a complete call that the reply contains.

        Args:
            name: The tool.
            arguments: Its arguments, as JSON text or any value.

        Returns:
            As `watch` does.
        """
        if self._config.off:
            return None
        self._read_history()
        count = self._tool.started(name, arguments)
        return self._take_call(name, arguments, count, in_reply=True)

    def _channel(self, name: str) -> _Channel:
        return self._channels.get(name) or self._open(name)

    def _open(self, name: str) -> _Channel:
        if len(self._channels) >= _MAX_CHANNELS:
            del self._channels[next(iter(self._channels))]
        is_json = name.startswith(_ARGUMENTS)
        blocks = Blocks(name, self._config, escaped=is_json)
        reader = None if is_json else Reader(name, self._config, self._stems)
        return self._channels.setdefault(name, _Channel(blocks, reader))

    def _read_history(self) -> None:
        """Count what the turn has said and done, once; nothing of it asks for a cut.

        It costs more than a short reply does, and counts only where the reply says or does
        something that can be the same: it waits for the first whole sentence or call.
        """
        history, self._unread = self._unread, []
        for said in turn_of(history):
            if isinstance(said, str):
                self._read_text(said)
            else:
                count = self._tool.finished(said.name, said.arguments, said.result)
                self._take_call(said.name, said.arguments, count, in_reply=False)

    def _read_text(self, text: str) -> None:
        reader = self._channel("content").reader
        for reading in reader.read_whole(text) if reader is not None else ():
            self._take(reading, in_reply=False)

    def _take(self, reading: Reading, *, in_reply: bool) -> LoopFinding | None:
        if in_reply and reading.is_counted:
            self._totals.counted(repeat=reading.is_repeat)
        cuts = [
            self._tally.take(finding, may_cut=in_reply and is_repeat)
            for finding, is_repeat in reading.evidence
        ]
        return next(filter(None, cuts), None)

    def _take_call(
        self, name: str, arguments: object, count: int, *, in_reply: bool
    ) -> LoopFinding | None:
        if not count:
            return None
        shown = arguments if isinstance(arguments, str) else canonical(arguments)
        call = cut_bytes(f"{name}({shown})", self._config.sample_bytes)
        found = LoopFinding("tool", name, 0, count, 0, call, call, call, 0)
        return self._tally.take(found, may_cut=in_reply)
