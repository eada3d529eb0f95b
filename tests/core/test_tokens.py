"""Token estimators: what is counted, where a vocabulary is looked for, and never the network."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import regex
import tiktoken
import tiktoken_ext.openai_public

from loopguard_core import tokens
from loopguard_core.errors import InvalidInputError
from loopguard_core.message import Message
from loopguard_core.tokens import (
    BLOCK_TOKENS,
    MESSAGE_TOKENS,
    MissingVocabularyError,
    chars_estimate,
    default_estimator,
    tiktoken_estimator,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# Every byte, and a few pairs: a whole vocabulary, only small.
RANKS = {bytes([byte]): byte for byte in range(256)} | {
    pair: 256 + rank for rank, pair in enumerate([b"ab", b"cd", b"abcd", b" a", b"er"])
}
DATA = b"\n".join(b"%s %d" % (base64.b64encode(token), rank) for token, rank in RANKS.items())


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make an empty cache, and stand in small vocabularies that lie nowhere on this machine."""
    for name in ("_CL100K", "_O200K"):
        small = replace(
            getattr(tokens, name),
            file=f"small{name}",
            sha256=hashlib.sha256(DATA).hexdigest(),
        )
        monkeypatch.setattr(tokens, name, small)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)

    def unreachable(*_: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(tiktoken, "get_encoding", unreachable)
    (tmp_path / "cache").mkdir()
    return tmp_path / "cache"


def _text(text: str) -> dict[str, object]:
    return {"type": "user", "text": text}


@pytest.mark.parametrize(
    ("message", "chars"),
    [
        ({}, 0),
        (_text(""), 0),
        (_text("a"), 1),
        (_text("abcd"), 4),
        (_text("abcde"), 5),
        (_text("日本語"), 3),
        (Message.reasoning("thinking"), 8),
        (Message.tool_request("ls", {"path": "/a"}), len('ls{"path":"/a"}')),
        (Message.tool_request("ls", "as it came"), len("lsas it came")),
        (Message.tool_request("ls", None), len("lsnull")),
        (Message.tool_response("ls", {"path": "/a"}, "two words"), len("lstwo words")),
        (Message.tool_response("ls", {}, {"a": [1]}), len('ls{"a":[1]}')),
        ({"type": "activity", "text": "unreadable", "meta": {"activity": 1}}, 10),
        ({"type": "user", "text": 7, "meta": {"any": "thing"}, "native": "x" * 99}, 0),
    ],
)
def test_what_is_counted(message: Mapping[str, object], chars: int) -> None:
    """Text, tool name, the arguments of a call and the result of a response; nothing else."""
    assert chars_estimate(message) == MESSAGE_TOKENS + -(-chars // 4)


@pytest.mark.parametrize(
    ("blocks", "count"),
    [([{"type": "image"}], 1), (({}, {}), 2), ([], 0), ("image", 0), (None, 0), (3, 0)],
)
def test_blocks_have_a_fixed_price(blocks: object, count: int) -> None:
    """Each block that is no text costs the same, however large what it stands for is."""
    message = {"type": "user", "text": "", "blocks": blocks}
    assert chars_estimate(message) == MESSAGE_TOKENS + count * BLOCK_TOKENS


def test_any_value_has_a_price() -> None:
    """What a tool was given, or returned, never makes an estimator fail."""
    circular: list[Any] = []
    circular.append(circular)
    for value in (circular, object(), b"\x00", {1, 2}, float("nan"), ValueError("x"), "\ud800"):
        assert chars_estimate(Message.tool_response("ls", {}, value)) > MESSAGE_TOKENS


def test_tiktoken_counts_from_its_own_cache(cache: Path) -> None:
    """A vocabulary in tiktoken's cache is used, without any other package."""
    (cache / "small_O200K").write_bytes(DATA)
    estimate = default_estimator()
    assert estimate(_text("abcd")) == MESSAGE_TOKENS + 1
    assert estimate(_text("abcdx abcd")) == MESSAGE_TOKENS + 4  # abcd, x, space, abcd
    assert estimate(Message.tool_request("ab", "cd")) == MESSAGE_TOKENS + 2
    assert estimate(_text("")) == MESSAGE_TOKENS


@pytest.mark.parametrize(
    ("package", "folder"),
    [
        ("llama_index", "core/_static/tiktoken_cache"),
        ("litellm", "litellm_core_utils/tokenizers"),
    ],
)
def test_a_copy_in_an_installed_package_is_found(
    package: str, folder: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package's copy is used without importing the package."""
    for name in ("llama_index", "litellm"):  # hides what is really installed
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise AssertionError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("llama_index", "litellm"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert default_estimator() is chars_estimate
    (tmp_path / package / folder).mkdir(parents=True)
    (tmp_path / package / folder / "small_O200K").write_bytes(DATA)
    assert default_estimator()(_text("abcd")) == MESSAGE_TOKENS + 1
    assert package not in sys.modules
    assert not list(cache.iterdir())


@pytest.mark.parametrize("damaged", [b"", b"garbage", DATA + b"\n"])
def test_a_damaged_vocabulary_is_not_used(damaged: bytes, cache: Path) -> None:
    """A file with another hash is passed over, left where it is, and used once it is mended."""
    (cache / "small_O200K").write_bytes(damaged)
    assert default_estimator() is chars_estimate
    assert (cache / "small_O200K").read_bytes() == damaged
    (cache / "small_O200K").write_bytes(DATA)
    assert default_estimator() is not chars_estimate


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"TIKTOKEN_CACHE_DIR": "one", "DATA_GYM_CACHE_DIR": "two"}, "one"),
        ({"DATA_GYM_CACHE_DIR": "two"}, "two"),
        ({"TIKTOKEN_CACHE_DIR": "", "DATA_GYM_CACHE_DIR": "two"}, None),
        ({}, "tmp/data-gym-cache"),
    ],
)
def test_where_tiktoken_keeps_its_cache(
    variables: dict[str, str],
    folder: str | None,
    cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The cache is looked for where tiktoken itself would; an empty name means there is none."""
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    for name, value in variables.items():
        monkeypatch.setenv(name, value and str(tmp_path / value))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    for each in ("one", "two", "tmp/data-gym-cache"):
        (tmp_path / each).mkdir(parents=True)
        if each != folder:
            (tmp_path / each / "small_O200K").write_bytes(b"the wrong place")
    if folder is not None:
        (tmp_path / folder / "small_O200K").write_bytes(DATA)
    assert (default_estimator() is chars_estimate) == (folder is None)
    assert not list(cache.iterdir())


@pytest.mark.parametrize(
    ("model", "file"),
    [
        (None, "small_O200K"),
        ("gpt-4o", "small_O200K"),
        ("gpt-5", "small_O200K"),
        ("gpt-4", "small_CL100K"),
        ("gpt-3.5-turbo-0125", "small_CL100K"),
        ("gpt-oss-120b", "small_O200K"),
        ("davinci", "small_O200K"),
        ("claude-opus-4", "small_O200K"),
        ("", "small_O200K"),
        ("a model that nobody knows", "small_O200K"),
    ],
)
def test_which_vocabulary_for_which_model(model: str | None, file: str, cache: Path) -> None:
    """The vocabulary is the one that tiktoken knows for a model, else the newest."""
    assert default_estimator(model) is chars_estimate
    (cache / file).write_bytes(DATA)
    assert default_estimator(model) is not chars_estimate


@pytest.mark.usefixtures("cache")
def test_the_network_is_asked_on_request_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a vocabulary the error says what to do; `allow_download` leaves it to tiktoken."""
    with pytest.raises(MissingVocabularyError, match=r"o200k_base .*allow_download=True"):
        tiktoken_estimator()
    assert default_estimator() is chars_estimate
    asked: list[str] = []

    def fetch(name: str) -> tiktoken.Encoding:
        asked.append(name)
        special = {"<|endoftext|>": 999}
        return tiktoken.Encoding(
            name, pat_str=r"\w+", mergeable_ranks=RANKS, special_tokens=special
        )

    monkeypatch.setattr(tiktoken, "get_encoding", fetch)
    estimate = tiktoken_estimator(allow_download=True)
    assert estimate(_text("abcd")) == MESSAGE_TOKENS + 1
    assert estimate(_text("<|endoftext|>")) > MESSAGE_TOKENS + 1
    assert asked == ["o200k_base"]


@pytest.mark.parametrize("make", [default_estimator, tiktoken_estimator])
@pytest.mark.parametrize("model", [7, ["gpt-4"], b"gpt-4"])
def test_a_model_that_is_no_name_is_refused(make: Any, model: object) -> None:
    """A model is a string or None; anything else is named in the error."""
    with pytest.raises(InvalidInputError, match="model: expected the name of a model"):
        make(model)


@pytest.mark.parametrize("text", ["<|endoftext|>", "\ud83d", "a\ud800b", "\x00", "é\u0301\u2028"])
def test_no_text_makes_tiktoken_fail(text: str, cache: Path) -> None:
    """What looks like a special token, and halves of surrogates, are text like any other."""
    (cache / "small_O200K").write_bytes(DATA)
    assert tiktoken_estimator()(_text(text)) > MESSAGE_TOKENS


@pytest.mark.parametrize("run", ["x", " ", "\n", "ab", "é"])
def test_a_long_run_is_counted_in_pieces(run: str, cache: Path) -> None:
    """A megabyte of one character is counted, and to the token where a cut splits nothing."""
    (cache / "small_O200K").write_bytes(DATA)
    estimate = tiktoken_estimator()
    short, long = (estimate(_text(run * n)) - MESSAGE_TOKENS for n in (1_000, 1_000_000))
    assert long == 1_000 * short


@pytest.mark.parametrize("name", ["_CL100K", "_O200K"])
def test_the_patterns_split_like_tiktokens(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our pattern for a vocabulary splits text as the pattern in the installed tiktoken does."""
    monkeypatch.setattr(
        tiktoken_ext.openai_public, "load_tiktoken_bpe", lambda *_args, **_options: RANKS
    )
    vocabulary = getattr(tokens, name)
    theirs = getattr(tiktoken_ext.openai_public, vocabulary.name)()["pat_str"]
    text = (
        "It's I'LL they'd o'clock HTTPServer camelCase x1234567890 éÉ Ǆǅ 日本語テキスト ١٢٣\n\n"
        "  def f(a, b):\r\n\treturn a//b  # …!?\n \n   \t trailing   \n/path//to/x\n...///\n 🙂👍🏽"
    )
    assert regex.findall(theirs, text) == regex.findall(vocabulary.pattern, text)


def test_importing_the_core_does_not_import_tiktoken() -> None:
    """Nothing imports tiktoken until an estimator is made."""
    program = (
        "import sys, loopguard_core, loopguard_core.tokens, loopguard_core.thread;"
        "print([name for name in sys.modules if name.split('.')[0] in ('tiktoken', 'regex')])"
    )
    run = subprocess.run(  # noqa: S603 - our own interpreter and our own program
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("text", "text"),
        ({"b": 1, "a": "x" * 5000}, '{"b":1,"a":"' + "x" * 5000 + '"}'),
        ([1, None, True], "[1,null,true]"),
        ("\u00e9", "\u00e9"),
    ],
)
def test_a_value_is_priced_as_the_text_that_is_sent(value: object, text: str) -> None:
    """A canonical form would shorten a long string to its digest, and price it so."""
    assert written(value) == text


@pytest.mark.parametrize("value", [{1, 2}, object(), {(1, 2): 3}, float("nan"), b"x"])
def test_what_json_cannot_hold_is_priced_all_the_same(value: object) -> None:
    """Nothing raises because of what a tool returned."""
    assert written(value)
    loop: list[object] = []
    loop.append(loop)
    assert written([loop, value])


def test_long_arguments_cost_what_they_are() -> None:
    """A file that is written by a call fills the window."""
    message = Message.tool_request("write", {"content": "word " * 4000})
    assert chars_estimate(message) > 4000
