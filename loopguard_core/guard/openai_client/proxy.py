"""`stand_in`: an object that passes for another one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Generic, Protocol, TypeAlias, TypeVar, cast

__all__ = ["AsyncProxy", "Proxy", "Seam", "SyncProxy", "stand_in"]

InnerT = TypeVar("InnerT")
Seam: TypeAlias = Callable[..., object]
"""Called with a member of the object, gives what stands in its place."""

_OWN: Final = frozenset({"_inner", "_is_over", "_reading", "_seams", "_take"})
"""What proxies keep on themselves; every other attribute is read from and set on the object."""


class _Context(Protocol):
    def __enter__(self) -> object: ...
    def __exit__(self, *error: object) -> bool | None: ...


class _AsyncContext(Protocol):
    async def __aenter__(self) -> object: ...
    async def __aexit__(self, *error: object) -> bool | None: ...


class Proxy(Generic[InnerT]):
    """Passes for the object it holds, also in `isinstance`, but for the members at *seams*.

    Frameworks that take a client ask whether it is an instance of the provider's class.

    Args:
        inner: The object.
        seams: By the name of a member, what makes its stand-in. A member that the object does not
            have is missing as ever. `__enter__` stands for what `with` gives, sync or async, if
            that is not the object itself.
    """

    _inner: InnerT

    def __init__(self, inner: InnerT, seams: Mapping[str, Seam]) -> None:
        self._inner = inner
        self._seams = seams

    def __getattr__(self, name: str) -> object:
        """Return a member of the object, or what stands in its place."""
        if name in _OWN:  # not set yet, as while a copy is made
            raise AttributeError(name)
        member = getattr(self._inner, name)
        seam = self._seams.get(name)
        return member if seam is None else seam(member)

    # typing.override, which mypy asks for here, came with Python 3.12
    def __setattr__(self, name: str, value: object) -> None:  # type: ignore[explicit-override]
        """Set an attribute of the object."""
        if name in _OWN:
            super().__setattr__(name, value)
        else:
            setattr(self._inner, name, value)

    @property  # type: ignore[misc]  # the class of an `object` can be set, this one cannot
    def __class__(self) -> type:  # type: ignore[explicit-override]  # as above
        """The class of the object."""
        return type(self._inner)

    def _entered(self, entered: object) -> object:
        """Return what stands in the place of what the object gave: itself for itself."""
        if entered is self._inner:
            return self
        seam = self._seams.get("__enter__")
        return entered if seam is None else seam(entered)


class SyncProxy(Proxy[InnerT]):
    """One of an object that `with` takes."""

    def __enter__(self) -> object:
        """Enter the object."""
        return self._entered(cast("_Context", self._inner).__enter__())

    def __exit__(self, *error: object) -> bool | None:
        """Leave the object."""
        return cast("_Context", self._inner).__exit__(*error)


class AsyncProxy(Proxy[InnerT]):
    """One of an object that `async with` takes."""

    async def __aenter__(self) -> object:
        """Enter the object."""
        return self._entered(await cast("_AsyncContext", self._inner).__aenter__())

    async def __aexit__(self, *error: object) -> bool | None:
        """Leave the object."""
        return await cast("_AsyncContext", self._inner).__aexit__(*error)


def stand_in(inner: object, seams: Mapping[str, Seam]) -> Proxy[object]:
    """Return a proxy that `with` takes as it takes *inner*."""
    if hasattr(inner, "__aenter__"):
        return AsyncProxy(inner, seams)
    return SyncProxy(inner, seams) if hasattr(inner, "__enter__") else Proxy(inner, seams)
