"""Choose the database to work on: receives settings, returns a conninfo that works inside the block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from stepwell.config import Settings
from stepwell.store.embedded.server import EmbeddedServer


@contextmanager
def database(settings: Settings) -> Iterator[str]:
    """The address that was given, or the embedded server, started for as long as the block runs."""
    if settings.database_url is not None:
        yield settings.database_url
        return
    with EmbeddedServer(settings.data_dir) as server:
        yield server.conninfo()
