"""Free-standing jobs: receives an operation and payloads, returns handles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict, Unpack

from typing_extensions import TypeVar

from stepwell.calls import Calls
from stepwell.handles import JobHandle
from stepwell.store.calls import jobs as calls
from stepwell.store.connection.perform import Connection

__all__ = ["JobCalls", "JobOptions"]

R = TypeVar("R", default=Any)


class JobOptions(TypedDict, total=False):
    """Options of jobs; the operation has the defaults."""

    priority: int
    process_after: datetime | None
    concurrency_key: str | None
    max_concurrency: int | None
    # At most so many jobs of the key enter the queue within such a time: "100/1m".
    rate_limit: str | None
    max_attempts: int | None
    # A part of the tenant with its own turns in the queue; see `workspace_set`.
    workspace: str | None


class JobCalls(Calls):
    """All calls that enqueue jobs."""

    async def enqueue(
        self,
        operation: str,
        payload: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        connection: Connection | None = None,
        result_type: type[R] | None = None,
        **more: Unpack[JobOptions],
    ) -> JobHandle[R]:
        """Enqueue one free-standing job. A second call with the same `key` returns the first job."""
        keys = None if key is None else [key]
        found = await self.enqueue_many(
            operation, [payload or {}], keys=keys, connection=connection, result_type=result_type, **more
        )
        return found[0]

    async def enqueue_many(
        self,
        operation: str,
        payloads: Sequence[Mapping[str, Any]],
        *,
        keys: Sequence[str] | None = None,
        connection: Connection | None = None,
        result_type: type[R] | None = None,
        **more: Unpack[JobOptions],
    ) -> list[JobHandle[R]]:
        """Enqueue many jobs in one call and one commit."""
        client = await self._connected()
        call = calls.enqueue_jobs(
            client.tenant_id, operation, payloads, keys=keys, actor=client.actor, **more
        )
        made = await client.perform(call, connection)
        return [JobHandle(client, job.job_id, job.is_new, result_type) for job in made]
