"""Healthy texts that a guard must never cut, although they repeat much."""

from __future__ import annotations

import json
from itertools import product

import pytest

from .writing import Writer, first_report

_w = Writer(2)


def _join(template: str, count: int, *, start: int = 0) -> str:
    return "".join(template.format(i=i) for i in range(start, start + count))


def _table() -> str:
    rows = (f"| {i} | Item {i} | {_w.number()}.00 | in stock |\n" for i in range(200))
    return "| id | name | price | status |\n| --- | --- | --- | --- |\n" + "".join(rows)


def _json_objects() -> str:
    thing = {"status": "active", "description": "A short text about this one.", "tags": ["a", "b"]}
    return json.dumps([{"id": i, "name": f"Item {i}", **thing} for i in range(80)], indent=2)


def _unit_tests() -> str:
    return "".join(
        f"def test_add_{i}():\n"
        '    """Check that the function returns the right value."""\n'
        f"    result = add({i}, {_w.number()})\n"
        f"    assert result == {i + 3}\n\n"
        for i in range(40)
    )


def _song(refrains: int) -> str:
    refrain = (
        "Oh the river runs on to the sea,\nand the wind it is calling for me,\n"
        "so I sing as I go\nthrough the rain and the snow,\nOh the river runs on to the sea.\n\n"
    )
    verses = ("".join(_w.line(6) + ",\n" for _ in range(4)) + "\n" + refrain for _ in range(12))
    return "".join(verses) + refrain * refrains


def _hex_dump(*, zeros: bool) -> str:
    def row() -> str:
        return " ".join("0000" if zeros else f"{_w.number(65535):04x}" for _ in range(8))

    return "".join(f"{i * 16:08x}: {row()}  ................\n" for i in range(200))


def _matrix(size: int, cell: str, separator: str, opening: str, closing: str) -> str:
    return (opening + separator.join([cell] * size) + closing + "\n") * size


def _proof_by_numbers() -> str:
    return "".join(
        f"**Case {i}: n = {i} mod 17.**\nThen n = 17k + {i} for some integer k. So the square is "
        f"289k^2 + {34 * i}k + {i * i}. Hence its remainder is {i * i % 17}. This is consistent "
        "with the claim. So the claim holds in this case.\n\n"
        for i in range(17)
    )


def _proof_by_cases() -> str:
    return "".join(
        f"Suppose that A is {a}, B is {b}, C is {c} and D is {d}. Then the first statement is "
        "false. So the conjunction is false as well. This contradicts what we assumed.\n\n"
        for a, b, c, d in product(("true", "false"), repeat=4)
    )


def _restated() -> str:
    solution = _w.prose(1800)
    return f"{_w.prose(6000)}{solution}\n\n**Solution**\n\n{solution}\n\nSo the answer is 42."


def _snippets() -> str:
    return "".join(
        f"{_w.sentence()}\n```python\nimport numpy as np\nimport pandas as pd\n"
        + "".join(f"{_w.word()} = {_w.word()}({_w.number()})\n" for _ in range(4))
        + "```\n"
        for _ in range(6)
    )


def _tracebacks() -> str:
    return "".join(
        f"____ test_{_w.word()}_{i} ____\n\n    def run(self):\n"
        '        """Run the thing and return the result of it."""\n'
        ">       value = self.inner.compute(self.x, self.y)\n"
        "E       AttributeError: object has no attribute inner\n\n"
        "src/app/core.py:40: AttributeError\n"
        for i in range(25)
    )


def _recursion() -> str:
    frames = "".join(
        f'  File "app/{name}.py", line {line}, in {name}\n    return self.{name}(value, other)\n'
        for name, line in (("visit", 40), ("enter", 71), ("leave", 13), ("match", 29))
    )
    return "Traceback (most recent call last):\n" + frames * 12 + "RecursionError: too deep\n"


def _docstrings() -> str:
    return "".join(
        f"    def {prefix}{name}(self, query: str, k: int = 4) -> list[Document]:\n"
        f'        """{prefix.title()}{name} the documents.\n\n        Args:\n'
        "            query: Text to look up documents similar to.\n"
        "            k: Number of documents to return at most.\n"
        "            **kwargs: Arguments to pass to the search method.\n\n"
        "        Returns:\n            List of documents that the search found.\n"
        '        """\n        return self.store.search(query, k)\n\n'
        for name in ("find", "rank", "score", "list", "embed", "count")
        for prefix in ("", "a", "try_")
    )


def _old_lady() -> str:
    animals = ["fly", "spider", "bird", "cat", "dog", "goat", "cow", "horse"]
    verses = []
    for i, animal in enumerate(animals):
        pairs = zip(animals[i:0:-1], animals[i - 1 :: -1], strict=False) if i else ()
        chain = "".join(f"She swallowed the {big} to catch the {small},\n" for big, small in pairs)
        verses.append(
            f"There was an old lady who swallowed a {animal},\n{chain}"
            "I don't know why she swallowed a fly,\nPerhaps she'll die!\n\n"
        )
    return "".join(verses)


HEALTHY = {
    "prose": _w.prose(40_000),
    "chinese-prose": "".join(
        chr(0x4E00 + _w.number(300)) + "。" * (i % 12 == 11) for i in range(3000)
    ),
    "table": _table(),
    "table-of-equal-values": _join("| {i} | 20 | calm |\n", 100),
    "table-without-content": "| | | | |\n" * 40,
    "json-objects": _json_objects(),
    "json-objects-on-lines": _join('{{"id": {i}, "name": "Item", "active": true}}\n', 80),
    "numbered-list": "".join(f"{i}. {_w.sentence()}\n" for i in range(1, 101)),
    "labels": _join("{i}. positive\n", 50, start=1),
    "labels-without-numbers": "positive\n" * 20 + "negative\n" * 14,
    "column-of-booleans": "true\n" * 30,
    "unit-tests": _unit_tests(),
    "log-with-times": _join("2024-05-01 12:00:{i:02} INFO worker heartbeat ok\n", 60),
    "log-with-seconds": _join("[17145600{i:02}] INFO worker heartbeat ok, nothing to do\n", 60),
    "equal-log-lines": "[INFO] Connection established to the server\n" * 20,
    "equal-log-sentences": "2024-05-01 12:00:00 INFO heartbeat ok, nothing to do.\n" * 12,
    "dividers": ("-" * 80 + "\n\n" + "=" * 200 + "\n\n" + "─" * 120 + "\n\n" + "* * * " * 30) * 3,
    "refrain": _song(0),
    "refrain-three-times-at-the-end": _song(2),
    "chant": "Na na na na na na na\n" * 16 + "hey there\n" + "Na na na na na na na\n" * 8,
    "bottles": _join("{i} bottles of beer on the wall.\nTake one down and pass it around.\n", 99),
    "song-that-grows": _old_lady(),
    "csv": "t,x,y\n" + "".join(f"{i},{_w.number()}.5,{_w.number()}\n" for i in range(400)),
    "csv-of-equal-values": _join("{i},0.0,1.0\n", 400),
    "csv-of-equal-rows": "0.0,1.0,0\n" * 60,
    "hex-dump": _hex_dump(zeros=False),
    "hex-dump-of-zeros": _hex_dump(zeros=True),
    "hex-without-places": ("00 " * 16 + "\n") * 100 + ("ff " * 16 + "\n") * 64,
    "zero-matrix": _matrix(20, "0", " ", "", ""),
    "large-zero-matrix": _matrix(90, "0", ", ", "    [", "],"),
    "zero-matrix-of-floats": _matrix(50, "0.", " ", " [", "]"),
    "zero-matrix-on-one-line": _matrix(16, "0", ", ", "[", "], ").replace("\n", ""),
    "zero-matrix-in-latex": _matrix(20, "0", " & ", "", r" \\"),
    "board": _matrix(8, "False", ", ", "  [", "],") * 4,
    "vector": "[" + ", ".join(["0"] * 256) + "]",
    "sum-of-ones": "1" + " + 1" * 100,
    "digits-of-a-number": "".join(str(_w.number(9)) for _ in range(3000)),
    "a-third": "1/3 = 0." + "3" * 200,
    "image-in-base64": "data:image/png;base64," + "A" * 200 + "".join(map(chr, range(65, 91))) * 4,
    "row-of-emoji": ("🟦" * 30 + "\n") * 30,
    "import-lines": _snippets(),
    "proof-by-numbers": _proof_by_numbers(),
    "proof-by-cases": _proof_by_cases(),
    "solution-restated": _restated(),
    "tracebacks": _tracebacks(),
    "recursion": _recursion(),
    "docstrings": _docstrings(),
    "passes": _join("Pass {i}\n", 40),
    "contents": "".join(f"{i}. {_w.line(5)} {'.' * 60} {i}\n" for i in range(40)),
    "form": "".join(f"{_w.word().title()}: {'_' * 60}\n" for _ in range(40)),
    "html-table": "<table>\n" + _join("<tr><td>{i}</td><td>x</td><td></td></tr>\n", 60),
    "html-table-without-content": "<table>\n" + "  <tr><td></td><td></td><td></td></tr>\n" * 10,
    "yaml": "".join(
        f"- name: {_w.word()}\n  image: app:latest\n  restart: always\n  env:\n    - LEVEL=info\n"
        for _ in range(40)
    ),
    "sql": _join("INSERT INTO users (id, active) VALUES ({i}, true);\n", 100),
    "questions": "".join(
        f"**Can I use {_w.word()} with {_w.word()}?**\nYes, you can. Please see the documentation "
        "for details.\n\n"
        for _ in range(25)
    ),
    "descriptions": "".join(
        f"The {_w.line(2)} is a great choice for families.\n" for _ in range(40)
    ),
    "assembly": "".join(f"    mov eax, {_w.number()}\n    call print_int\n" for _ in range(60)),
    "progress-bar": "".join(f"[{'#' * i}{' ' * (60 - i)}] {i}%\n" for i in range(61)),
    "wide-indents": "".join(" " * 120 + _w.sentence() + "\n" for _ in range(30)),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_it_is_never_cut(name: str) -> None:
    """Whatever healthy replies repeat at length leads to no cut."""
    assert first_report(HEALTHY[name]) is None


@pytest.mark.parametrize("name", HEALTHY)
def test_it_is_never_cut_in_the_arguments_of_a_call(name: str) -> None:
    """Nor where it is written into a file, as a JSON string."""
    arguments = json.dumps({"path": "out", "content": HEALTHY[name]}, ensure_ascii=False)
    assert first_report(arguments, "tool:write arguments") is None
