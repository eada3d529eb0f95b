"""Documents that are pointed out."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from loopguard_core.agent.entries import Compaction, Entry
from loopguard_core.agent.preparers import DocHit, FinderOptions, FinderPreparer, pointer_text

from .cases import cases, ids
from .quirks import FIXED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CASES = cases("finder_preparer")
AS_REFERENCE = [case for case in CASES if case["id"] not in FIXED]
HIT = DocHit(doc_id="d", title="T", score=0.9, line="L")


class Entries:
    """A store of one context, which fails where it is told to."""

    def __init__(self, fails_on: str = "") -> None:
        self.fails_on = fails_on
        self.entries: list[Entry] = []

    async def claim_pending(self, session_id: str, at: int) -> int:
        """Never asked for by a preparer."""
        raise NotImplementedError

    async def append(self, session_id: str, entry: Entry) -> None:
        """Add a notice, or fail."""
        del session_id
        if self.fails_on == "append":
            raise OSError("append")
        self.entries.append(entry)

    async def context(self, session_id: str) -> Sequence[Entry]:
        """Return all entries, or fail."""
        del session_id
        if self.fails_on == "context":
            raise OSError("context")
        return list(self.entries)

    async def compact(self, session_id: str, compaction: Compaction) -> None:
        """Never asked for by a preparer."""
        raise NotImplementedError

    def say(self, text: str, *, id_: str = "u", kind: str = "user", at: int = 1) -> None:
        """Add an entry of the conversation."""
        self.entries.append(Entry(id=id_, kind=kind, content=text, created_at=at))

    def told(self) -> list[Entry]:
        """Return the notices."""
        return [entry for entry in self.entries if entry.kind == "notification"]


class Finder:
    """Answers one query after the other: hits, an error, or hits after some seconds."""

    def __init__(self, *answers: list[DocHit] | Exception | tuple[float, list[DocHit]]) -> None:
        self.answers = list(answers)
        self.queries: list[list[str]] = []

    async def find(self, texts: Sequence[str]) -> Sequence[DocHit]:
        """Answer the next query."""
        self.queries.append(list(texts))
        answer = self.answers.pop(0) if self.answers else []
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, tuple):
            await asyncio.sleep(answer[0])
            return answer[1]
        return answer


def clock() -> Callable[[], int]:
    """Return a clock that starts at 1000 and adds 1 with each reading."""
    times = iter(range(1001, 9999))
    return lambda: next(times)


def answers_of(case: dict[str, Any]) -> list[Any]:
    """Read the answers of a case's finder."""
    return [
        (find.get("sleep_ms", 0) / 1000, [DocHit(**hit) for hit in find["hits"]])
        for find in case["in"]["finds"]
    ]


def options_of(case: dict[str, Any]) -> FinderOptions:
    """Read the options of a case; there a negative limit is none."""
    given: dict[str, Any] = {}
    for name, value in case["in"]["opts"].items():
        if name == "max_hits":
            given["max_hits"] = None if value < 0 else value
        else:
            assert name == "timeout_ms"
            given["timeout_s"] = value / 1000
    return FinderOptions(**given)


async def passes_of(case: dict[str, Any]) -> list[dict[str, Any]]:
    """Run the passes of a case."""
    store, finder = Entries(case["in"]["store_fails_on"]), Finder(*answers_of(case))
    preparer = FinderPreparer(store, finder, options=options_of(case), now=clock())
    passes = []
    for step in case["in"]["steps"]:
        store.entries += [Entry(**entry) for entry in step["add"]]
        queries, told, failed = len(finder.queries), len(store.told()), False
        try:
            await preparer(step["pass"])
        except OSError:
            failed = True
        passes.append(
            {
                "error": failed,
                "queries": finder.queries[queries:],
                "injected": [
                    {"tag": entry.tag, "content": entry.content, "created_at": entry.created_at}
                    for entry in store.told()[told:]
                ],
            }
        )
    return passes


def expected_passes(case: dict[str, Any]) -> list[dict[str, Any]]:
    """Write the pointers of a case in the words of this project."""
    words = {
        f'⟦pointer title="{hit["title"]}" id={hit["doc_id"]} score={hit["score"]:.2f} '
        f"line={hit['line']}⟧": pointer_text(DocHit(**hit))
        for find in case["in"]["finds"]
        for hit in find["hits"]
    }
    passes: list[dict[str, Any]] = case["out"]["passes"]
    for one in passes:
        for entry in one["injected"]:
            entry["content"] = words[entry["content"]]
    return passes


def test_number_of_cases() -> None:
    """All conformance cases are there, and all but one come out as the reference does them."""
    assert (len(CASES), len(AS_REFERENCE)) == (14, 13)


@pytest.mark.parametrize("case", AS_REFERENCE, ids=ids(AS_REFERENCE))
async def test_case(case: dict[str, Any]) -> None:
    """The queries, notices and errors of each pass are the reference's."""
    assert await passes_of(case) == expected_passes(case)


async def test_a_document_is_pointed_out_once_even_if_it_is_found_twice() -> None:
    """finder_preparer-010: in one answer its better hit counts (Q08)."""
    (case,) = [case for case in CASES if case["id"] == "finder_preparer-010"]
    (only,) = await passes_of(case)
    assert [entry["content"] for entry in only["injected"]] == [
        pointer_text(DocHit(doc_id="d", title="T", score=0.6, line="L"))
    ]


@pytest.mark.parametrize(("back_dated", "queries"), [(False, 1), (True, 2)])
async def test_an_entry_that_was_dated_back(*, back_dated: bool, queries: int) -> None:
    """It is searched for if that is asked for (Q28); one of the same time is, either way."""
    store, finder = Entries(), Finder()
    prepare = FinderPreparer(store, finder, options=FinderOptions(back_dated=back_dated))
    store.say("late", at=50)
    await prepare("s")
    store.say("back-dated", id_="v", at=40)
    await prepare("s")
    assert finder.queries == [["late"], ["back-dated"]][:queries]
    store.say("at once", id_="w", at=50)
    await prepare("s")
    assert finder.queries[-1] == ["at once"]


async def test_a_search_that_failed_is_made_again() -> None:
    """The error is heard of, the turn goes on, and the same texts are searched for next time."""
    store, finder = Entries(), Finder(RuntimeError("down"), [HIT])
    heard: list[tuple[str, str]] = []
    preparer = FinderPreparer(
        store, finder, now=clock(), on_error=lambda *told: heard.append((told[0], str(told[1])))
    )
    store.say("how?")
    await preparer("s")
    assert heard == [("s", "down")]
    assert store.told() == []
    await preparer("s")
    assert finder.queries == [["how?"], ["how?"]]
    assert len(store.told()) == 1


async def test_a_slow_search_is_given_up_and_heard_of() -> None:
    """A search that takes too long is one that failed."""
    store, finder, heard = Entries(), Finder((60, [HIT])), list[Exception]()
    preparer = FinderPreparer(
        store,
        finder,
        options=FinderOptions(timeout_s=0.01),
        on_error=lambda _, error: heard.append(error),
    )
    store.say("how?")
    await preparer("s")
    assert [type(error) for error in heard] == [TimeoutError]


async def test_a_turn_that_is_cancelled_ends() -> None:
    """Cancelling is no failed search."""
    store = Entries()
    store.say("how?")
    preparer = FinderPreparer(store, Finder((60, [])), options=FinderOptions(timeout_s=None))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(preparer("s"), 0.01)


async def test_a_notice_that_could_not_be_stored_comes_again() -> None:
    """Neither the document nor the text is taken for done."""
    store, finder = Entries("append"), Finder([HIT], [HIT])
    preparer = FinderPreparer(store, finder, now=clock())
    store.say("how?")
    with pytest.raises(OSError, match="append"):
        await preparer("s")
    store.fails_on = ""
    await preparer("s")
    assert finder.queries == [["how?"], ["how?"]]
    assert len(store.told()) == 1


async def test_texts_come_in_the_order_of_the_store() -> None:
    """Whatever their times; empty ones and other kinds are left out."""
    store, finder = Entries(), Finder()
    store.say("b", id_="1", at=9)
    store.say("", id_="2")
    store.say("dump", id_="3", kind="tool_result")
    store.say("a", id_="4", kind="assistant", at=1)
    await FinderPreparer(store, finder)("s")
    assert finder.queries == [["b", "a"]]


async def test_kinds_and_scores_are_chosen() -> None:
    """A kind that is observed is searched for; a hit at the least score is told, nothing below."""
    hits = [DocHit(doc_id=str(score), score=score) for score in (0.4, 0.5, float("nan"))]
    store, finder = Entries(), Finder(hits)
    store.say("dump", kind="tool_result")
    options = FinderOptions(min_score=0.5, kinds=frozenset({"tool_result"}), tag="docs")
    await FinderPreparer(store, finder, options=options, render=lambda hit: hit.doc_id)("s")
    assert [(entry.tag, entry.content) for entry in store.told()] == [("docs", "0.5")]


async def test_a_folded_entry_is_not_kept_in_mind() -> None:
    """State is bounded by the context: what a fold has hidden is dropped."""
    store, finder = Entries(), Finder()
    preparer = FinderPreparer(store, finder)
    store.say("one", id_="1")
    await preparer("s")
    store.entries.clear()
    store.say("two", id_="2")
    await preparer("s")
    assert finder.queries == [["one"], ["two"]]
    assert preparer._told["s"].searched == {"2"}


async def test_a_forgotten_session_starts_over() -> None:
    """Forgetting one that is not known is fine."""
    store, finder = Entries(), Finder([HIT], [HIT])
    preparer = FinderPreparer(store, finder, now=clock())
    store.say("how?")
    await preparer("s")
    preparer.forget("s")
    preparer.forget("other")
    await preparer("s")
    assert len(store.told()) == 2


@pytest.mark.parametrize(
    "given", [{"max_hits": 0}, {"max_hits": -1}, {"timeout_s": 0.0}, {"hits": 3}]
)
def test_bad_options_are_refused(given: dict[str, Any]) -> None:
    """The error names the option."""
    with pytest.raises(ValidationError, match=next(iter(given))):
        FinderOptions(**given)
