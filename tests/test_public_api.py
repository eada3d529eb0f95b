"""The public names: listed, sorted, real and documented in each public package."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from .conftest import FRAMEWORKS, needs

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]

CORE_PACKAGES = sorted(
    ".".join(file.parent.relative_to(ROOT).parts)
    for file in (ROOT / "loopguard_core").rglob("__init__.py")
)
ADAPTERS = [
    (folder.name, framework)
    for where, framework in FRAMEWORKS.items()
    for folder in (ROOT / "integrations" / where).glob("loopguard_*")
]
PACKAGES = [
    *(pytest.param(name, id=name) for name in CORE_PACKAGES),
    *(pytest.param(name, marks=needs(framework), id=name) for name, framework in ADAPTERS),
]


def test_every_adapter_is_known() -> None:
    """No folder of `integrations/` is missing from the table of frameworks."""
    assert sorted(FRAMEWORKS) == sorted(f.name for f in (ROOT / "integrations").iterdir())


@pytest.mark.parametrize("package", PACKAGES)
def test_all_equals_reality(package: str) -> None:
    """`__all__` lists each public name that the package holds, and no other."""
    module = import_module(package)
    held = {name for name, value in vars(module).items() if _is_public(name, value)}
    assert set(module.__all__) == held


def _is_public(name: str, value: object) -> bool:
    if name.startswith("_") or name == "annotations":  # the future import leaves that name
        return False
    return not isinstance(value, ModuleType)


@pytest.mark.parametrize("package", PACKAGES)
def test_all_is_sorted(package: str) -> None:
    """`__all__` holds constants, then classes, then functions, each by the alphabet."""
    names = import_module(package).__all__
    assert list(names) == sorted(names, key=_order)


def _order(name: str) -> tuple[int, str]:
    if name.isupper():
        return 0, name
    return 1 if name[0].isupper() else 2, name


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_are_documented(package: str) -> None:
    """Every public class, function, method and property says what it is for."""
    module = import_module(package)
    missing = [
        f"{name}{member}"
        for name in module.__all__
        for member, value in _documentable(getattr(module, name))
        if not _doc(value)
    ]
    assert missing == []


def _doc(value: object) -> str | None:
    """Return the docstring; a method that overrides one may inherit it, a class may not."""
    return value.__doc__ if inspect.isclass(value) else inspect.getdoc(value)


def _documentable(value: Any) -> Iterator[tuple[str, object]]:
    """Yield *value* and its own public members, if it is a class or function of ours."""
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return
    if not str(value.__module__).startswith("loopguard_"):
        return
    yield "", value
    for name, member in vars(value).items() if inspect.isclass(value) else ():
        if name.startswith("_"):
            continue
        if inspect.isroutine(member) or isinstance(member, (property, classmethod, staticmethod)):
            yield f".{name}", member


@pytest.mark.parametrize("adapter", ADAPTERS, ids=str)
@pytest.mark.parametrize("how", ["absent", "shadowed by an empty module"])
def test_a_missing_framework_names_the_extra(
    adapter: tuple[str, str], how: str, tmp_path: Path
) -> None:
    """An adapter without its framework, or with a stray module of that name, says what to do."""
    name, framework = adapter
    blocked = f"sys.modules[{framework!r}] = None"
    if how != "absent":
        (tmp_path / f"{framework}.py").touch()
        blocked = f"sys.path.insert(0, {str(tmp_path)!r})"
    run = subprocess.run(  # noqa: S603 - our own interpreter and our own program
        [sys.executable, "-c", f"import sys; {blocked}; import {name}"],
        capture_output=True,
        text=True,
        check=False,
    )
    extra = name.removeprefix("loopguard_").replace("_", "-")
    assert f"ImportError: loopguard's {framework} adapter needs" in run.stderr
    assert f'pip install "loopguard-core[{extra}]"' in run.stderr
