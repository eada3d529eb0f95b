"""`watch_client`: every stream of an OpenAI client is watched, without patching it.

Nothing here imports the `openai` package. What is relied on is public: `create` and `stream` of
chat completions, `create`, `retrieve` and `stream` of responses, the fields of their chunks and
events, and `close` of a stream. `seams` lists them, `chat` and `responses` read what comes.
"""

from __future__ import annotations

from .client import watch_client
from .stream import WatchedStream

__all__ = ["WatchedStream", "watch_client"]
