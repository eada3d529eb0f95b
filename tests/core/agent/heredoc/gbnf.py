"""A small recogniser of GBNF, the grammar notation of llama.cpp, and a writer of what it accepts.

It works as llama.cpp does: repetitions become rules, a state is a set of stacks, and each character
keeps the stacks whose top takes it. So a grammar is tested by what it means.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from typing import Final, TypeAlias

__all__ = ["Grammar"]


@dataclass(frozen=True)
class Chars:
    """A class of characters."""

    ranges: tuple[tuple[str, str], ...]
    negated: bool = False

    def __contains__(self, character: str) -> bool:
        return any(low <= character <= high for low, high in self.ranges) != self.negated


Sequence: TypeAlias = tuple[Chars | str, ...]
Stack: TypeAlias = tuple[Sequence, "Stack"] | None

_TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<literal>"(?:[^"\\]|\\.)*")
      | (?P<chars>\[(?:[^\]\\]|\\.)*\])
      | (?P<times>\{\d+(?:,\d*)?\})
      | (?P<name>[A-Za-z0-9-]+)
      | (?P<mark>[()|*+?])
    )""",
    re.VERBOSE,
)
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-f]{2})|(.))", re.DOTALL)
_CONTROLS: Final = {"n": "\n", "r": "\r", "t": "\t"}
_SAMPLED: Final = "ab z09_$@~`\"'\\{}[],:\n\té🙂crl"


@dataclass
class Grammar:
    """A grammar that was read; a rule is a list of alternatives."""

    text: str
    rules: dict[str, list[Sequence]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read the rules, one a line, and check that each name is defined once."""
        for line in self.text.splitlines():
            name, right = line.split(" ::= ", 1)
            assert re.fullmatch("[a-z0-9-]+", name), name
            assert name not in self.rules, f"{name} is defined twice"
            tokens = _tokens(right)
            self.rules[name] = self._alternatives(tokens)
            assert not tokens, tokens
        used = {part for every in self.rules.values() for one in every for part in one}
        unknown = {part for part in used if isinstance(part, str)} - set(self.rules)
        assert not unknown, f"not defined: {unknown}"

    def accepts(self, text: str) -> bool:
        """Say whether *text* is a whole sentence of the grammar."""
        stacks = self._expanded({(("root",), None)})
        for character in text:
            stacks = self._expanded(
                {
                    (stack[0][1:], stack[1])
                    for stack in stacks
                    if stack is not None and character in _terminal(stack)
                }
            )
        return None in stacks

    def write(self, seed: int, size: int = 400) -> str:
        """Write a random sentence; it comes to an end soon after *size* characters."""
        rng = random.Random(seed)  # noqa: S311 - a test picks examples
        written: list[str] = []
        stack: Stack = (("root",), None)
        shortest = self._shortest()
        while stack is not None:
            sequence, below = stack
            if not sequence:
                stack = below
                continue
            head, rest = sequence[0], sequence[1:]
            stack = (rest, below)
            if isinstance(head, Chars):
                written.append(_some(head, rng))
                continue
            options = self.rules[head]
            if len(written) > size:
                options = [min(options, key=lambda one: _length(one, shortest))]
            stack = (rng.choice(options), stack)
        return "".join(written)

    def _expanded(self, stacks: set[Stack]) -> set[Stack]:
        """Replace rules on top of stacks until every stack is empty or has characters on top."""
        found: set[Stack] = set()
        waiting, seen = list(stacks), set(stacks)
        while waiting:
            stack = waiting.pop()
            for following in self._step(stack, found):
                if following not in seen:
                    seen.add(following)
                    waiting.append(following)
        return found

    def _step(self, stack: Stack, found: set[Stack]) -> list[Stack]:
        if stack is None:
            found.add(None)
            return []
        sequence, below = stack
        if not sequence:
            return [below]
        head, rest = sequence[0], sequence[1:]
        if isinstance(head, Chars):
            found.add(stack)
            return []
        under = (rest, below) if rest else below  # as llama.cpp: no frame for the end of a rule
        return [(one, under) for one in self.rules[head]]

    def _alternatives(self, tokens: list[tuple[str, str]]) -> list[Sequence]:
        every = [self._sequence(tokens)]
        while tokens and tokens[0] == ("mark", "|"):
            tokens.pop(0)
            every.append(self._sequence(tokens))
        return every

    def _sequence(self, tokens: list[tuple[str, str]]) -> Sequence:
        parts: list[Chars | str] = []
        while tokens and tokens[0] not in (("mark", "|"), ("mark", ")")):
            kind, token = tokens.pop(0)
            if kind == "literal":
                item: Sequence = tuple(Chars(((one, one),)) for one in _plain(token[1:-1]))
            elif kind == "chars":
                item = (_class(token[1:-1]),)
            elif kind == "name":
                item = (token,)
            else:
                assert (kind, token) == ("mark", "("), token
                item = (self._new_rule(self._alternatives(tokens)),)
                assert tokens.pop(0) == ("mark", ")")
            while tokens and (tokens[0][0] == "times" or tokens[0][1] in "*+?"):
                item = self._repeated(item, tokens.pop(0)[1])
            parts += item
        return tuple(parts)

    def _repeated(self, item: Sequence, times: str) -> Sequence:
        low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(times) or _limits(times)
        if high is None:
            again = self._new_rule([()])
            self.rules[again].insert(0, (*item, again))
            return item * low + (again,)
        optional: Sequence = ()
        for _ in range(high - low):
            optional = (self._new_rule([(*item, *optional), ()]),)
        return item * low + optional

    def _new_rule(self, alternatives: list[Sequence]) -> str:
        name = f"_{len(self.rules)}"
        self.rules[name] = alternatives
        return name

    def _shortest(self) -> dict[str, int]:
        """Return the shortest length that each rule can come to."""
        lengths = dict.fromkeys(self.rules, 10**6)
        changed = True
        while changed:
            changed = False
            for name, every in self.rules.items():
                least = min(_length(one, lengths) for one in every)
                changed = changed or least < lengths[name]
                lengths[name] = min(least, lengths[name])
        return lengths


def _tokens(text: str) -> list[tuple[str, str]]:
    found, position = [], 0
    while position < len(text.rstrip()):
        match = _TOKEN.match(text, position)
        assert match is not None, text[position:]
        assert match.lastgroup is not None
        found.append((match.lastgroup, match[match.lastgroup]))
        position = match.end()
    return found


def _limits(times: str) -> tuple[int, int | None]:
    low, comma, high = times[1:-1].partition(",")
    return int(low), (int(high) if high else None) if comma else int(low)


def _plain(escaped: str) -> str:
    return _ESCAPE.sub(
        lambda found: chr(int(found[1], 16)) if found[1] else _CONTROLS.get(found[2], found[2]),
        escaped,
    )


def _class(inside: str) -> Chars:
    negated = inside.startswith("^")
    ranges = re.findall(
        r"((?:\\x..|\\.|[^\\]))(?:-((?:\\x..|\\.|[^\\])))?", inside[negated:], re.DOTALL
    )
    return Chars(tuple((_plain(low), _plain(high or low)) for low, high in ranges), negated)


def _terminal(stack: tuple[Sequence, Stack]) -> Chars:
    head = stack[0][0]
    assert isinstance(head, Chars)
    return head


def _length(sequence: Sequence, lengths: dict[str, int]) -> int:
    return sum(1 if isinstance(part, Chars) else lengths[part] for part in sequence)


def _some(chars: Chars, rng: random.Random) -> str:
    """Pick a character of a class, a troublesome one where it may be."""
    if chars.negated:
        return rng.choice([one for one in _SAMPLED if one in chars])
    low, high = rng.choice(chars.ranges)
    return chr(rng.randint(ord(low), ord(high)))
