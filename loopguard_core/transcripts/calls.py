"""Which call a tool's answer belongs to."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Call", "CallBook"]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool; *id* is unique in its run, *saved_id* is what the file says."""

    id: str
    saved_id: str | None
    name: str
    arguments: object


class CallBook:
    """The calls of one run, for the answers that follow them.

    Ids are what pairs a call with its answer, but saved runs leave them out (the older
    `function_call`), count them from the start in each step, or use one for two calls of a step.
    So an answer first looks among the open calls of the step it follows, oldest first.
    """

    def __init__(self) -> None:
        self._open: list[Call] = []
        self._by_id: dict[str, Call] = {}
        self._count = 0

    def begin_step(self) -> None:
        """Close the calls of the step before; only an answer that names one still finds it."""
        self._open.clear()

    def ask(self, saved_id: str | None, name: str, arguments: object) -> Call:
        """Remember a call, and give it an id that no other call of the run has."""
        self._count += 1
        if saved_id is None or saved_id in self._by_id:
            call = Call(f"{saved_id or name}#{self._count}", saved_id, name, arguments)
        else:
            call = Call(saved_id, saved_id, name, arguments)
        self._open.append(call)
        if saved_id is not None:
            self._by_id[saved_id] = call
        return call

    def answer(self, saved_id: str | None, name: str | None) -> Call | None:
        """Return the call that an answer belongs to, or None if there is none.

        Args:
            saved_id: The id that the answer names. Where it or the call has none, the oldest open
                call with a fitting name is taken.
            name: The tool that the answer names; None fits any.
        """
        for position, call in enumerate(self._open):
            if _fits(call, saved_id, name):
                return self._open.pop(position)
        return None if saved_id is None else self._by_id.get(saved_id)


def _fits(call: Call, saved_id: str | None, name: str | None) -> bool:
    if saved_id is None or call.saved_id is None:
        return name in (None, call.name)
    return saved_id == call.saved_id
