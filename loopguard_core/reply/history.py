"""The turn before a reply: what the model said and did since a person last spoke."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard_core.message import ABSENT, Activity, activity_of, as_message, text_of, type_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["checked_history", "turn_of"]


def checked_history(messages: Sequence[Mapping[str, object]]) -> list[Mapping[str, object]]:
    """Return a copy of *messages*.

    Raises:
        InvalidInputError: A message is no mapping.
    """
    return [as_message(m, field=f"history[{i}]") for i, m in enumerate(messages)]


def turn_of(messages: Sequence[Mapping[str, object]]) -> Iterator[str | Activity]:
    """Yield the texts of the model and its finished calls, in order.

    Read are the messages after the last one of type `user`, all of them if there is none. A
    response carries its call, so requests are passed over; so are responses that still stream
    and what tools said. Source: reply specification, section 4.
    """
    since = max((i + 1 for i, m in enumerate(messages) if type_of(m) == "user"), default=0)
    for message in messages[since:]:
        if type_of(message) == "bot":
            yield text_of(message)
        elif (activity := activity_of(message)) is not None and _is_finished(activity):
            yield activity


def _is_finished(activity: Activity) -> bool:
    return activity.type == "response" and activity.result is not ABSENT
