"""One server for all tests of this folder; each starts with nothing to stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .server import Provider, provider

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def _running() -> Iterator[Provider]:
    with provider() as server:
        yield server


@pytest.fixture
def server(_running: Provider) -> Iterator[Provider]:
    """The provider."""
    _running.reset()
    yield _running
    _running.reset()
