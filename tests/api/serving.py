"""Serves an application on loopback for a test: receives the ASGI app, returns a client of a real server."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import uvicorn
from starlette.types import ASGIApp

from stepwell.api.protocol import BoundedProtocol


def quiet(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app, log_level="error", access_log=False, timeout_graceful_shutdown=2, http=BoundedProtocol
    )


@contextmanager
def serving(
    app: ASGIApp,
    send_buffer_bytes: int | None = None,
    *,
    port: int = 0,
    config_of: Callable[[Any], uvicorn.Config] = quiet,
) -> Iterator[httpx.Client]:
    """The socket listens before the server runs: the first request waits in the kernel, without polling.

    With `send_buffer_bytes` the kernel keeps only so much that a client has not read. `port` is that of a
    server that has ended; 0 takes a free one.
    """
    listener = socket.create_server(("127.0.0.1", port))
    if send_buffer_bytes is not None:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer_bytes)
    server = uvicorn.Server(config_of(app))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="api-under-test")
    thread.start()
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=60) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def closed_port() -> int:
    """A port on which no process listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port
