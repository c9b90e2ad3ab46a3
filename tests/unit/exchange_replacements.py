"""Replacements for the database (`Counter`) and the worker (`Desk`) in tests of an exchange."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from stepwell.errors import DatabaseFailure, StepwellError
from stepwell.store.calls.leases import Answer, Busy, Ended, Failed, Lease, LeaseKey, Refused, Report
from stepwell.store.calls.runs import RunStart, Started
from stepwell.worker.exchange import Exchange


class Counter:
    """Replaces the database: grants numbered leases, accepts reports, and fails when a test wants it."""

    def __init__(self, supply: int) -> None:
        self.supply = supply
        self.reported: list[int] = []
        self.released: list[int] = []
        self.batches = 0
        self.most_out = 0
        self.out: set[int] = set()
        self.asking = 0
        self.most_asking = 0
        self.trouble: Callable[[Sequence[Report]], BaseException | None] = lambda reports: None
        self.unknown: list[LeaseKey] = []
        self.ended: list[Ended] = []
        self.claims_each = 0
        self.locked: set[int] = set()
        self.aside: list[int] = []
        self.sizes: list[int] = []
        self.from_top: list[bool] = []

    async def close(self) -> None: ...

    async def claim(self, session_key: int, limit: int) -> list[Lease]:
        self.asking += 1
        self.most_asking = max(self.most_asking, self.asking)
        await asyncio.sleep(0)
        self.asking -= 1
        if (error := self.trouble([])) is not None:
            raise error
        return self.grant(limit)

    async def claim_each(self, session_key: int, limit: int) -> list[Lease]:
        await asyncio.sleep(0)
        self.claims_each += 1
        return self.grant(limit)

    async def report_free(self, session_key: int, reports: Sequence[Report]) -> list[Answer]:
        free = [report for report in reports if report.unit_id not in self.locked]
        self.sizes.append(len(reports))
        answers = await self.report_and_claim(session_key, free, 0) if free else []
        return [*answers, *(Busy(*report[:3]) for report in reports if report.unit_id in self.locked)]

    async def set_aside(self, session_key: int, report: Report, error: StepwellError) -> bool:
        await asyncio.sleep(0)
        self.aside.append(report.unit_id)
        self.out.discard(report.unit_id)
        return True

    async def report_and_claim(
        self, session_key: int, reports: Sequence[Report], limit: int, *, locks_up: bool = False
    ) -> list[Answer]:
        self.from_top.append(locks_up)
        await asyncio.sleep(0)
        if (error := self.trouble(reports)) is not None:
            raise error
        for report in reports:
            (self.released if report.outcome == "released" else self.reported).append(report.unit_id)
            self.out.discard(report.unit_id)
        return [*self.grant(limit), *self.ended]

    async def start_and_claim(
        self, session_key: int, limit: int, start: RunStart
    ) -> tuple[Started, list[Lease]]:
        await asyncio.sleep(0)
        if (error := self.trouble([])) is not None:
            raise error
        self.supply += 1
        return Started(77, True), self.grant(limit)

    async def leased_since(self, session_key: int, batch_id: int) -> list[LeaseKey]:
        return self.unknown

    def grant(self, limit: int) -> list[Lease]:
        granted = []
        for _ in range(min(limit, self.supply)):
            self.supply -= 1
            self.batches += 1
            self.out.add(self.batches)
            granted.append(lease(self.batches))
        self.most_out = max(self.most_out, len(self.out))
        return granted


def lease(number: int) -> Lease:
    return Lease(1, number, 1, number, "op", 1, 5, *([None] * 9))  # type: ignore[arg-type]


class Desk:
    """Replaces the worker: starts leases and ends them at once."""

    def __init__(self, counter: Counter, slot_count: int, loop_count: int) -> None:
        self.counter = counter
        self.started: list[Lease] = []
        self.lost_sessions: list[int] = []
        self.ended: list[Ended] = []
        self.exchange = Exchange(
            self.connect, slot_count, self.started.append, self.lose, self.hear, loop_count
        )
        self.loop_count = loop_count

    async def connect(self) -> Any:
        return self.counter

    def hear(self, answer: Failed | Refused | Ended) -> None:
        if isinstance(answer, Ended):
            self.ended.append(answer)

    async def lose(self, session_key: int) -> None:
        self.lost_sessions.append(session_key)
        self.exchange.session_key += 1

    async def work(self, until: Callable[[], bool]) -> None:
        loops = [asyncio.create_task(self.exchange.run()) for _ in range(self.loop_count)]
        async with asyncio.timeout(30):
            while not until():
                await asyncio.sleep(0)
                for loop in loops:
                    assert not loop.done(), loop
                while self.started:
                    lease = self.started.pop()
                    report = Report(lease.tenant_id, lease.unit_id, lease.lease_no, "completed", None)
                    self.exchange.finish(lease, report)
                self.exchange.hint()
            self.exchange.is_claiming = False
            self.exchange.is_stopping = True
            self.exchange.hint()
            await asyncio.gather(*loops)


def failure(sqlstate: str) -> DatabaseFailure:
    found = DatabaseFailure("no")
    found.sqlstate = sqlstate
    return found


def deadlock() -> DatabaseFailure:
    return failure("40P01")


def locked() -> DatabaseFailure:
    return failure("55P03")


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr("stepwell.worker.exchange.RETRY_FIRST_SECONDS", 0.0)
    monkeypatch.setattr("stepwell.worker.second_tries.PAUSE_FIRST_SECONDS", 0.0)
    monkeypatch.setattr("stepwell.worker.patience.PAUSE_FIRST_SECONDS", 0.0)
    monkeypatch.setattr("stepwell.worker.demand.REST_FIRST_SECONDS", 0.0)
