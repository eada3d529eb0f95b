"""The sentences of a reply, given to the detectors that read them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from .counting import CountingText
from .cycle import CycleDetector
from .excerpt import cut_bytes
from .finding import LoopFinding
from .passage import Passage
from .phrase import PhraseDetector
from .prose import is_prose
from .repeats import RepeatWindow
from .sentences import SentenceStream, key_of, words_of

if TYPE_CHECKING:
    from .config import ReplyLoopConfig
    from .finding import Kind
    from .said import Said
    from .sentences import Sentence
    from .stems import Stems

_MARKER: Final = re.compile(r"[(]?\d+[.)]")  # of a list

__all__ = ["Evidence", "Reader", "Reading", "TextChannel"]

# Three times a refrain of 280 bytes weighs as much as this; `shapes` weighs blocks alike.
_PASSAGE_WEIGHT: Final = 2560


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


class TextChannel:
    """What belongs to one channel of text alone.

    Attributes:
        name: The channel.
        sentences: Its unfinished sentence.
        counting: Its lines, or None where nothing is counted.
        new_end: For each kind, where the last sentence ended that was new.

    Args:
        name: The channel.
        config: Thresholds.
    """

    __slots__ = ("counting", "name", "new_end", "sentences")

    def __init__(self, name: str, config: ReplyLoopConfig) -> None:
        self.name = name
        self.sentences = SentenceStream(config.max_segment)
        self.counting = CountingText() if config.counting_lines > 0 else None
        self.new_end: dict[Kind, int] = {}


class Reader:
    """Reads the sentences of all channels, in order of completion.

    Source: reply specification, sections 5 to 8.

    Args:
        config: Thresholds.
        stems: Where stems come from.
    """

    __slots__ = ("_config", "_cycle", "_phrase", "_prose_only")

    def __init__(self, config: ReplyLoopConfig, stems: Stems) -> None:
        self._config = config
        self._prose_only = config.prose_only
        self._cycle = _cycle_detector(config)
        self._phrase = _phrase_detector(config, stems)

    def read(self, channel: TextChannel, sentence: Sentence) -> Reading:
        """Take the next sentence."""
        evidence = self._counted_lines(channel, sentence)
        text = sentence.text
        words = words_of(text)
        is_counted = len(words) >= self._config.min_tokens
        if not is_counted and not (self._prose_only and words and not _MARKER.fullmatch(text)):
            return Reading(evidence)
        size = len(text.encode("utf-8", "surrogatepass"))
        prose = not self._prose_only or (is_counted and is_prose(text, words))
        cycle = self._cycle.add(key_of(text), text, size, repeats_count=prose)
        evidence += self._judged("cycle", cycle, channel, sentence)
        is_repeat = cycle.times > 1
        if self._phrase is not None and prose:
            phrase = self._phrase.add(words, text, size)
            evidence += self._judged("phrase", phrase, channel, sentence)
            is_repeat = is_repeat or phrase.times > 1
        elif self._phrase is not None and not is_repeat:
            self._phrase.add_new(size)
        return Reading(evidence, is_counted=is_counted, is_repeat=is_repeat)

    def _counted_lines(self, channel: TextChannel, sentence: Sentence) -> list[Evidence]:
        """Look for a line that differs from the one before in a counter only."""
        counting, enough = channel.counting, self._config.counting_lines
        if counting is None or (times := counting.add(sentence)) < enough:
            return []
        text, keep_chars = sentence.text, counting.new_end
        finding = self._finding("cycle", channel.name, times, text, text, keep_chars)
        return [Evidence(finding, is_repeat=True)]

    def _judged(
        self, kind: Kind, said: Said, channel: TextChannel, sentence: Sentence
    ) -> list[Evidence]:
        if said.times == 1:
            channel.new_end[kind] = sentence.end
        if not said.count:
            return []
        keep_chars = channel.new_end.get(kind, 0)
        finding = self._finding(
            kind, channel.name, said.count, said.first, sentence.text, keep_chars
        )
        return [Evidence(finding, is_repeat=said.times > 1)]

    def _finding(
        self, kind: Kind, where: str, count: int, first: str, newest: str, keep_chars: int
    ) -> LoopFinding:
        limit = self._config.sample_bytes
        newest = cut_bytes(newest, limit)
        first = cut_bytes(first, limit)
        return LoopFinding(kind, where, 0, count, 0, first, newest, newest, keep_chars)


def _window(config: ReplyLoopConfig) -> RepeatWindow:
    return RepeatWindow(config.window, config.min_share, config.min_span)


def _cycle_detector(config: ReplyLoopConfig) -> CycleDetector:
    passage = None
    if config.begun_bytes > 0:
        passage = Passage(config.begun_bytes, _PASSAGE_WEIGHT, config.max_sentences)
    return CycleDetector(
        _window(config), passage, memory=config.max_sentences, sample_chars=config.sample_bytes
    )


def _phrase_detector(config: ReplyLoopConfig, stems: Stems) -> PhraseDetector | None:
    if config.similarity < 0:
        return None
    return PhraseDetector(
        _window(config),
        stems,
        similarity=config.similarity,
        memory=config.max_phrases,
        sample_chars=config.sample_bytes,
    )
