"""A run's state as it is saved: JSON values, one version number, a bound on its size."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from loopguard_core.errors import InvalidInputError

from .calls import CallLedger
from .escalation import Standing
from .verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["RunSnapshot", "naming"]


class RunSnapshot(BaseModel):
    """Everything `LoopGuard.resume` needs to go on with identical verdicts.

    Its parts bound it: 24 open calls, 24 checked ones, and what the detectors keep (digests of
    512 messages, of 30 finished calls, of the calls in a window of iterations), together below
    64 kB as JSON.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Literal[1] = 1
    run_id: str
    step: int
    threads_checked: bool
    results_since_step: bool
    thread_verdict: Verdict
    calls: CallLedger
    standing: Standing
    thread: dict[str, object]
    tool_loop: dict[str, object]
    converge: dict[str, object]

    @classmethod
    def read(cls, snapshot: Mapping[str, object]) -> Self:
        """Read what `GuardedRun.snapshot` returned.

        Raises:
            InvalidInputError: It is something else, or of a version this release cannot read.
        """
        with naming("snapshot"):
            return cls.model_validate(snapshot)


@contextmanager
def naming(part: str) -> Iterator[None]:
    """Turn a validation error into one that names the field below *part*, and its value."""
    try:
        yield
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join([part, *map(str, first["loc"])])
        raise InvalidInputError(field, first["input"], first["msg"].lower()) from error
