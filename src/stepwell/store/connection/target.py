"""Choose the database and the role of a process: receives settings, returns a conninfo.

This is the one place that chooses. With a given address each process uses the address of its own if there is
one, and the role in it. On the embedded server each process logs in with its own role; the owner migrates.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from psycopg.conninfo import make_conninfo

from stepwell.config import Settings

if TYPE_CHECKING:
    from stepwell.store.embedded.server import EmbeddedServer


class Process(enum.StrEnum):
    """What connects."""

    OWNER = "owner"
    API = "api"
    WORKER = "worker"
    KEEPER = "keeper"
    SLACK = "slack"
    # A command that only reads what is the same for every tenant.
    READER = "reader"


@contextmanager
def database(settings: Settings, process: Process = Process.OWNER) -> Iterator[str]:
    """The address for a process; the embedded server runs during the block."""
    with databases(settings) as place:
        yield place.address(process)


@contextmanager
def databases(settings: Settings) -> Iterator[Place]:
    """The addresses for several processes of one program; the embedded server runs during the block."""
    if settings.database_url is not None:
        yield Place(settings)
        return
    from stepwell.store.embedded.server import EmbeddedServer

    with EmbeddedServer(settings.data_dir) as server:
        yield Place(settings, server)


class Place:
    """Where the database is. `server` is the running embedded server, or None with a given address."""

    def __init__(self, settings: Settings, server: EmbeddedServer | None = None) -> None:
        self._settings = settings
        self._server = server

    @classmethod
    def of(cls, settings: Settings, conninfo: str, process: Process) -> str:
        """The address for another process of the program that uses `conninfo`."""
        if settings.database_url is not None:
            return cls(settings).address(process)
        return make_conninfo(conninfo, user=f"stepwell_{process}")

    def address(self, process: Process) -> str:
        settings = self._settings
        if self._server is not None:
            return self._server.conninfo(role=None if process is Process.OWNER else f"stepwell_{process}")
        assert settings.database_url is not None, "a server or an address"
        match process:
            case Process.WORKER:
                return settings.worker_url or settings.database_url
            case Process.KEEPER:
                # A keeper holds a lock on its connection: it needs a direct one.
                return settings.keeper_url or settings.listen_url or settings.database_url
            case Process.SLACK:
                return settings.slack_url or settings.database_url
            case _:
                return settings.database_url
