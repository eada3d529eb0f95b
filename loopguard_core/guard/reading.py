"""How the thread heuristics read a message: without exempt tools, ignored arguments and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard_core.message import ABSENT, Message, activity_of

from .guidance import without_guidance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .policy import Policy

__all__ = ["MessageReading"]


class MessageReading:
    """Gives the message to compare in the place of a native one; None leaves it out.

    Args:
        policy: Its tool rules say which tools are exempt and which arguments do not count.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def __call__(self, message: Mapping[str, object]) -> Mapping[str, object] | None:
        """Return *message* itself where nothing has to be left out."""
        activity = activity_of(message)
        if activity is None:
            return message
        rule = self._policy.rule(activity.name)
        if rule.exempt:
            return None
        arguments = rule.kept_arguments(activity.arguments)
        result = activity.result
        if isinstance(result, str):
            result = without_guidance(result)
            if not result and activity.result:
                return None  # the answer to a blocked call is ours, and no evidence
        if arguments is activity.arguments and result is activity.result:
            return message
        function = {"name": activity.name, "arguments": arguments, "result": result}
        given = {key: value for key, value in function.items() if value is not ABSENT}
        return Message(
            type="activity",
            text=message.get("text"),
            meta={"activity": {"type": activity.type, "function": given}},
        )
