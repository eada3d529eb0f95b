"""What is taken out of a terminal's output before it is compared, and what is not."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from loopguard_core.tool_loop.cleaning import WHITE_SPACE, without_noise


@pytest.mark.parametrize(
    ("output", "cleaned"),
    [
        ("pid=1 out", "out"),
        ("PID:\n1 out", "out"),
        ("duration_ms = 5.25ms out", "out"),
        ("elapsed 3s out", "out"),
        ("session-id: ab-1 out", "out"),
        ("exit_code=0 out", "exit=0 exit_code=0 out"),
        ("out EXIT-CODE: -2", "exit=-2 out EXIT-CODE: -2"),
        ("exitcode=3 exitcode=4", "exit=3 exitcode=3 exitcode=4"),
        ("exit_code=x exit_code=4", "exit=4 exit_code=x exit_code=4"),
        ("a \t\r\n b", "a b"),
        ("a\u2003\u00a0\u0085b", "a b"),
        ("pid=12abc", "abc"),
        ("pid=1 pid=2 pid 3", ""),
        ("duration=1m30s", "30s"),
        ("duration=5.", "."),
        ("session_id=a,b\vc d", "d"),
        ("pid=1session_id=2 x", "x"),
        ("\u00e9pid=1 x", "\u00e9 x"),
    ],
)
def test_what_changes_each_time_goes(output: str, cleaned: str) -> None:
    """Ids and durations go, spacing is evened out, and an exit code is put in front."""
    assert without_noise(output) == cleaned


@pytest.mark.parametrize(
    "output",
    [
        "",
        "3 passed, 1 failed",
        "mypid=1",
        "rapid 7",
        "pidx=1",
        "pid=",
        "pid is 1",
        "pid\x1c1",
        "time 5ms",
        "elapsed_ms=5",
        "session id: no",
        "exit code: 7",
        "exit status 1",
        "\u00b2pid=\u0661",
        "p\u0131d=1",
        "\u017fe\u017f\u017fion_id=1",
        "a\x1cb\x1dc\x1ed\x1fe",
        "\x1ca",
        "a\u200bb",
    ],
)
def test_what_looks_similar_stays(output: str) -> None:
    """No word start, no value, another word, other digits: nothing is taken out."""
    assert without_noise(output) == output


def test_a_vertical_tab_is_white_space_but_separates_no_value() -> None:
    """Between words it is evened out, between a word and its value it is no separator."""
    assert without_noise("a\vb") == "a b"
    assert without_noise("pid\v1") == "pid 1"
    assert without_noise("exit_code\v1") == "exit_code 1"


def test_digits_that_differ_in_the_exit_code_still_count() -> None:
    """Two runs that end differently never look the same."""
    assert without_noise("exit_code=0 pid=4 x") != without_noise("exit_code=1 pid=5 x")


def test_white_space_is_the_unicode_property() -> None:
    """The set is Python's without the four separators U+001C to U+001F."""
    python = {chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()}
    assert set(WHITE_SPACE) == python - set("\x1c\x1d\x1e\x1f")
    assert {c for c in WHITE_SPACE if unicodedata.category(c) == "Zs"} <= set(WHITE_SPACE)
