"""The sentences of one channel, given to the detectors that read them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from .counting import CountingText
from .cycle import CycleDetector
from .excerpt import cut_bytes
from .finding import LoopFinding
from .line_kind import LineKind, line_kind
from .passage import Passage
from .phrase import PhraseDetector
from .repeats import RepeatWindow
from .said import Said
from .sentences import SentenceStream, key_of, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .config import ReplyLoopConfig
    from .finding import Kind
    from .sentences import Sentence
    from .stems import Stems

__all__ = ["Evidence", "Reader", "Reading"]

_LIST_NUMBER: Final = re.compile(r"\(?\d+[.)]")


class Evidence(NamedTuple):
    """A finding, and whether the sentence that led to it is itself said again."""

    finding: LoopFinding
    is_repeat: bool


class Reading(NamedTuple):
    """What a sentence came to.

    Args:
        evidence: What was found.
        is_counted: False if the sentence by itself is no evidence of anything.
        is_repeat: True if it matched an earlier one.
    """

    evidence: list[Evidence]
    is_counted: bool = False
    is_repeat: bool = False


class Reader:
    """Reads the text of one channel, sentence by sentence.

    Each channel has a memory of its own. With one for all (reply specification, section 5,
    inferred) an answer that was drafted twice in thinking would be cut when it is given.
    Source: reply specification, sections 6 to 8.

    Args:
        name: The channel.
        config: Thresholds.
        stems: Where stems come from.
    """

    __slots__ = ("_config", "_counting", "_cycle", "_name", "_new_end", "_phrase", "_sentences")

    def __init__(self, name: str, config: ReplyLoopConfig, stems: Stems) -> None:
        self._name = name
        self._config = config
        self._cycle = _cycle_detector(config)
        self._phrase = _phrase_detector(config, stems)
        self._begin()

    def _begin(self) -> None:
        self._sentences = SentenceStream(self._config.max_segment)
        self._counting = CountingText() if self._config.counting_lines > 0 else None
        self._new_end: dict[Kind, int] = {}

    def cut(self, delta: str) -> list[Sentence]:
        """Take the next text and return the sentences that it finished, to be read."""
        return self._sentences.feed(delta)

    def read(self, sentences: Iterable[Sentence]) -> Iterator[Reading]:
        """Yield what each sentence comes to."""
        return map(self._read, sentences)

    def read_whole(self, text: str) -> Iterator[Reading]:
        """Read a text of its own that is over, beside the one that streams; it is remembered."""
        streaming = self._sentences, self._counting, self._new_end
        self._begin()
        yield from self.read([*self._sentences.feed(text), *self._sentences.close()])
        self._sentences, self._counting, self._new_end = streaming

    def _read(self, sentence: Sentence) -> Reading:
        evidence = self._counted_lines(sentence)
        words = words_of(sentence.text)
        is_counted = len(words) >= self._config.min_tokens
        if not is_counted and not self._is_read(sentence.text, words):
            return Reading(evidence)
        text, size = sentence.text, len(sentence.text.encode("utf-8", "surrogatepass"))
        kind = line_kind(text) if self._config.prose_only else LineKind.PROSE
        cycle = self._cycle.add(key_of(text), text, size, kind)
        evidence += self._judged("cycle", cycle, sentence)
        is_repeat = cycle.times > 1
        if self._phrase is not None and kind is LineKind.PROSE:
            phrase = self._phrase.add(words, text, size)
            evidence += self._judged("phrase", phrase, sentence)
            is_repeat = is_repeat or phrase.times > 1
        elif self._phrase is not None and not is_repeat:
            self._phrase.add_new(size)
        return Reading(evidence, is_counted=is_counted, is_repeat=is_repeat)

    def _is_read(self, text: str, words: list[str]) -> bool:
        """Return True for a sentence that is too short to count, but tells new from old."""
        return self._config.prose_only and bool(words) and not _LIST_NUMBER.fullmatch(text)

    def _counted_lines(self, sentence: Sentence) -> list[Evidence]:
        """Look for a line that differs from the one before in a counter only."""
        counting, enough = self._counting, self._config.counting_lines
        if counting is None or (times := counting.add(sentence)) < enough:
            return []
        said = Said(times, times, sentence.text)
        return [self._evidence("cycle", said, sentence, counting.new_end)]

    def _judged(self, kind: Kind, said: Said, sentence: Sentence) -> list[Evidence]:
        if said.times == 1:
            self._new_end[kind] = sentence.end
        if not said.loops:
            return []
        return [self._evidence(kind, said, sentence, self._new_end.get(kind, 0))]

    def _evidence(self, kind: Kind, said: Said, sentence: Sentence, keep_chars: int) -> Evidence:
        limit = self._config.sample_bytes
        newest = cut_bytes(sentence.text, limit)
        finding = LoopFinding(
            kind=kind,
            where=self._name,
            period=0,
            reps=said.loops,
            trailing=0,
            first=cut_bytes(said.first, limit),
            last=newest,
            sample=newest,
            keep_chars=keep_chars,
        )
        return Evidence(finding, is_repeat=said.times > 1)


def _window(config: ReplyLoopConfig) -> RepeatWindow:
    return RepeatWindow(config.window, config.min_share, config.min_span)


def _cycle_detector(config: ReplyLoopConfig) -> CycleDetector:
    passage = None
    if config.begun_bytes > 0:
        passage = Passage(config.begun_bytes, config.max_sentences)
    return CycleDetector(
        _window(config), passage, memory=config.max_sentences, sample_chars=config.sample_bytes
    )


def _phrase_detector(config: ReplyLoopConfig, stems: Stems) -> PhraseDetector | None:
    if config.similarity < 0:
        return None
    return PhraseDetector(config, _window(config), stems)
