"""What the import says where only a part of the framework is there; see also `test_public_api`."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

INSTALL = 'pip install "loopguard-core[llamaindex]"'
BROKEN = "import a_package_that_llama_index_forgot_to_require\n"


def import_error(before: str) -> str:
    """Run *before*, import the package in a new interpreter, and return the error's text."""
    program = f"""
        import sys
        {before}
        try:
            import loopguard_llamaindex
        except ImportError as error:
            print(error)
    """
    run = subprocess.run(  # noqa: S603 - our own interpreter and our own program
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True
    )
    return run.stdout


def test_an_absent_framework_is_named_with_its_extra() -> None:
    """Whichever part is missed first, the extra is what installs it."""
    assert INSTALL in import_error("sys.modules['llama_index'] = None")
    assert INSTALL in import_error("sys.modules['llama_index.core'] = None")


def test_a_broken_framework_says_so_itself(tmp_path: Path) -> None:
    """Installing the extra would not mend it, so its own error comes out unchanged."""
    (tmp_path / "llama_index").mkdir()
    (tmp_path / "llama_index" / "__init__.py").write_text(BROKEN)
    text = import_error(f"sys.path.insert(0, {str(tmp_path)!r})")
    assert "a_package_that_llama_index_forgot_to_require" in text
    assert INSTALL not in text


def test_a_folder_of_that_name_is_no_framework(tmp_path: Path) -> None:
    """A user's own `llama_index.py` in the path is as good as none."""
    (tmp_path / "llama_index.py").write_text("")
    assert INSTALL in import_error(f"sys.path.insert(0, {str(tmp_path)!r})")
