"""Placeholders in a reply that stand for what a tool returned.

A model that has to show a long result need not write it again: it writes `{OUTPUT}` for the whole
of the newest one, or `{name}` for a section `<name>...</name>` of any. What is stored and streamed
keeps the placeholders; the reply that a person reads has them replaced.
Source: agent specification, section 10.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from loopguard_core.errors import InvalidInputError
from loopguard_core.guard.guidance import without_guidance

from .entries import EntryKind
from .sections import NAME, placeholders, sections

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .entries import Entry

__all__ = [
    "MAX_EXPANDED_CHARS",
    "OUTPUT",
    "SLOT_NOTE",
    "Slots",
    "expand_entries",
    "placeholders",
    "slots_of",
    "with_slot_note",
]

OUTPUT: Final = "OUTPUT"
"""The slot that holds a whole result."""

MAX_EXPANDED_CHARS: Final = 64 * 1024 * 1024
"""What one expansion inserts at most.

A model in a loop can write `{OUTPUT}` thousands of times, which is a kilobyte here and gigabytes
there. What comes after the limit stays a placeholder.
"""

SLOT_NOTE: Final = (
    "Showing tool output: write {OUTPUT} in your answer and the reader sees the complete result "
    "of the last tool call since the last user message in its place. If such a result has a section such as <name>...</name>, "
    "write {name} to show that section alone. A result that you see cut off is still shown whole. "
    "Use this rather than copying long output by hand. All other text in braces is left as it is."
)
"""Tells a model how to write placeholders; see `with_slot_note`."""

_PLACEHOLDER: Final = re.compile(rf"\{{({NAME})\}}")


def slots_of(result: str) -> dict[str, str]:
    """Return the slots of one tool result.

    Returns:
        Each section by name, the last of one name, and `OUTPUT`: the result without the tags of
        its sections. A section that is called OUTPUT is not there by itself.
    """
    slots: dict[str, str] = {}
    kept: list[str] = []
    at = 0
    for section in sections(result):
        slots[section.name] = section.text
        kept += [result[at : section.start], section.text]
        at = section.stop
    slots[OUTPUT] = "".join([*kept, result[at:]])
    return slots


class Slots:
    """What placeholders stand for in one turn.

    What is kept is as large as the results that were captured. A framework adapter keeps `snapshot()` in the framework's own state.

    Args:
        slots: What is known from the start, such as a snapshot; None starts empty.

    Raises:
        InvalidInputError: *slots* holds something else than texts under names.
    """

    __slots__ = ("_slots",)

    def __init__(self, slots: Mapping[str, str] | None = None) -> None:
        self._slots: dict[str, str] = _checked({} if slots is None else slots)

    @classmethod
    def from_entries(cls, entries: Iterable[Entry]) -> Slots:
        """Capture every tool result among *entries*, in their order.

        With the entries of a store, placeholders reach back over earlier turns (quirk Q27). A
        session that encodes results stores them encoded, and so they are inserted (Q24). The notes
        that a guard has put behind a result are for the model, and left out.
        """
        slots = cls()
        for entry in entries:
            if entry.kind == EntryKind.TOOL_RESULT:
                slots.capture(without_guidance(entry.content))
        return slots

    def capture(self, result: str) -> None:
        """Add the slots of a result; of equal names the newest stays.

        Args:
            result: What the tool returned, before it is encoded or cut.
        """
        self._slots.update(slots_of(result))

    def expand(self, text: str, *, max_chars: int = MAX_EXPANDED_CHARS) -> str:
        """Replace the placeholders whose slot is known.

        What is inserted is not looked at again, and all other braces stay as they are.

        Args:
            text: What a model wrote.
            max_chars: What may be inserted in all; a placeholder that would go over it stays.
        """
        if not self._slots or "{" not in text:
            return text
        room = max_chars

        def inserted(placeholder: re.Match[str]) -> str:
            nonlocal room
            slot = self._slots.get(placeholder[1])
            if slot is None or len(slot) > room:
                return placeholder[0]
            room -= len(slot)
            return slot

        return _PLACEHOLDER.sub(inserted, text)

    def clear(self) -> None:
        """Forget all slots: a new turn begins."""
        self._slots.clear()

    def snapshot(self) -> dict[str, str]:
        """Return the slots as JSON values; `Slots(snapshot)` continues with them."""
        return dict(self._slots)


def expand_entries(entries: Iterable[Entry]) -> list[Entry]:
    """Return a history as a person should read it.

    All results are captured first, so an assistant entry that stands before them is expanded
    too, and of results in several turns the last one counts.

    Args:
        entries: As they are stored; not changed.
    """
    entries = list(entries)
    slots = Slots.from_entries(entries)
    return [
        entry.model_copy(update={"content": slots.expand(entry.content)})
        if entry.kind == EntryKind.ASSISTANT
        else entry
        for entry in entries
    ]


def with_slot_note(system: str) -> str:
    """Add `SLOT_NOTE` to a system text, after an empty line unless the text is empty.

    Only for a model that has tools: without them there is nothing to show.
    """
    return f"{system}\n\n{SLOT_NOTE}" if system else SLOT_NOTE


def _checked(slots: Mapping[str, str]) -> dict[str, str]:
    copy = dict(slots)
    for name, text in copy.items():  # a saved state can hold anything
        if {type(name), type(text)} != {str}:
            raise InvalidInputError(f"slots[{name!r}]", text, "a text under a name")
    return copy
