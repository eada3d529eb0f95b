"""A local HTTP server that streams what a test tells it, as the provider would."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Provider", "provider"]

Event = dict[str, Any]


class Provider(ThreadingHTTPServer):
    """Streams `events` to whoever asks for a stream.

    Attributes:
        events: What is streamed; each is one server-sent event.
        answer: What a request that asks for no stream gets.
        breaks_off: True drops the connection after the last event, inside the protocol.
        endless: True sends the last event again and again, until the client hangs up.
        hung_up: Set when a client closed its connection before everything was sent.
        requests: The bodies of the requests.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.reset()

    def reset(self) -> None:
        """Forget what was set and seen."""
        self.events: Sequence[Event] = ()
        self.answer: Event = {}
        self.breaks_off = False
        self.endless = False
        self.hung_up = threading.Event()
        self.requests: list[Event] = []

    @property
    def url(self) -> str:
        """The address that a client takes as its `base_url`."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: object, client_address: object) -> None:
        """Stay silent: clients that hang up are what is tested."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Provider

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(body)
        self._stream() if body.get("stream") else self._answer()

    def do_GET(self) -> None:
        self._stream() if "stream=true" in self.path else self._answer()

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self) -> None:
        data = json.dumps(self.server.answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for event in self._events():
                self._write(_line(event))
            if self.server.breaks_off:
                self.close_connection = True
                return
            self._write(b"data: [DONE]\n\n")
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.server.hung_up.set()
            self.close_connection = True

    def _events(self) -> Iterator[Event]:
        yield from self.server.events
        while self.server.endless:
            time.sleep(0.0005)  # gives the client a turn
            yield self.server.events[-1]

    def _write(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()


def _line(event: Event) -> bytes:
    name = f"event: {event['type']}\n" if "type" in event else ""  # responses name their events
    return f"{name}data: {json.dumps(event)}\n\n".encode()


@contextmanager
def provider() -> Iterator[Provider]:
    """Run a server on a free port of this machine."""
    with Provider() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.endless = False
            server.shutdown()
            thread.join()
