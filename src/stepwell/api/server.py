"""Run the HTTP server in this process: receives a socket and a conninfo, returns when stopped."""

from __future__ import annotations

import ipaddress
import logging
import socket
from typing import Final

import uvicorn

from stepwell.api.app import create_app
from stepwell.api.envelope import LOOPBACK_NAMES
from stepwell.api.serving import Serving
from stepwell.config import Settings
from stepwell.govern.slack import settings as slack_settings

# Time for open requests after a signal; then they are cut.
STOP_LIMIT_SECONDS: Final = 5
KEEP_ALIVE_SECONDS: Final = 15
# Streams stay open, so there are more of them than of other requests.
CONCURRENT_REQUESTS_LIMIT: Final = 5_000


def serve(
    listener: socket.socket, settings: Settings, conninfo: str, slack_conninfo: str | None = None
) -> None:
    """Run until SIGINT or SIGTERM. On loopback it accepts only the host names of loopback."""
    # psycopg warns when a pipeline ends with an error; the error itself is raised and becomes a problem.
    logging.getLogger("psycopg").setLevel(logging.ERROR)
    app = create_app(
        settings,
        conninfo,
        allowed_hosts=LOOPBACK_NAMES if _is_loopback(listener) else None,
        slack_settings=slack_settings.load(),
        slack_conninfo=slack_conninfo,
    )
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=STOP_LIMIT_SECONDS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        limit_concurrency=CONCURRENT_REQUESTS_LIMIT,
    )
    _Server(config, app.state.serving).run(sockets=[listener])


class _Server(uvicorn.Server):
    """Ends the open streams first when it stops; their pages connect again."""

    def __init__(self, config: uvicorn.Config, serving: Serving) -> None:
        super().__init__(config)
        self._serving = serving

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._serving.hub.stop()
        await super().shutdown(sockets)


def _is_loopback(listener: socket.socket) -> bool:
    return ipaddress.ip_address(listener.getsockname()[0]).is_loopback
