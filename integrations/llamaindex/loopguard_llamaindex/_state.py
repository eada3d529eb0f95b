"""One run's state, in `ctx.store`: alive while the run lives, plain JSON wherever it is saved."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias, cast
from weakref import WeakKeyDictionary

from pydantic import TypeAdapter
from typing_extensions import override

from loopguard_core import GuardedRun, LoopGuard, Message, Verdict

from ._log import RunLog

if TYPE_CHECKING:
    from collections.abc import ItemsView, Mapping, Sequence

    from workflows.context.state_store import StateStore

__all__ = [
    "Keeper",
    "RunState",
    "after_folding",
    "keeper_in",
    "load_same_step",
    "load_state",
    "load_step",
    "note_compaction",
    "save_state",
]

_KEY: Final = "loopguard"
_FOLDED_KEY: Final = "loopguard_folded"
_VERDICT: Final = TypeAdapter(Verdict)


Keeper: TypeAlias = Literal["agent", "tools"]
"""Who keeps a run's state: a guarded agent, or the guarded tools of one that is not."""


class RunState(dict[str, object]):
    """What is kept of a guarded run.

    To whoever saves it, it is a dict of JSON values, which are made when they are asked for: a
    snapshot costs more than everything else that the guard does in a step. It is shared by the
    copies that `edit_state` makes, as other live handles are.

    Attributes:
        guard: What the run was made with.
        is_held: True if the store holds this very object, as a store in memory does.
        run: The run.
        log: Its thread.
        calls: The calls that may run since the latest reply, as `[id, name, arguments]`.
        results: What came back of them, as `[id, name, arguments, result, is_error]`.
        said: The mark of what was said with them; see `said_with_handoff`.
        blocked: Calls that a person is asked about, by question, and what the model is told if
            the person does not allow them.
        free: How many equal calls beside them may run, by question.
        allowed: The questions that a person answered with yes.
        waiting: Calls of tools that wait for a person and will begin anew, by question, and
            what the model is told if they are refused; empty for those that wait by themselves.
        turn: Which turn it is, where tools keep the state because the agent is not guarded.
        halted: The verdict that should have ended the run, where a tool could not end it.
    """

    def __init__(self, guard: LoopGuard, saved: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        saved = saved or {}
        run = saved.get("run")
        self.guard = guard
        self.is_held = False
        self.run: GuardedRun = guard.resume(run) if run is not None else guard.start_run()
        self.log = RunLog(map(Message, saved.get("log", ())), saved.get("forgotten", 0))
        self.calls: list[list[Any]] = list(saved.get("calls", ()))
        self.results: list[list[Any]] = list(saved.get("results", ()))
        self.said: str = saved.get("said", "")
        self.blocked: dict[str, str] = dict(saved.get("blocked", {}))
        self.free: dict[str, int] = dict(saved.get("free", {}))
        self.allowed: list[str] = list(saved.get("allowed", ()))
        self.waiting: dict[str, str] = dict(saved.get("waiting", {}))
        self.turn: dict[str, Any] | None = saved.get("turn")
        halted = saved.get("halted")
        self.halted = None if halted is None else _VERDICT.validate_python(halted)

    def begin_turn(self, history: Sequence[Message], person: Sequence[Message]) -> None:
        """Take note that a person spoke.

        Args:
            history: The thread before, for a run that has not seen it.
            person: What the person said.
        """
        if history:
            self.log = RunLog()
            self.log.extend(history)
        self.run.begin_turn(self.log)
        self.forget_calls()
        self.waiting, self.halted = {}, None
        self.log.extend(person)
        self.log.forget()

    def forget_calls(self) -> None:
        """Forget the calls of the latest reply, which are answered."""
        self.calls, self.results = [], []
        self.blocked, self.free, self.allowed = {}, {}, []

    def judge_thread(self) -> Verdict:
        """Judge what is in the log."""
        verdict = self.run.check_thread(self.log)
        self.log.forget()
        return verdict

    @override
    def items(self) -> ItemsView[str, object]:  # type: ignore[override]  # the built-in view cannot be made
        """Return what is saved."""
        saved: dict[str, object] = {
            "run": self.run.snapshot(),
            "log": [dict(message) for message in self.log.newest],
            "forgotten": self.log.forgotten,
            "calls": self.calls,
            "results": self.results,
            "said": self.said,
            "blocked": self.blocked,
            "free": self.free,
            "allowed": self.allowed,
            "waiting": self.waiting,
            "turn": self.turn,
            "halted": self.halted and _VERDICT.dump_python(self.halted, mode="json"),
        }
        return saved.items()

    def __bool__(self) -> bool:
        """Return True: what has nothing to save until it is asked is not nothing."""
        return True

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self


_UNDERWAY: Final[WeakKeyDictionary[object, RunState]] = WeakKeyDictionary()
"""The state of the step under way, by a store that holds that very object."""


async def load_state(
    store: StateStore[Any], guard: LoopGuard, *, keeper: Keeper
) -> RunState | None:
    """Return what *keeper* keeps of the run that *store* belongs to; None if it keeps nothing.

    A run that another guard began, or that was saved, goes on with *guard*.
    """
    return _alive(await store.get(_KEY, default=None), guard, keeper)


async def load_step(store: StateStore[Any], guard: LoopGuard) -> tuple[RunState | None, bool]:
    """Return what an agent keeps of its run, and whether the run made a step before this one.

    A look at the store copies its whole state and searches it, so this is the only one of a step.
    """
    whole = await store.get_state()
    state = _alive(getattr(whole, _KEY, None), guard, "agent")
    with suppress(TypeError):  # a store of another kind, which cannot be held weakly
        if state is not None and state.is_held:
            _UNDERWAY[store] = state
        else:
            _UNDERWAY.pop(store, None)
    return state, getattr(whole, "num_iterations", None) != 0


async def load_same_step(store: StateStore[Any], guard: LoopGuard) -> RunState | None:
    """Return what `load_step` did for the step whose calls have come back."""
    with suppress(TypeError):
        state = _UNDERWAY.get(store)
        if state is not None and state.guard is guard:
            return state
    return await load_state(store, guard, keeper="agent")


def _alive(saved: object, guard: LoopGuard, keeper: Keeper) -> RunState | None:
    if saved is None or _keeper_of(cast("Mapping[str, Any]", saved)) != keeper:
        return None
    if isinstance(saved, RunState) and (saved.guard is guard or saved.guard == guard):
        saved.is_held = True
        return saved
    return RunState(guard, dict(cast("Mapping[str, Any]", saved).items()))


async def keeper_in(store: StateStore[Any]) -> Keeper | None:
    """Return who keeps the state of the run that *store* belongs to; None if nobody does."""
    saved = await store.get(_KEY, default=None)
    return None if saved is None else _keeper_of(saved)


def _keeper_of(saved: Mapping[str, Any]) -> Keeper:
    """Return who keeps a state, which may be alive or saved."""
    turn = saved.turn if isinstance(saved, RunState) else saved.get("turn")
    return "agent" if turn is None else "tools"


async def save_state(store: StateStore[Any], state: RunState) -> None:
    """Keep *state*, so that the next step and a saved context go on with it."""
    if not state.is_held:
        await store.set(_KEY, state)


async def note_compaction(store: StateStore[Any], guard: LoopGuard) -> None:
    """Take note that the history was folded, for the run that *store* belongs to.

    A run that goes on is told at once; one that is about to begin a turn, which forgets what was
    before, when it has.

    Args:
        store: The run's store.
        guard: What a run that was saved goes on with here.
    """
    saved = await store.get(_KEY, default=None)
    if saved is None or await store.get("num_iterations", default=0) == 0:
        await store.set(_FOLDED_KEY, True)
        return
    state = saved if isinstance(saved, RunState) else RunState(guard, dict(saved.items()))
    state.run.context_compacted()
    await store.set(_KEY, state)


async def after_folding(store: StateStore[Any], state: RunState) -> None:
    """Tell a run that has just begun a turn whether its history was folded for it."""
    if await store.get(_FOLDED_KEY, default=False):
        await store.set(_FOLDED_KEY, False)
        state.run.context_compacted()
