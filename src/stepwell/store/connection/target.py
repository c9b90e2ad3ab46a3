"""Choose the database: receives settings, returns a conninfo that is valid in the block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from stepwell.config import Settings


@contextmanager
def database(settings: Settings) -> Iterator[str]:
    """The given address, or the address of the embedded server, which runs during the block."""
    if settings.database_url is not None:
        yield settings.database_url
        return
    from stepwell.store.embedded.server import EmbeddedServer

    with EmbeddedServer(settings.data_dir) as server:
        yield server.conninfo()
