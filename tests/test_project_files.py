"""What no file of the project may say: where it was written, and where packages come from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = [".ci", "benchmarks", "docs", "examples", "integrations", "loopguard_core", "tests"]
AT_THE_TOP = ["*.md", "*.toml", ".gitignore", "LICENSE", "Makefile"]
BINARY = {".gif", ".gz", ".png", ".pyc"}

# In two parts, so that this file names none of them either.
_HOSTS = [
    ("pypi", "org"),
    ("pythonhosted", "org"),
    ("npmjs", "org"),
    ("npmjs", "com"),
    ("debian", "org"),
    ("golang", "org"),
    ("anaconda", "org"),
    ("crates", "io"),
]

FORBIDDEN = {
    "a package registry's host": "|".join(rf"\b{name}\.{end}\b" for name, end in _HOSTS),
    "an absolute home path": r"(?<![\w.])/(?:home|Users)/\w|(?<![\w.])/root/\w",
    "a folder outside the project": r"(?<![\w./])\.\./\w",
}


def project_files() -> list[Path]:
    """Return the text files of the project; tests/data holds what models and tools said."""
    files = [file for pattern in AT_THE_TOP for file in ROOT.glob(pattern)]
    for folder in FOLDERS:
        files += (file for file in (ROOT / folder).rglob("*") if file.is_file())
    data = ROOT / "tests" / "data"
    return sorted(f for f in files if f.suffix not in BINARY and data not in f.parents)


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_names(what: str) -> None:
    """The project names no registry, no one's home and nothing outside itself."""
    pattern = re.compile(FORBIDDEN[what])
    found = [
        f"{file.relative_to(ROOT)}:{number}: {match.group()}"
        for file in project_files()
        for number, line in enumerate(file.read_text("utf-8").split("\n"), start=1)
        if (match := pattern.search(line))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("a package registry's host", "https://" + "pypi" + ".org/simple"),
        ("a package registry's host", "files." + "pythonhosted" + ".org"),
        ("an absolute home path", "open('/" + "home/ann/x')"),
        ("an absolute home path", "/" + "Users/ann"),
        ("an absolute home path", "cd /" + "root/project"),
        ("a folder outside the project", "see .." + "/elsewhere/x"),
    ],
)
def test_the_patterns_find(what: str, text: str) -> None:
    """Each pattern finds what it is for."""
    assert re.search(FORBIDDEN[what], text)


@pytest.mark.parametrize(
    "text", ["pip install loopguard-core", "src/home/page.html", "https://example.com/root/x"]
)
def test_the_patterns_leave_alone(text: str) -> None:
    """Ordinary text is not forbidden."""
    assert not any(re.search(pattern, text) for pattern in FORBIDDEN.values())
