"""Run the HTTP server in this process: receives a socket and a conninfo, returns when stopped."""

from __future__ import annotations

import gc
import ipaddress
import logging
import os
import resource
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import uvicorn
from fastapi import FastAPI

from stepwell.api.app import create_app
from stepwell.api.envelope import LOOPBACK_NAMES
from stepwell.api.protocol import BoundedProtocol
from stepwell.api.serving import Serving
from stepwell.config import Settings
from stepwell.govern.slack import settings as slack_settings

# Time for open requests after a signal; then they are cut.
STOP_LIMIT_SECONDS: Final = 5
KEEP_ALIVE_SECONDS: Final = 15
# Streams and connections that wait for their next request count too.
CONNECTIONS_LIMIT: Final = 8_000
HEADERS_BYTES_LIMIT: Final = 32 * 1024


@dataclass(frozen=True, slots=True)
class Certificate:
    """The files of a certificate and its key, for https."""

    chain: Path
    key: Path


def serve(
    listener: socket.socket,
    settings: Settings,
    conninfo: str,
    slack_conninfo: str | None = None,
    certificate: Certificate | None = None,
    ready_handle: int | None = None,
) -> None:
    """Run until SIGINT or SIGTERM. On loopback it accepts only the host names of loopback.

    A byte is written to `ready_handle` when the first request can be answered.
    """
    # psycopg warns when a pipeline ends with an error; the error itself is raised and becomes a problem.
    logging.getLogger("psycopg").setLevel(logging.ERROR)
    app = create_app(
        settings,
        conninfo,
        allowed_hosts=LOOPBACK_NAMES if _is_loopback(listener) else None,
        slack_settings=slack_settings.load(),
        slack_conninfo=slack_conninfo,
    )
    _allow_many_connections()
    config = config_of(app, certificate)
    _Server(config, app.state.serving, ready_handle).run(sockets=[listener])


def config_of(app: FastAPI, certificate: Certificate | None = None) -> uvicorn.Config:
    """How a server process reads requests: its protocol, its limits and its time-outs."""
    return uvicorn.Config(
        app,
        http=BoundedProtocol,
        h11_max_incomplete_event_size=HEADERS_BYTES_LIMIT,
        ssl_certfile=None if certificate is None else certificate.chain,
        ssl_keyfile=None if certificate is None else certificate.key,
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=STOP_LIMIT_SECONDS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        limit_concurrency=CONNECTIONS_LIMIT,
    )


class _Server(uvicorn.Server):
    """Ends the open streams first when it stops; their pages connect again."""

    def __init__(self, config: uvicorn.Config, serving: Serving, ready_handle: int | None) -> None:
        super().__init__(config)
        self._serving = serving
        self._ready_handle = ready_handle

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # What is loaded by now stays as long as the process. To look through it again and again for what
        # nobody uses any more would stop all requests for a tenth of a second.
        gc.collect()
        gc.freeze()
        if self.started and self._ready_handle is not None:
            os.write(self._ready_handle, b".")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._serving.hub.stop()
        await super().shutdown(sockets)


def _allow_many_connections() -> None:
    """A connection is an open file; the usual limit of a process is 1,024, and it may be raised."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS_LIMIT + 500
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _is_loopback(listener: socket.socket) -> bool:
    return ipaddress.ip_address(listener.getsockname()[0]).is_loopback
