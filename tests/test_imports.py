"""Imports go one way, and the core stands alone. Read from the sources, not from what ran."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = ROOT / "loopguard_core"
ADAPTERS = sorted((ROOT / "integrations").glob("*/loopguard_*"))

_FOUNDATION = {"errors", "fingerprint", "message", "tokens"}
_DETECTORS = {"converge", "progress", "reply", "thread", "tool_loop"}
_GUARD = _FOUNDATION | _DETECTORS | {"guard"}
_REST = _GUARD | {"agent", "transcripts"}

MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "fingerprint": {"errors"},
    "message": {"errors"},
    "tokens": {"errors", "fingerprint", "message"},
    **dict.fromkeys(_DETECTORS, _FOUNDATION),
    "guard": _FOUNDATION | _DETECTORS,
    "agent": _GUARD,
    "transcripts": {"errors", "message"},
    "report": _REST,
    "cli": _REST | {"report"},
    "__init__": _GUARD,
}
"""What each part of the core may import of the others. A new part has to find its place here."""

DEPENDENCIES = {"pydantic", "snowballstemmer", "tiktoken"}
EXTRAS = {
    "agent": {"jsonschema", "openai", "opentelemetry", "referencing"},
    "report": {"rich", "typer"},
}
"""What a part may import of others' packages: the dependencies, and its own extra."""

FRAMEWORKS = {"agents", "langchain", "langchain_core", "langgraph", "llama_index", "openai"}
OUTSIDERS = (
    FRAMEWORKS
    | {"jsonschema", "opentelemetry", "referencing", "rich", "typer"}
    | {adapter.name for adapter in ADAPTERS}
)


def imported_modules(file: Path) -> set[str]:
    """Return the dotted names that *file* imports, also inside functions and for types alone."""
    package = file.relative_to(ROOT).with_suffix("").parts[:-1]
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        match node:
            case ast.Import():
                names |= {alias.name for alias in node.names}
            case ast.ImportFrom(level=0, module=str(module)):
                names |= {f"{module}.{alias.name}" for alias in node.names}
            case ast.ImportFrom(level=level):
                start = ".".join([*package[: len(package) - level + 1], *_words(node.module)])
                names |= {f"{start}.{alias.name}" for alias in node.names}
            case _:
                pass
    return names


def _words(module: str | None) -> list[str]:
    return [module] if module else []


def part_of(file: Path) -> str:
    """Return the part of the core that *file* belongs to: a package, or a module at the top."""
    return file.relative_to(CORE).with_suffix("").parts[0]


def _id(file: Path) -> str:
    return str(file.relative_to(ROOT))


CORE_FILES = sorted(CORE.rglob("*.py"))
ADAPTER_FILES = sorted(file for adapter in ADAPTERS for file in adapter.rglob("*.py"))


@pytest.mark.parametrize("file", CORE_FILES, ids=_id)
def test_parts_import_one_way(file: Path) -> None:
    """A part of the core imports itself and what lies below it, nothing beside or above it."""
    part = part_of(file)
    assert part in MAY_IMPORT, f"say in MAY_IMPORT where {part} belongs"
    ours = [name.split(".") for name in imported_modules(file) if name.startswith("loopguard_core")]
    assert {name[1] for name in ours} <= MAY_IMPORT[part] | {part}


@pytest.mark.parametrize("file", CORE_FILES, ids=_id)
def test_the_core_imports_its_dependencies_alone(file: Path) -> None:
    """Nothing in the core imports a framework or an adapter; an extra serves its own part."""
    roots = {name.partition(".")[0] for name in imported_modules(file)}
    foreign = roots - sys.stdlib_module_names - {"loopguard_core"}
    assert foreign <= DEPENDENCIES | EXTRAS.get(part_of(file), set())


@pytest.mark.parametrize("file", ADAPTER_FILES, ids=_id)
def test_adapters_do_not_know_each_other(file: Path) -> None:
    """An adapter imports the core and its own framework, and no other adapter."""
    own = file.relative_to(ROOT / "integrations").parts[1]
    roots = {name.partition(".")[0] for name in imported_modules(file)}
    assert {root for root in roots if root.startswith("loopguard_")} <= {"loopguard_core", own}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from .errors import A", {"loopguard_core.thread.errors.A"}),
        ("from ..errors import A", {"loopguard_core.errors.A"}),
        ("from .. import errors, message", {"loopguard_core.errors", "loopguard_core.message"}),
        ("import openai.types", {"openai.types"}),
        ("from loopguard_core import guard", {"loopguard_core.guard"}),
        ("def f():\n    import rich", {"rich"}),
        ("if TYPE_CHECKING:\n    from rich.text import Text", {"rich.text.Text"}),
    ],
)
def test_every_form_of_import_is_read(
    source: str, expected: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader above sees relative, nested and typing-only imports."""
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    file = tmp_path / "loopguard_core" / "thread" / "suffix.py"
    file.parent.mkdir(parents=True)
    file.write_text(source, "utf-8")
    assert imported_modules(file) == expected


def test_importing_the_core_loads_no_framework() -> None:
    """In a fresh interpreter the core brings none of the frameworks, nor the command's extra."""
    parts = [
        f"loopguard_core.{part}"
        for part in sorted(_GUARD | {"agent", "transcripts"})
        if (CORE / part).with_suffix(".py").exists() or (CORE / part).is_dir()
    ]
    program = f"import sys, {', '.join(['loopguard_core', *parts])}; print(*sys.modules)"
    run = subprocess.run(  # noqa: S603 - our own interpreter and our own program
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in run.stdout.split()}
    assert loaded & OUTSIDERS == set()
