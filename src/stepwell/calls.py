"""What every group of calls stands on: receives a client from whoever inherits it, carries out calls with it.

`App` and `Client` inherit the groups: runs, jobs, people, content, schedules and others, a module each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from stepwell.store.connection.call import Call

if TYPE_CHECKING:
    from stepwell.client import Client

T = TypeVar("T")


class Calls(ABC):
    """One group of calls, for whatever has a client."""

    @abstractmethod
    async def _connected(self) -> Client:
        """The client that carries out the calls."""

    async def _perform(self, make: Callable[[int], Call[T]]) -> T:
        """One call of the client's tenant."""
        client = await self._connected()
        return await client.perform(make(client.tenant_id))
