"""What the import says where only a part of the framework is there; see also `test_public_api`."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

BROKEN = "import a_package_that_agents_forgot_to_require\n"


def import_error(before: str) -> str:
    """Run *before*, import the package in a new interpreter, and return the error's text."""
    run = subprocess.run(  # noqa: S603 - our own interpreter and our own program
        [sys.executable, "-c", f"import sys; {before}; import loopguard_openai_agents"],
        capture_output=True,
        text=True,
        check=False,
    )
    return run.stderr


def test_a_package_of_the_same_name_is_not_taken_for_the_sdk(tmp_path: Path) -> None:
    """Many projects have an `agents` package of their own."""
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "__init__.py").write_text("class Agent: ...\n")
    text = import_error(f"sys.path.insert(0, {str(tmp_path)!r})")
    assert 'pip install "loopguard-core[openai-agents]"' in text


def test_a_broken_framework_says_so_itself(tmp_path: Path) -> None:
    """Installing the extra would not mend it, so its own error comes out unchanged."""
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "__init__.py").write_text(BROKEN)
    text = import_error(f"sys.path.insert(0, {str(tmp_path)!r})")
    assert "a_package_that_agents_forgot_to_require" in text
    assert "pip install" not in text
