"""A real HTTP server for tests of connectors: a function makes the replies, and the requests are stored."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Seen:
    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes
    raw: str

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def form(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(self.body.decode()).items()}


@dataclass(frozen=True)
class Reply:
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


HANG = Reply(status=0)
CUT = Reply(status=-1)


class LocalServer:
    """A test can replace `answer` at any time; HANG never answers, CUT closes without an answer."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.answer: Callable[[Seen], Reply] = lambda _: Reply(body={})
        self._released = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def writes(self) -> list[Seen]:
        return [seen for seen in self.seen if seen.method not in ("GET", "HEAD")]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                parts = urlsplit(self.path)
                seen = Seen(
                    self.command, parts.path, parse_qs(parts.query),
                    {name.lower(): value for name, value in self.headers.items()}, self.rfile.read(length),
                    self.path,
                )  # fmt: skip
                outer.seen.append(seen)
                reply = outer.answer(seen)
                if reply is HANG:
                    outer._released.wait()
                if reply.status > 0:
                    self.reply(reply)
                self.close_connection = True

            def reply(self, reply: Reply) -> None:
                is_text = isinstance(reply.body, (str, bytes))
                content = reply.body if is_text else json.dumps(reply.body)
                data = content.encode() if isinstance(content, str) else content
                self.send_response_only(reply.status)
                headers = {"Content-Type": "text/plain" if is_text else "application/json", **reply.headers}
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

            do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any  # noqa: N815 - named by http.server

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler


@contextmanager
def local_server() -> Iterator[LocalServer]:
    server = LocalServer()
    server.start()
    try:
        yield server
    finally:
        server.stop()
