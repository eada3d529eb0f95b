"""The same calls with the same results, round after round.

Source: agent specification, section 9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard_core.agent.errors import ToolCallLoopError
from loopguard_core.agent.exchange_signature import ExchangeCounter

from .notices import tool_loop_notice

if TYPE_CHECKING:
    from .exchange import Exchange

__all__ = ["Repeats"]


class Repeats:
    """Counts equal exchanges in a row, within one turn. Rounds without calls do not count.

    Args:
        limit: The exchange after which the model is told; at twice as many the turn fails.
            Negative never looks.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._counter = ExchangeCounter()

    def notice(self, exchange: Exchange) -> str:
        """Take an exchange; return what the model is told, empty for nothing.

        Raises:
            ToolCallLoopError: The model was told and went on all the same.
        """
        if self._limit < 0:
            return ""
        count = self._counter.observe(exchange.calls, exchange.results)
        tools = [call.name for call in exchange.calls]
        if count >= 2 * self._limit:
            raise ToolCallLoopError(tools, count)
        return tool_loop_notice(tools, count) if count == self._limit else ""
