"""`loopguard scan`: rows on stdout, complaints on stderr, and an exit code that says it all."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from loopguard_core import cli

from ..conftest import needs  # noqa: TID252 - tests are no installed package

if TYPE_CHECKING:
    from collections.abc import Callable

needs_cli = needs("typer")

HEALTHY = {"id": "fine", "messages": [{"role": "user", "content": "hi"}]}
CALL = {"id": "c", "function": {"name": "search", "arguments": '{"q": "x"}'}}
ROUND: list[dict[str, Any]] = [
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c", "content": "nothing found"},
]
STUCK: dict[str, Any] = {
    "id": "stuck",
    "messages": [{"role": "user", "content": "go"}, *ROUND * 10],
}
LOOPING_REPLY = {"id": "churn", "text": "Let me call lint once more. " * 120}


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: object
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Every line of stdout, which must be JSON."""
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def loopguard(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ran]:
    """Run the command in this process."""

    def run(*arguments: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["loopguard", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capsys.readouterr()
        return Ran(ended.value.code, captured.out, captured.err)

    return run


@pytest.fixture
def save(tmp_path: Path) -> Callable[..., Path]:
    """Write rows to a file, one a line; a string is written as it is."""

    def write(*rows: object, name: str = "runs.jsonl") -> Path:
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        path = tmp_path / name
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        return path

    return write


@needs_cli
@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([HEALTHY], 0),
        ([HEALTHY, STUCK], 1),
        ([LOOPING_REPLY], 1),
        (["{half a row", HEALTHY], 2),
        (["{half a row", STUCK], 2),
        ([], 2),
    ],
    ids=["healthy", "loop", "looping-reply", "unreadable", "loop-and-unreadable", "empty"],
)
@pytest.mark.parametrize("options", [[], ["--json"]], ids=["terminal", "json"])
def test_exit_codes(
    loopguard: Callable[..., Ran],
    save: Callable[..., Path],
    rows: list[object],
    code: int,
    options: list[str],
) -> None:
    """0 without a loop, 1 with one, 2 if anything could not be read; 2 wins."""
    assert loopguard("scan", save(*rows), *options).code == code


@needs_cli
def test_json_is_all_there_is_on_stdout(
    loopguard: Callable[..., Ran], save: Callable[..., Path]
) -> None:
    """Each readable run is a line of JSON, looping or not; complaints go elsewhere."""
    path = save(HEALTHY, "{half a row", STUCK, {"messages": 3}, LOOPING_REPLY)
    ran = loopguard("scan", path, "--json")
    assert [(row["run"], row["looping"]) for row in ran.rows] == [
        ("fine", False),
        ("stuck", True),
        ("churn", True),
    ]
    assert {row["source"] for row in ran.rows} == {str(path)}
    assert ran.err.splitlines() == [
        f"{path}:2: not JSON: Expecting property name enclosed in double quotes (column 2)",
        f"{path}:4: messages: expected a list, got a number",
    ]


@needs_cli
def test_several_files(loopguard: Callable[..., Ran], save: Callable[..., Path]) -> None:
    """Files are scanned in the order in which they are named; one may be missing."""
    one, array = save(HEALTHY), save(STUCK["messages"], name="array.json")
    ran = loopguard("scan", array, one.with_name("none"), one.parent, one, "--json")
    assert ran.code == 2
    assert [row["run"] for row in ran.rows] == ["array", "fine"]
    assert ran.err.splitlines() == [
        f"{one.with_name('none')}: No such file or directory",
        f"{one.parent}: Is a directory",
    ]


@needs_cli
def test_the_terminal_view(loopguard: Callable[..., Ran], save: Callable[..., Path]) -> None:
    """The table names the runs that loop, and the last line sums up."""
    ran = loopguard("scan", save(HEALTHY, STUCK, LOOPING_REPLY))
    assert "stuck" in ran.out
    assert "churn" in ran.out
    assert "fine" not in ran.out
    assert ran.out.splitlines()[-1].startswith(
        "3 runs, 2 looping (strongest action: 2 halt); about"
    )
    assert ran.err == ""


@needs_cli
def test_the_terminal_view_without_loops(
    loopguard: Callable[..., Ran], save: Callable[..., Path]
) -> None:
    """Without loops there is one line."""
    assert loopguard("scan", save(HEALTHY)).out == "1 run, none loops\n"


@needs_cli
def test_text_from_a_file_commands_nothing(
    loopguard: Callable[..., Ran], save: Callable[..., Path]
) -> None:
    """Neither markup nor escape sequences in an id reach the terminal as such."""
    ran = loopguard("scan", save({**STUCK, "id": "[red]x\x1b[2J\ud83d"}))
    assert "[red]x" in ran.out
    assert "\x1b" not in ran.out


@needs_cli
def test_strict(loopguard: Callable[..., Ran], save: Callable[..., Path]) -> None:
    """With every detector on, the same call with new results is reported too."""
    poll = [{**message, "content": f"{n}%"} for n in range(12) for message in ROUND]
    for message in poll[::2]:
        message["content"] = None
    path = save({"id": "poll", "messages": [{"role": "user", "content": "go"}, *poll]})
    assert loopguard("scan", path).code == 0
    assert loopguard("scan", path, "--strict").code == 1


@needs_cli
def test_the_channel(loopguard: Callable[..., Ran], save: Callable[..., Path]) -> None:
    """Rows with text are watched on the channel that is named."""
    ran = loopguard("scan", save(LOOPING_REPLY), "--json", "--channel", "reasoning")
    assert ran.rows[0]["looping"]


@needs_cli
@pytest.mark.parametrize("arguments", [["scan"], ["scan", "--nonsense", "x"], ["nonsense"]])
def test_a_wrong_command_line(loopguard: Callable[..., Ran], arguments: list[str]) -> None:
    """What is no command is no clean bill of health either."""
    assert loopguard(*arguments).code == 2


@needs_cli
def test_the_installed_command(save: Callable[..., Path]) -> None:
    """The console script does the same in a process of its own."""
    path = save(HEALTHY, "{half a row", STUCK)
    script = Path(sys.executable).with_name("loopguard")
    ran = subprocess.run(  # noqa: S603 - our own command
        [script, "scan", path, "--json"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 2
    assert [json.loads(line)["run"] for line in ran.stdout.splitlines()] == ["fine", "stuck"]
    assert ran.stderr.startswith(f"{path}:2: not JSON")


@needs_cli
def test_progress_is_shown_on_a_terminal_only(save: Callable[..., Path]) -> None:
    """The bar goes to stderr, and only where somebody can see it move."""
    script = Path(sys.executable).with_name("loopguard")
    ours, theirs = pty.openpty()
    ran = subprocess.run(  # noqa: S603 - our own command
        [script, "scan", save(HEALTHY), "--json"],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
        check=False,
    )
    os.close(theirs)
    assert "runs.jsonl" in os.read(ours, 10_000).decode()
    os.close(ours)
    assert [json.loads(line)["run"] for line in ran.stdout.splitlines()] == ["fine"]


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_the_extra(
    loopguard: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    """Without the extra the command says how to get it, and that nothing was scanned."""
    for module in [name for name in sys.modules if name.partition(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, missing, None)
    for ours in ("command", "terminal"):
        monkeypatch.delitem(sys.modules, f"loopguard_core.report.{ours}", raising=False)
    ran = loopguard("scan", "x")
    assert ran.code == 2
    assert 'pip install "loopguard-core[cli]"' in ran.err


def test_the_core_needs_no_extra() -> None:
    """Readers, scan and rows are imported without typer and without rich."""
    code = (
        "import sys, loopguard_core.transcripts, loopguard_core.report, loopguard_core.cli; "
        "sys.exit(bool({'typer', 'rich'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603 - our own code
