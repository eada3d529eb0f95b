"""Text run: churn, and healthy texts of every kind."""

from __future__ import annotations

import pytest

from loopguard_core.thread import TextRunOptions, has_repeated_text_run

CHURN = {
    "four sentences over and over": "Let me look. I will check. Now the test. Ok then. " * 5,
    "lines": "waiting\n" * 20,
    "punctuation and case vary": "I see. I see! i see? I SEE...\n" * 3,
    "behind healthy text": "".join(f"Sentence number {n}. " for n in range(80)) + "Again. " * 60,
    "half are new": "".join(f"Go on. Step {n}. " for n in range(7)) + "Go on. Go on.",
    "halves of a pair are separators": "\ud83dwait\ude00. wait\ud83d! " * 5,
    "Kelvin is a k": "\u212a. k. " * 5,
}

HEALTHY = {
    "empty": "",
    "short": "No. No. No.",
    "prose": "The log is long. It names one file. That file is new. I read it. It sets a flag. "
    "The flag is wrong. I turn it off. The test passes now. I will run the rest.",
    "numbered": "".join(f"{n}. Install part {n}.\n" for n in range(30)),
    "no sentence ends": "let me check again " * 200,
    "no ASCII letters": "снова. снова. снова. " * 10,
    "rows of a table": "\n".join(f"| {n} | {n * n} |" for n in range(40)),
    "code": "def f(a):\n    return a\n\ndef g(b):\n    return b\n\nprint(f(1), g(2))\nprint(h)\n",
}


@pytest.mark.parametrize("text", CHURN.values(), ids=CHURN.keys())
def test_churn(text: str) -> None:
    """At most half of the last units are different: a run."""
    assert has_repeated_text_run(text)


@pytest.mark.parametrize("text", HEALTHY.values(), ids=HEALTHY.keys())
def test_healthy(text: str) -> None:
    """Texts that get somewhere are none."""
    assert not has_repeated_text_run(text)


@pytest.mark.parametrize("text", [None, 3, b"ok. " * 20, ["ok. " * 20]])
def test_no_text(text: object) -> None:
    """What is no string is no run."""
    assert not has_repeated_text_run(text)


def test_only_the_last_4000_characters_count() -> None:
    """A run that ended 4,000 characters ago is forgotten; a cut word is a unit of its own."""
    assert has_repeated_text_run("again. " * 20 + "x" * 3900)
    assert not has_repeated_text_run("again. " * 20 + "x" * 4000)


@pytest.mark.parametrize(
    ("options", "run"),
    [
        (TextRunOptions(), False),
        (TextRunOptions(min_units=4), True),
        (TextRunOptions(min_units=4, max_unique_ratio=0.1), False),
        (TextRunOptions(min_units=5), False),
    ],
)
def test_options(options: TextRunOptions, run: bool) -> None:
    """Four equal units are a run where four are asked for."""
    assert has_repeated_text_run("ok. ok. ok. ok.", options) is run


def test_the_window_is_the_last_units() -> None:
    """Older units than the window holds do not count."""
    text = "ok. " * 40 + "".join(f"New {n}. " for n in range(8))
    assert has_repeated_text_run(text)
    assert not has_repeated_text_run(text, TextRunOptions(window=8))
