"""A span is ended once, however the work ends."""

from __future__ import annotations

from typing import Self

import pytest

from loopguard_core.agent.tracing import span


class Log(list[str]):
    """A tracer and its spans at once: writes down what it is told."""

    def start(self, name: str) -> Self:
        """Write down a span's start."""
        self.append(f"start {name}")
        return self

    def set(self, key: str, value: str | int) -> Self:
        """Write down an attribute."""
        self.append(f"{key}={value}")
        return self

    def end(self) -> None:
        """Write down a good end."""
        self.append("end")

    def end_error(self, error: BaseException) -> None:
        """Write down the error."""
        self.append(f"error {error}")


def test_work_that_succeeds() -> None:
    """Attributes come in their order, then what the work adds, then the end."""
    log = Log()
    with span(log, "work", b=1, a="x") as started:
        started.set("more", 2)
    assert log == ["start work", "b=1", "a=x", "more=2", "end"]


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt("no")])
def test_work_that_fails(error: BaseException) -> None:
    """The error ends the span and goes on."""
    log = Log()
    with pytest.raises(type(error)), span(log, "work"):
        raise error
    assert log == ["start work", "error no"]


def test_without_a_tracer() -> None:
    """Nothing is traced, and a span can be used all the same."""
    with span(None, "work", a=1) as started:
        assert started.set("b", 2) is started
    with pytest.raises(ValueError, match="no"), span(None, "work"):
        raise ValueError("no")
