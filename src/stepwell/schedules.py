"""Start runs at fixed times: receives cron expressions and names, returns schedules and their next times.

`await app.schedule_set("nightly", "report.daily", "0 3 * * *", time_zone="Europe/Berlin")`
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from stepwell.calls import Calls
from stepwell.store.calls import keep
from stepwell.store.calls import schedules as calls
from stepwell.store.calls.run_list import WorkflowName, name_of

if TYPE_CHECKING:
    from stepwell.store.calls.schedules import Schedule

__all__ = ["Misfire", "ScheduleCalls"]

Misfire = Literal["skip", "latest", "all"]
TIMES_LIMIT = 1_000


class ScheduleCalls(Calls):
    """All calls about schedules."""

    async def schedule_set(
        self,
        name: str,
        workflow: WorkflowName,
        cron: str,
        *,
        time_zone: str = "UTC",
        input: Mapping[str, Any] | None = None,
        misfire: Misfire = "latest",
        backfill_limit: int = 100,
        workspace: str | None = None,
    ) -> Schedule:
        """Create or change a schedule. `misfire`: which missed times start a run: skip, latest or all.

        Its runs belong to `workspace`."""
        from stepwell.define import cron as reading

        reading.check(cron, time_zone)
        client = await self._connected()
        ahead = reading.next_times(cron, time_zone, await client.perform(keep.database_now()), 1)
        call = calls.set_schedule(
            client.tenant_id, name, name_of(workflow), cron=cron, time_zone=time_zone, input=input or {},
            misfire=misfire, backfill_limit=backfill_limit, next_at=ahead[0] if ahead else reading.NEVER,
            actor=client.actor, workspace=workspace,
        )  # fmt: skip
        await client.perform(call)
        return await self.schedule(name)

    async def schedules(self) -> list[Schedule]:
        """All schedules, by name."""
        return await self._perform(calls.list_schedules)

    async def schedule(self, name: str) -> Schedule:
        """One schedule."""
        found = await self._perform(lambda tenant: calls.list_schedules(tenant, name))
        if not found:
            raise await self._missing(f"schedule {name} does not exist", "schedule", name, field="name")
        return found[0]

    async def schedule_times(self, name: str, count: int = 5) -> list[datetime]:
        """The next times of a schedule, in UTC; fewer if there are no more."""
        from stepwell.define import cron as reading

        schedule = await self.schedule(name)
        now = await self._perform(lambda _: keep.database_now())
        return reading.next_times(schedule.cron, schedule.time_zone, now, min(max(count, 1), TIMES_LIMIT))

    async def schedule_pause(self, name: str) -> None:
        """Start no runs until it is resumed; times that pass until then start no run later."""
        await self._perform(lambda tenant: calls.pause_schedule(tenant, name, is_paused=True))

    async def schedule_resume(self, name: str) -> None:
        """Continue from the next time."""
        await self._perform(lambda tenant: calls.pause_schedule(tenant, name, is_paused=False))

    async def schedule_delete(self, name: str) -> None:
        """Delete the schedule; the runs that it started stay."""
        await self._perform(lambda tenant: calls.delete_schedule(tenant, name))
