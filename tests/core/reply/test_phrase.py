"""The index of sentences, the stems, and the detector of phrases."""

from __future__ import annotations

import math
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.reply import ReplyLoopConfig
from loopguard_core.reply.bm25 import SentenceIndex, Terms
from loopguard_core.reply.phrase import PhraseDetector
from loopguard_core.reply.repeats import RepeatWindow
from loopguard_core.reply.sentences import words_of
from loopguard_core.reply.stems import Stems

SENTENCES = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8)


def _terms(words: list[str]) -> Terms:
    return Terms(Counter(words), len(words))


def _plain_similarities(known: list[list[str]], words: list[str]) -> list[float]:
    """Do section 8 the way it is written there."""
    total, average = len(known), sum(map(len, known)) / len(known)
    counts = Counter(words)

    def score(document: list[str]) -> float:
        found = 0.0
        for term in counts:
            holding = sum(term in each for each in known)
            idf = math.log(1 + (total - holding + 0.5) / (holding + 0.5))
            f = document.count(term)
            found += idf * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * len(document) / average))
        return found

    return [score(each) / score(words) for each in known]


@settings(max_examples=100, derandomize=True, deadline=None)
@given(
    known=st.lists(SENTENCES, min_size=1, max_size=12),
    words=SENTENCES,
    at_least=st.sampled_from([0.3, 0.6, 0.85, 1.0]),
    bound=st.integers(1, 12),
)
def test_the_index_finds_what_a_plain_search_finds(
    known: list[list[str]], words: list[str], at_least: float, bound: int
) -> None:
    """It names the sentences that are similar enough, of the latest, the most similar first."""
    index = SentenceIndex(bound)
    for sentence in known:
        index.add(_terms(sentence))
    found = index.most_similar(_terms(words), at_least)
    first = max(0, len(known) - bound)
    similarities = _plain_similarities(known[first:], words)
    if all(abs(each - at_least) > 1e-9 for each in similarities):
        expected = [i for i, each in enumerate(similarities) if each >= at_least]
        assert sorted(found) == [first + i for i in expected]
    ranked = [similarities[number - first] for number in found]
    assert ranked == pytest.approx(sorted(ranked, reverse=True))


def test_an_empty_index_finds_nothing() -> None:
    """There is nothing to be similar to."""
    assert SentenceIndex(3).most_similar(_terms(["a"]), 0.1) == []


def test_the_earliest_of_equals_comes_first() -> None:
    """Sentences with the same terms are as similar as each other."""
    index = SentenceIndex(9)
    for words in (["a", "b"], ["c", "d"], ["b", "a"]):
        index.add(_terms(words))
    assert index.most_similar(_terms(["a", "b"]), 0.9) == [0, 2]


def test_stems() -> None:
    """Porter's; short words, other alphabets and what is no word stay."""
    words = ["running", "relational", "is", "ärmeling", "x" * 60]
    assert Stems().of(words) == ["run", "relat", "is", "ärmeling", "x" * 60]


def test_stems_in_threads_with_a_full_cache() -> None:
    """The cache starts over when it is full, and threads do not mix up words."""
    stems = Stems(max_words=3)
    words = ["running", "walked", "houses", "happily", "nationally"] * 50
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: stems.of(words), range(8)))
    assert all(each == results[0] for each in results)
    assert results[0][:3] == ["run", "walk", "hous"]


def _times(texts: list[str], config: ReplyLoopConfig) -> list[int]:
    window = RepeatWindow(config.window, config.min_share, config.min_span)
    phrase = PhraseDetector(config, window, Stems())
    return [phrase.add(words_of(text), text, len(text)).times for text in texts]


OTHERS = [
    "The river runs from the mountain to the forest.",
    "A worker writes the token to the ledger.",
    "Bread is made from flour and a little butter.",
]


@pytest.mark.parametrize(
    ("one", "other", "times"),
    [
        ("The server checked the expired token.", "The token expired, the server checks.", 2),
        ("The server checked the expired token.", "The cabin has a window and a garden.", 1),
        ("The plat filing for Smith was closed.", "The plat filing for Jones was closed.", 1),
        ("再考虑一下这个问题吧。", "这个问题再考虑一下吧。", 1),
        ("我们再考虑一下这个问题。", "我们再考虑一下这个问题吧。", 2),
    ],
    ids=["order-and-forms", "something-else", "another-name", "chinese-other", "chinese-same"],
)
def test_what_is_the_same(one: str, other: str, times: int) -> None:
    """Order and word forms do not matter; a word met for the first time does."""
    assert _times([*OTHERS, one, other], ReplyLoopConfig())[-1] == times


CASES = [
    ("If we take k to be 3 the claim holds.", "If we take k to be 4 the claim holds."),
    ("If we take k to be 3 the claim holds.", "If we take n to be 3 the claim holds."),
    ("Suppose that A is true and B is false.", "Suppose that A is false and B is true."),
    ("It follows that Alice trusts Bob at once.", "It follows that Bob trusts Alice at once."),
]


@pytest.mark.parametrize(("one", "other"), CASES)
def test_another_case_is_another_sentence(one: str, other: str) -> None:
    """For the guard, a step with other numbers, names or truth values is another step."""
    texts = [*OTHERS, one, other, other, one]
    assert _times(texts, ReplyLoopConfig.for_guard())[3:] == [1, 1, 2, 2]


def test_groups_are_forgotten_with_their_sentences() -> None:
    """As many groups are kept as sentences."""
    texts = [f"{word} writes the token to the ledger again" for word in "abcdefg"]
    config = ReplyLoopConfig(max_phrases=2, similarity=1.5)
    phrase = PhraseDetector(config, RepeatWindow(2, 1.0, 1), Stems())
    for text in texts:
        phrase.add(words_of(text), text, 9)
    assert len(phrase._groups) == 2
