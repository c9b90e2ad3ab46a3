"""The base class of the groups of calls: a subclass gives the client, this class performs calls with it.

`App` and `Client` inherit the groups: runs, jobs, people, content, schedules and others, one module each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from stepwell.errors import NotFound
from stepwell.store.calls import words
from stepwell.store.connection.call import Call

if TYPE_CHECKING:
    from stepwell.client import Client

T = TypeVar("T")


class Calls(ABC):
    """One group of calls. A subclass gives the client."""

    @abstractmethod
    async def _connected(self) -> Client:
        """The client that performs the calls."""

    async def _perform(self, make: Callable[[int], Call[T]]) -> T:
        """Perform one call for the client's tenant."""
        client = await self._connected()
        return await client.perform(make(client.tenant_id))

    async def _perform_as_owner(self, call: Call[T]) -> T:
        """Perform a call about the whole installation; an app on the embedded server is its owner."""
        return await (await self._connected()).perform(call)

    async def _missing(self, message: str, kind: str, name: str, *, field: str | None = None) -> NotFound:
        """The error for a name that does not exist, with the nearest one that does."""
        found = await self._perform(lambda tenant: words.suggestion(tenant, kind, name))
        return NotFound(message, hint=found, field=field or kind)
