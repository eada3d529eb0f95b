"""A session over a real endpoint: tools, a reply that goes round, a stream that breaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from loopguard_core.agent.chat import ToolCall, ToolDefinition
from loopguard_core.agent.errors import TurnError
from loopguard_core.agent.runner import OpenAIRunner, StreamIncompleteError
from loopguard_core.agent.session import Session
from loopguard_core.agent.store import MemoryStore

from .protocol import call_chunk, calls, chat_chunk, said
from .scripted_server import WAIT, Answer, ScriptedProvider, event, scripted_provider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

BLOCK = "North of the old mill road to the stone, then east along the hedge. "


@pytest.fixture
def server() -> Iterator[ScriptedProvider]:
    """The provider."""
    with scripted_provider() as provider:
        yield provider


@pytest.fixture
async def session(server: ScriptedProvider) -> AsyncIterator[Session]:
    """A session with one tool, which says what it was asked."""

    def dispatch(call: ToolCall) -> str:
        return f"you said {call.arguments}"

    async with OpenAIRunner("m", base_url=server.url, api_key="none") as runner:
        yield Session(
            session_id="s",
            store=MemoryStore(),
            runner=runner,
            tools=(ToolDefinition(name="read"),),
            dispatch=dispatch,
        )


async def test_a_tool_round(server: ScriptedProvider, session: Session) -> None:
    """The result goes back under its call's id, and the usage is added up."""
    server.answers.extend([Answer.streamed(*calls('{"a": 1}')), Answer.streamed(*said("Done."))])
    result = await session.turn("Go")
    assert result.reply == "Done."
    _, call, answer = server.requests[1]["messages"][-3:]
    assert call["tool_calls"][0]["id"] == answer["tool_call_id"] == "call_0"
    assert answer["content"] == 'you said {"a": 1}'
    assert (result.usage.total, result.usage.turns) == (6, 2)


async def test_a_reply_that_goes_round(server: ScriptedProvider, session: Session) -> None:
    """It is cut, the model is told, and the next reply stands."""
    looping = Answer((*[event(chat_chunk(content=BLOCK))] * 40, WAIT))
    server.answers.extend([looping, Answer.streamed(*said("Done."))])
    assert (await session.turn("Go")).reply == "Done."
    kept, notice = server.requests[1]["messages"][-2:]
    assert kept["content"] == BLOCK
    assert "CUT OFF" in notice["content"]


async def test_a_stream_that_breaks(server: ScriptedProvider, session: Session) -> None:
    """The turn fails at the stage `chat`; nothing of the reply is kept, and the next turn goes on."""
    broken = Answer.streamed(call_chunk(0, "{", name="read"), drops=True)
    server.answers.extend([broken, Answer.streamed(*said("Done."))])
    with pytest.raises(TurnError) as raised:
        await session.turn("Go")
    assert raised.value.stage == "chat"
    assert isinstance(raised.value.__cause__, StreamIncompleteError)
    assert (await session.turn()).reply == "Done."
    assert server.requests[1]["messages"] == server.requests[0]["messages"]
