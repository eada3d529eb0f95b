"""How the thread heuristics read an activity: without exempt tools, ignored arguments and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .guidance import without_guidance

if TYPE_CHECKING:
    from loopguard_core.message import Activity

    from .policy import Policy

__all__ = ["ActivityReading"]


class ActivityReading:
    """Gives the activity to compare in the place of the one in the thread; None leaves it out.

    Args:
        policy: Its tool rules say which tools are exempt and which arguments do not count.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def __call__(self, activity: Activity) -> Activity | None:
        """Return *activity* itself where nothing has to be left out."""
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
            return activity
        return activity._replace(arguments=arguments, result=result)
