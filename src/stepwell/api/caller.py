"""Who calls, inside a route: performs calls of the store in the one bound transaction of the request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, Path, Request

from stepwell.store.calls.requests import Opened
from stepwell.store.connection.bound import BoundTransaction
from stepwell.store.connection.call import Call
from stepwell.translations import Lang

T = TypeVar("T")

# The numbers of units: twenty bits for the steps of a run. Both leave room for "the next one" in 64 bits.
NUMBER_LIMIT = 2**62
Number = Annotated[int, Path(ge=1, lt=NUMBER_LIMIT)]
RunNumber = Annotated[int, Path(ge=1, lt=NUMBER_LIMIT >> 20)]


@dataclass(frozen=True, slots=True)
class Known:
    """Whose a token is. It never changes for a token, but the database checks it in every transaction."""

    tenant_id: int
    principal_id: int
    name: str


class BoundCaller:
    """The principal of the request. `actor` is the name in the log, with the way it came."""

    def __init__(
        self, known: Known, channel: str, language: Lang, transaction: BoundTransaction[Opened], trace_id: str
    ) -> None:
        self.tenant_id = known.tenant_id
        self.principal_id = known.principal_id
        self.name = known.name
        self.actor = f"{channel}:{known.name}"
        self.is_browser = channel == "web"
        self.language: Lang = language
        self.trace_id = trace_id
        self._transaction = transaction

    async def perform(self, call: Call[T]) -> T:
        """Perform a call in the transaction of the request; the end of the route commits it."""
        return await self._transaction.perform(call)

    async def perform_only(self, call: Call[T]) -> T:
        """The same for a read that makes one call: it is one message to the database."""
        return await self._transaction.perform(call, is_only=True)


# A coroutine: FastAPI calls a plain function in another thread.
async def _caller(request: Request) -> BoundCaller:
    found: BoundCaller = request.scope["stepwell.caller"]
    return found


Caller = Annotated[BoundCaller, Depends(_caller)]
