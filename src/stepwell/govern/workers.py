"""Workers and what is said about them: receives numbers and names, returns workers, executors and sentences.

A worker is given by the number of its session. Workers serve every tenant, so only the first tenant of the
installation stops them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from stepwell.calls import Calls
from stepwell.errors import NotFound
from stepwell.store.calls import workers as calls
from stepwell.store.calls.workers import ExecutorRow, StopKind, SubjectKind, Summary, SummaryEvent, WorkerRow
from stepwell.store.connection.call import Call

__all__ = ["ExecutorRow", "Summary", "SummaryEvent", "WorkerGovernCalls", "WorkerRow"]


class WorkerGovernCalls(Calls):
    """All calls about workers, executors and sentences."""

    async def workers(
        self, *, executor: str | None = None, with_closed: bool = False, limit: int = 100
    ) -> list[WorkerRow]:
        """Workers with their heartbeats, the newest first."""
        return await self._perform(
            lambda tenant: calls.workers(tenant, with_closed=with_closed, executor=executor, limit=limit)
        )

    async def worker(self, session_id: int) -> WorkerRow:
        """One worker, also one that has ended."""
        found = await self._perform(lambda tenant: calls.worker(tenant, session_id))
        if found is None:
            raise NotFound(f"worker {session_id} does not exist", field="session_id")
        return found

    async def worker_freeze(self, session_id: int, reason: str) -> None:
        """The worker claims nothing more, and is not found to answer again, until it is unfrozen."""
        await self._stop(session_id, "frozen", reason)

    async def worker_unfreeze(self, session_id: int, reason: str) -> None:
        """A frozen worker may claim again."""
        await self._go_on(session_id, "frozen", reason)

    async def worker_drain(self, session_id: int, reason: str) -> None:
        """The worker finishes what it has begun and claims nothing more."""
        await self._stop(session_id, "drain", reason)

    async def worker_drain_end(self, session_id: int, reason: str) -> None:
        """A worker that drains may claim again."""
        await self._go_on(session_id, "drain", reason)

    async def executor_list(self) -> list[ExecutorRow]:
        """Executors, by name: how many workers serve each, and whether it is frozen."""
        return await self._perform(calls.executors)

    async def executor(self, name: str) -> ExecutorRow:
        """One executor."""
        for found in await self.executor_list():
            if found.executor == name:
                return found
        raise NotFound(f"executor {name} does not exist", field="executor")

    async def executor_freeze(self, name: str, reason: str) -> None:
        """No worker claims units of this executor until it is unfrozen."""
        actor = (await self._connected()).actor
        await self._perform(lambda tenant: calls.freeze_executor(tenant, name, actor, reason))

    async def executor_unfreeze(self, name: str, reason: str) -> None:
        """Units of a frozen executor may be claimed again."""
        actor = (await self._connected()).actor
        await self._perform(lambda tenant: calls.unfreeze_executor(tenant, name, actor, reason))

    async def summaries(
        self, *, kind: SubjectKind | None = None, subject: str | None = None, limit: int = 100
    ) -> list[Summary]:
        """Sentences with their evidence, the newest first."""
        return await self._perform(
            lambda tenant: calls.summaries(tenant, kind=kind, subject=subject, limit=limit)
        )

    async def summary_events(self, summary_id: int) -> list[SummaryEvent]:
        """The events that a sentence was made from, the newest first."""
        return await self._perform(lambda tenant: calls.summary_events(tenant, summary_id))

    async def summary_write(
        self,
        kind: SubjectKind,
        subject: str | int,
        sentence: str,
        *,
        colour: str,
        confidence: float,
        version: str,
        refs: Sequence[str],
        window: tuple[datetime, datetime],
        event_count: int | None = None,
        event_total: int | None = None,
        sentence_vi: str | None = None,
    ) -> int:
        """Store what an agent says, with its evidence. It resolves nothing; the number of the sentence."""
        actor = (await self._connected()).actor
        count = len(refs) if event_count is None else event_count

        def make(tenant: int) -> Call[int]:
            return calls.write_summary(
                tenant,
                actor,
                kind,
                str(subject),
                colour=colour,
                sentence_en=sentence,
                sentence_vi=sentence_vi,
                source_event_count=count,
                source_event_total=event_total,
                source_event_refs=refs,
                window_start_at=window[0],
                window_end_at=window[1],
                version=version,
                confidence=confidence,
            )

        return await self._perform(make)

    async def _stop(self, session_id: int, kind: StopKind, reason: str) -> None:
        actor = (await self._connected()).actor
        await self._perform(lambda tenant: calls.stop_worker(tenant, session_id, kind, actor, reason))

    async def _go_on(self, session_id: int, kind: StopKind, reason: str) -> None:
        actor = (await self._connected()).actor
        await self._perform(lambda tenant: calls.free_worker(tenant, session_id, kind, actor, reason))
