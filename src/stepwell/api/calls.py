"""The calls of an app in the transaction of a request: receives the caller, returns the groups of calls.

A route uses the same code as a program: `await calls_of(caller).policy_explain(action)`.
"""

from __future__ import annotations

from typing import TypeVar

from stepwell.api.caller import BoundCaller
from stepwell.client import Client
from stepwell.content import ContentCalls
from stepwell.govern.calls import GovernCalls
from stepwell.govern.workers import WorkerGovernCalls
from stepwell.graphs import GraphCalls
from stepwell.schedules import ScheduleCalls
from stepwell.store.connection.call import Call
from stepwell.store.connection.perform import Connection
from stepwell.tenants import TenantCalls
from stepwell.workflows import WorkflowCalls

T = TypeVar("T")


class _BoundClient(Client):
    """A client without a pool: the caller's transaction performs its calls."""

    def __init__(self, caller: BoundCaller) -> None:
        self.tenant_id = caller.tenant_id
        self.actor = caller.actor
        self._caller = caller

    async def perform(
        self, call: Call[T], connection: Connection | None = None, *, bounded: bool = False
    ) -> T:
        # The role of the server limits every statement, so `bounded` adds nothing.
        return await self._caller.perform(call)


class CallerCalls(
    ContentCalls, GovernCalls, GraphCalls, ScheduleCalls, TenantCalls, WorkerGovernCalls, WorkflowCalls
):
    def __init__(self, caller: BoundCaller) -> None:
        self._bound = _BoundClient(caller)

    async def _connected(self) -> Client:
        return self._bound


def calls_of(caller: BoundCaller) -> CallerCalls:
    return CallerCalls(caller)
