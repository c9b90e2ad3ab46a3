"""What one server process holds for all its requests: the pool, known callers and limits."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from starlette.requests import Request

from stepwell.api.caller import Known
from stepwell.api.limits import Buckets
from stepwell.api.passwords import Hasher
from stepwell.api.stream_hub import Hub
from stepwell.config import Settings
from stepwell.errors import DatabaseUnavailable
from stepwell.store.connection import perform
from stepwell.store.connection.call import Call
from stepwell.store.connection.pool import checked_out, served_pool

if TYPE_CHECKING:
    from stepwell.store.connection.pool import AsyncPool

T = TypeVar("T")

KNOWN_LIMIT = 10_000
FEEDING_CONNECTIONS = 2
# Refused calls of one caller that become events of their own: so many a second, and so many at once.
NOTED_REFUSALS_PER_SECOND = 1
NOTED_REFUSALS_BURST = 30
# Requests from an address without a token: sign-in, and calls that are refused.
STRANGERS_PER_SECOND = 20
STRANGERS_BURST = 400


class Serving:
    """The state of a server process. `pool` exists while the server runs."""

    def __init__(self, settings: Settings, conninfo: str) -> None:
        self.settings = settings
        self.conninfo = conninfo
        self.callers = Buckets(settings.api_requests_per_second)
        self.strangers = Buckets(STRANGERS_PER_SECOND, STRANGERS_BURST)
        self.refusals = Buckets(NOTED_REFUSALS_PER_SECOND, NOTED_REFUSALS_BURST)
        self.hasher = Hasher()
        self.request_count = 0
        self.unnoted: dict[str, int] = {}
        self._known: OrderedDict[str, Known] = OrderedDict()
        self._pool: AsyncPool | None = None
        self.hub = Hub(self)
        # Connections that the reading for streams may have at a time.
        self.feeding = asyncio.Semaphore(FEEDING_CONNECTIONS)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with served_pool(self.conninfo, max_size=self.settings.pool_max_size) as pool:
            self._pool = pool
            try:
                yield
            finally:
                await self.hub.close()
                self._pool = None

    @property
    def pool(self) -> AsyncPool:
        if self._pool is None:
            raise DatabaseUnavailable("the server starts or stops")
        return self._pool

    async def perform_unbound(self, call: Call[T]) -> T:
        """Perform a call that needs no principal, such as sign-in, in a transaction of its own."""
        async with checked_out(self.pool) as connection:
            return await perform.on_connection(connection, call)

    def known(self, digest: str) -> Known | None:
        found = self._known.get(digest)
        if found is not None:
            self._known.move_to_end(digest)
        return found

    def remember(self, digest: str, known: Known) -> None:
        self._known[digest] = known
        self._known.move_to_end(digest)
        if len(self._known) > KNOWN_LIMIT:
            self._known.popitem(last=False)

    def forget(self, digest: str) -> None:
        self._known.pop(digest, None)


def serving_of(request: Request) -> Serving:
    found: Serving = request.app.state.serving
    return found
