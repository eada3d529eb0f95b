"""Notices that are asked about before they are shown."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from loopguard_core.agent.notices import NoticeKey
from loopguard_core.agent.preparers import MCPPreparer, is_resolved_truth

from .cases import cases, ids

if TYPE_CHECKING:
    from collections.abc import Sequence

TRUTHS, PASSES = cases("resolved_truth"), cases("mcp_preparer")


class Host:
    """Keeps notices, and answers what a case says."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.asked: list[str] = []
        self.cleared: list[str] = []

    async def pending_notices(self, session_id: str) -> Sequence[NoticeKey]:
        """Return the notices of the case, or fail."""
        assert session_id == "s"
        self._fail_if("listing_fails")
        notices = self.given["notices"]
        return [NoticeKey(group_by=one["group"], key=one["key"]) for one in notices]

    async def clear_notice(self, session_id: str, notice: NoticeKey) -> None:
        """Note what is cleared, or fail."""
        assert session_id == "s"
        self._fail_if("clear_fails")
        self.cleared.append(f"{notice.group_by}/{notice.key}")

    async def truth(self, notice: NoticeKey) -> str | None:
        """Answer as the case says; a key without an answer has no tool."""
        self.asked.append(f"{notice.group_by}/{notice.key}")
        if notice.key in self.given.get("errs", {}):
            raise RuntimeError(notice.key)
        truth: str | None = self.given["truth"].get(notice.key)
        return truth

    def _fail_if(self, name: str) -> None:
        if self.given.get(name):
            raise OSError(name)


def test_number_of_cases() -> None:
    """All conformance cases are there."""
    assert (len(TRUTHS), len(PASSES)) == (14, 5)


@pytest.mark.parametrize("case", TRUTHS, ids=ids(TRUTHS))
def test_resolved(case: dict[str, Any]) -> None:
    """Only an empty answer means that there is nothing left."""
    assert is_resolved_truth(case["in"]["text"]) is case["out"]


@pytest.mark.parametrize("case", PASSES, ids=ids(PASSES))
async def test_pass(case: dict[str, Any]) -> None:
    """All are asked about in order, resolved ones are cleared, and the store's errors are raised."""
    host, failed = Host(case["in"]), False
    try:
        await MCPPreparer(host, host)("s")
    except OSError:
        failed = True
    assert case["out"] == {"asked": host.asked, "cleared": host.cleared, "error": failed}


async def test_a_failure_to_ask_can_be_heard_of() -> None:
    """The notice stays, and the host is told which one and why."""
    host = Host({"notices": [{"group": "g", "key": "k"}], "truth": {"k": ""}, "errs": {"k": True}})
    heard: list[tuple[NoticeKey, Exception]] = []
    await MCPPreparer(host, host, on_error=lambda *told: heard.append(told))("s")
    assert [(key, str(error)) for key, error in heard] == [(NoticeKey(group_by="g", key="k"), "k")]
    assert host.cleared == []


async def test_a_turn_that_is_cancelled_ends() -> None:
    """Cancelling is no failure to ask."""

    class Slow(Host):
        async def truth(self, notice: NoticeKey) -> str | None:
            del notice
            await asyncio.Event().wait()
            return ""

    host = Slow({"notices": [{"group": "g", "key": "k"}]})
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(MCPPreparer(host, host)("s"), 0.01)
    assert host.cleared == []
