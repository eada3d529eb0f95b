"""What a message costs in tokens: estimators that need no network.

An estimator is any callable from a message to a number of tokens. The ones here count the text,
the name of a tool, the arguments of a call and the result of a response, add a fixed price for
every block that is no text, and a few tokens for the message itself.

tiktoken counts exactly for OpenAI's models and closely for most others, but it fetches its
vocabularies from the network. Here they are taken from where they already are on the machine,
and checked by their hash: tiktoken's own cache, or a copy that an installed package ships.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import itertools
import json
import os
import tempfile
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from .errors import InvalidInputError, LoopguardError
from .fingerprint import canonical
from .message import ABSENT, activity_of, text_of

if TYPE_CHECKING:
    import tiktoken

__all__ = [
    "BLOCK_TOKENS",
    "MESSAGE_TOKENS",
    "Estimator",
    "MissingVocabularyError",
    "chars_estimate",
    "default_estimator",
    "tiktoken_estimator",
    "written",
]

Estimator: TypeAlias = Callable[[Mapping[str, object]], float]
"""Names the tokens of one message; fractions are fine."""

MESSAGE_TOKENS: Final = 4
"""The price of a message itself: its role and the marks around it."""

BLOCK_TOKENS: Final = 1_000
"""The price of one element of a message's `blocks` (an image, a file, a sound).

Nobody can read the true price off the message. An image of a megapixel costs 765 tokens at
OpenAI and about 1,300 at Anthropic; too low a guess would overflow the context window.
"""

_CHARS_PER_TOKEN: Final = 4
_JSON: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=canonical)
# tiktoken's work on a run without white space can grow faster than the run, and a million spaces
# make its pattern overflow the stack (0.14). A cut costs a token or two, so a long text comes out
# about 0.3% too high.
_PIECE_CHARS: Final = 2_000


class MissingVocabularyError(LoopguardError, LookupError):
    """tiktoken was asked for by name, and its vocabulary is not on this machine."""

    def __init__(self, vocabulary: str) -> None:
        self.vocabulary = vocabulary
        super().__init__(
            f"the vocabulary {vocabulary} is not on this machine: pass allow_download=True to "
            "fetch it, or use default_estimator, which does without"
        )


def chars_estimate(message: Mapping[str, object]) -> int:
    """Estimate a quarter of the characters, rounded up, plus blocks and overhead.

    Close for English and code, too low for Chinese and the like. Reads nothing but *message*.
    """
    chars = sum(map(len, _texts(message)))
    return -(-chars // _CHARS_PER_TOKEN) + _fixed_tokens(message)


def tiktoken_estimator(model: str | None = None, *, allow_download: bool = False) -> Estimator:
    """Make an estimator that counts with tiktoken; reading a vocabulary takes half a second.

    Args:
        model: What the messages are for. A name that tiktoken does not know, and None, count
            with the vocabulary of OpenAI's present models.
        allow_download: True lets tiktoken fetch a missing vocabulary, and keep it in its cache.

    Raises:
        MissingVocabularyError: The vocabulary is not on this machine and may not be fetched.
        InvalidInputError: *model* is neither a string nor None.
        Exception: Whatever a failed download raises, unchanged.
    """
    vocabulary = _vocabulary_for(model)
    encoding = _encoding_on_disk(vocabulary)
    if encoding is None and allow_download:
        import tiktoken  # noqa: PLC0415 - heavy, so nobody pays for it before asking for it

        encoding = tiktoken.get_encoding(vocabulary.name)
    if encoding is None:
        raise MissingVocabularyError(vocabulary.name)
    return functools.partial(_tiktoken_estimate, encoding)


def default_estimator(model: str | None = None) -> Estimator:
    """Make the best estimator that needs no network: tiktoken's, else `chars_estimate`.

    Args:
        model: As in `tiktoken_estimator`; an unknown name is fine.

    Raises:
        InvalidInputError: *model* is neither a string nor None.
    """
    try:
        return tiktoken_estimator(model)
    except MissingVocabularyError:
        return chars_estimate


def _tiktoken_estimate(encoding: tiktoken.Encoding, message: Mapping[str, object]) -> int:
    # "ordinary": text that looks like a special token is what somebody wrote, not a command.
    pieces = itertools.chain.from_iterable(map(_pieces, _texts(message)))
    return sum(len(encoding.encode_ordinary(piece)) for piece in pieces) + _fixed_tokens(message)


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), _PIECE_CHARS):
        yield text[start : start + _PIECE_CHARS]


def _texts(message: Mapping[str, object]) -> Iterator[str]:
    """Yield every text of *message* that a model is sent.

    The arguments of a response are its call's, which are sent with the call alone.
    """
    yield text_of(message)
    activity = activity_of(message)
    if activity is None:
        return
    yield activity.name
    for value in (ABSENT if activity.type == "response" else activity.arguments, activity.result):
        if value is not ABSENT:
            yield written(value)


def written(value: object) -> str:
    """Return the text in which *value* is sent to a model: itself, or JSON.

    A canonical form would not do: it stands a digest in the place of a long string. It is what
    becomes of a value that JSON cannot hold.
    """
    if isinstance(value, str):
        return value
    try:
        return _JSON.encode(value)
    except (TypeError, ValueError, RecursionError):
        return canonical(value)


def _fixed_tokens(message: Mapping[str, object]) -> int:
    blocks = message.get("blocks")
    if blocks is None:
        return MESSAGE_TOKENS
    count = len(blocks) if isinstance(blocks, Sequence) and not isinstance(blocks, str) else 0
    return MESSAGE_TOKENS + count * BLOCK_TOKENS


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """One of tiktoken's vocabularies.

    Args:
        name: tiktoken's name for it.
        file: Its file in tiktoken's cache, which is the SHA-1 of the address it comes from;
            packages that ship a copy keep that name.
        sha256: The digest of that file.
        pattern: How text is split before its pieces are encoded; belongs to the vocabulary.
    """

    name: str
    file: str
    sha256: str
    pattern: str


_CONTRACTION: Final = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_UPPER: Final = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER: Final = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_MARK: Final = r"[^\r\n\p{L}\p{N}]?"  # a character that may stand before a word
_NUMBER: Final = r"\p{N}{1,3}"
_SPACE: Final = r"\s*[\r\n]+|\s+(?!\S)|\s+"

_CL100K: Final = _Vocabulary(
    name="cl100k_base",
    file="9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    sha256="223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    pattern=rf"{_CONTRACTION}|{_MARK}\p{{L}}+|{_NUMBER}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_SPACE}",
)
_O200K: Final = _Vocabulary(
    name="o200k_base",
    file="fb374d419588a4632f3f557e76b4b70aebbca790",
    sha256="446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    pattern=rf"{_MARK}{_UPPER}*{_LOWER}+{_CONTRACTION}?|{_MARK}{_UPPER}+{_LOWER}*{_CONTRACTION}?"
    rf"|{_NUMBER}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_SPACE}",
)

_SHIPPED: Final = (
    ("llama_index", "core/_static/tiktoken_cache"),
    ("litellm", "litellm_core_utils/tokenizers"),
)


def _vocabulary_for(model: str | None) -> _Vocabulary:
    if model is None:
        return _O200K
    if not isinstance(model, str):
        raise InvalidInputError("model", model, "the name of a model or None")
    import tiktoken  # noqa: PLC0415 - heavy, so nobody pays for it before asking for it

    try:
        name = tiktoken.encoding_name_for_model(model)
    except KeyError:
        return _O200K
    return _CL100K if name == _CL100K.name else _O200K


def _encoding_on_disk(vocabulary: _Vocabulary) -> tiktoken.Encoding | None:
    for folder in _folders():
        path = folder / vocabulary.file
        try:
            return _load(vocabulary, path)
        except (OSError, _DamagedError):
            continue  # not here, or not to be trusted: the next place may have it
    return None


def _folders() -> Iterator[Path]:
    """Yield where vocabularies may lie; no package is imported to find its own."""
    default = Path(tempfile.gettempdir(), "data-gym-cache")
    cache = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR", default))
    if cache:  # an empty string is how tiktoken is told to keep no cache
        yield Path(cache)
    for package, folder in _SHIPPED:
        spec = importlib.util.find_spec(package)
        for place in (spec and spec.submodule_search_locations) or ():
            yield Path(place, folder)


class _DamagedError(Exception):
    """A file is not the vocabulary that its name promises."""


@functools.lru_cache(maxsize=4)  # an encoding takes half a second to make, and tens of megabytes
def _load(vocabulary: _Vocabulary, path: Path) -> tiktoken.Encoding:
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != vocabulary.sha256:
        raise _DamagedError
    import tiktoken  # noqa: PLC0415 - heavy, so nobody pays for it before asking for it

    ranks = {b64decode(token): int(rank) for token, rank in map(bytes.split, data.splitlines())}
    return tiktoken.Encoding(
        vocabulary.name, pat_str=vocabulary.pattern, mergeable_ranks=ranks, special_tokens={}
    )
