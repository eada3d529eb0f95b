"""A provider that gives each request an answer of its own, and can fail in every way."""

from __future__ import annotations

import json
import select
import socket
import threading
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import server
from .server import Provider

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["DONE", "WAIT", "Answer", "ScriptedProvider", "event", "scripted_provider"]

DONE = b"data: [DONE]\n\n"
WAIT = b""
"""A piece that never comes: the server waits until the client hangs up."""


def event(data: Any) -> bytes:
    """Return one event."""
    return f"data: {json.dumps(data)}\n\n".encode()


@dataclass
class Answer:
    """What one request gets.

    Args:
        pieces: What is streamed, each written on its own; `WAIT` stops there.
        status: Another one than 200 sends the pieces as a plain body; 0 hangs up unanswered.
        headers: Further headers.
        drops: True closes the connection after the last piece, inside the protocol.
    """

    pieces: tuple[bytes, ...] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    drops: bool = False

    @classmethod
    def streamed(cls, *events: Any, drops: bool = False) -> Answer:
        """Return an answer of these events, and the last one unless the connection drops."""
        end = () if drops else (DONE,)
        return cls((*map(event, events), *end), drops=drops)

    @classmethod
    def failed(cls, status: int, message: str = "no", **headers: str) -> Answer:
        """Return an error as the protocol words it; `retry_after` is the header of that name."""
        body = json.dumps({"error": {"message": message}}).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return cls((body,), status, named)


class ScriptedProvider(Provider):
    """Gives each request the next of `answers`, and the last one to all that follow.

    Attributes:
        answers: What is left to give.
        asked_headers: The headers of the requests.
        connections: How many were opened.
    """

    def __init__(self) -> None:
        super().__init__()
        self.RequestHandlerClass = _Handler
        self.answers: deque[Answer] = deque()
        self.asked_headers: list[dict[str, str]] = []
        self.connections = 0
        self.asked = threading.Semaphore(0)


class _Handler(server._Handler):
    server: ScriptedProvider

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def do_POST(self) -> None:  # noqa: N802 - the name that http.server calls
        self.server.requests.append(
            json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        )
        self.server.asked_headers.append({k.lower(): v for k, v in self.headers.items()})
        answers = self.server.answers
        answer = answers.popleft() if len(answers) > 1 else answers[0]
        self.server.asked.release()
        try:
            self._give(answer)
        except OSError:
            self.server.hung_up.set()
            self.close_connection = True

    def _give(self, answer: Answer) -> None:
        if answer.status == 0:
            self.close_connection = True
            return
        if answer.status == 200 and answer.pieces[:1] == (WAIT,):
            self._wait_for_hang_up()
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.status != 200:
            self.send_header("Content-Length", str(len(answer.pieces[0])))
            self.end_headers()
            self.wfile.write(answer.pieces[0])
            return
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in answer.pieces:
            if piece == WAIT:
                self._wait_for_hang_up()
                return
            self._write(piece)
        if answer.drops:
            self.close_connection = True
            return
        self.wfile.write(b"0\r\n\r\n")

    def _wait_for_hang_up(self) -> None:
        self.close_connection = True
        readable, _, _ = select.select([self.connection], [], [], 10)
        if readable and self.connection.recv(1, socket.MSG_PEEK) == b"":
            self.server.hung_up.set()


@contextmanager
def scripted_provider() -> Iterator[ScriptedProvider]:
    """Run a server on a free port of this machine."""
    with ScriptedProvider() as provider:
        thread = threading.Thread(target=provider.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield provider
        finally:
            provider.shutdown()
            thread.join()
