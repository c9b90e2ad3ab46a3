"""What a worker and its handlers ask of the database, beside claims and reports.

Questions of the session use one control connection, calls of handlers a pool; both have the role of a worker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from stepwell import handler_progress
from stepwell.app import App
from stepwell.connectors.base import Connector
from stepwell.errors import DatabaseUnavailable, StepwellError
from stepwell.store.calls import graphs, sessions
from stepwell.store.calls.leases import Lease, LeaseKey
from stepwell.store.connection import perform
from stepwell.store.connection.call import Call
from stepwell.store.connection.wire import Connection, connect
from stepwell.worker.action_calls import ActionCalls
from stepwell.worker.exchange import Exchange
from stepwell.worker.served import REFRESH

if TYPE_CHECKING:
    from stepwell.store.connection.pool import AsyncPool

T = TypeVar("T")


class WorkerCalls:
    """The worker sets the fields when it opens its connections."""

    app: App
    _exchange: Exchange
    _conninfo: str
    _control: Connection
    _pool: AsyncPool
    _action_calls: ActionCalls
    _reconnecting: asyncio.Lock
    _evaluating: asyncio.Lock

    async def _ask(self, question: Callable[..., Awaitable[T]], *arguments: Any) -> T:
        """One call on the control connection; if the connection is lost, reconnect and call once more."""
        connection = self._control
        try:
            return await question(connection, *arguments)
        except DatabaseUnavailable:
            async with self._reconnecting:
                if self._control is connection:
                    await connection.close()
                    self._control = await connect(self._conninfo)
            return await question(self._control, *arguments)

    async def _evaluate(self, lease: Lease) -> dict[str, Any]:
        """Work of the database, one at a time, so that it leaves the server and the pool to other work."""
        call = graphs.refresh_graphs if lease.operation_name == REFRESH else sessions.evaluate
        async with self._evaluating:
            return await self.perform(call(self._exchange.session_key, lease))

    async def save_checkpoint(self, lease: Lease, name: str, value: str) -> Any:
        return await self._ask(sessions.save_checkpoint, self._exchange.session_key, lease, name, value)

    async def _send_progress(self, said: Sequence[tuple[LeaseKey, handler_progress.Progress]]) -> None:
        await self._ask(sessions.save_progress, self._exchange.session_key, said)

    async def emit(self, lease: Lease, event_type: str, payload: str) -> None:
        try:
            await self._ask(sessions.emit, self._exchange.session_key, lease, event_type, payload)
        except StepwellError as error:
            if error.rejected is not None and "tenant_id" in error.rejected:
                await perform.keep_reject(self._pool, error.rejected, None)
            raise

    async def label(self, lease: Lease, labels: str) -> Any:
        return await self._ask(sessions.label, self._exchange.session_key, lease, labels)

    @property
    def connectors(self) -> Mapping[str, Connector]:
        return self.app.connectors

    @property
    def session_key(self) -> int:
        return self._exchange.session_key

    async def perform(self, call: Call[T]) -> T:
        """Perform a call of a handler in a separate transaction, with the role of a worker."""
        return await perform.on_pool(self._pool, call)

    async def perform_action(self, call: Call[T], *, is_limited: bool) -> T:
        """Perform a call about an action, in one round trip with those of other handlers."""
        return await self._action_calls.perform(call, is_limited=is_limited)

    async def _action_alone(self, call: Call[Any], is_limited: bool) -> Any:
        return await perform.on_pool(self._pool, call, bounded=is_limited)
