"""The slots of a run's newest turn, in its `ctx.store`, as JSON values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from llama_index_instrumentation.dispatcher import active_instrument_tags

from loopguard_core.agent.transclusion import Slots

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workflows.context.state_store import StateStore

__all__ = ["begin_turn", "capture", "slots_in"]

_KEY: Final = "loopguard_slots"


async def begin_turn(store: StateStore[Any]) -> None:
    """Forget what an earlier turn captured."""
    if await store.get(_KEY, default=None) is not None:
        await store.set(_KEY, None)


async def slots_in(store: StateStore[Any]) -> Slots:
    """Return what was captured in the newest turn that captured anything."""
    kept = await store.get(_KEY, default=None)
    return Slots(kept["slots"] if kept else None)


async def capture(store: StateStore[Any], result: str) -> None:
    """Add the slots of a result; those of equal names are replaced, in the order of coming back.

    A turn begins where another run counts its steps from the beginning, as for guarded tools.
    """
    run_id = active_instrument_tags.get().get("llamaindex.run_id")
    steps = await store.get("num_iterations", default=0)
    # Not with `edit_state`, which puts a copy of everything in the store, also of the memory.
    kept: Mapping[str, Any] | None = await store.get(_KEY, default=None)
    is_same = kept is not None and (kept["run"] == run_id or steps > kept["steps"])
    slots = Slots(kept["slots"] if kept is not None and is_same else None)
    slots.capture(result)
    await store.set(_KEY, {"run": run_id, "steps": steps, "slots": slots.snapshot()})
