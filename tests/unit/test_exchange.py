"""Slots are counted correctly whatever happens to a call: no more leases than slots, and no slot is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from stepwell.errors import DatabaseFailure, DatabaseUnavailable, InvalidInput, LeaseLost
from stepwell.store.calls.leases import Answer, Ended, Failed, Lease, LeaseKey, Refused, Report
from stepwell.store.calls.runs import RunStart, Started, run_start
from stepwell.worker.exchange import Exchange
from tests.support.wait import until_async

START = run_start(1, "w", [{}])


class Counter:
    """Stands for the database: grants numbered leases, accepts reports, and fails when a test says so."""

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

    async def close(self) -> None: ...

    async def claim(self, session_id: int, limit: int) -> list[Lease]:
        self.asking += 1
        self.most_asking = max(self.most_asking, self.asking)
        await asyncio.sleep(0)
        self.asking -= 1
        if (error := self.trouble([])) is not None:
            raise error
        return self.grant(limit)

    async def report_and_claim(self, session_id: int, reports: Sequence[Report], limit: int) -> list[Answer]:
        await asyncio.sleep(0)
        if (error := self.trouble(reports)) is not None:
            raise error
        for report in reports:
            (self.released if report.outcome == "released" else self.reported).append(report.unit_id)
            self.out.discard(report.unit_id)
        return [*self.grant(limit), *self.ended]

    async def start_and_claim(
        self, session_id: int, limit: int, start: RunStart
    ) -> tuple[Started, list[Lease]]:
        await asyncio.sleep(0)
        if (error := self.trouble([])) is not None:
            raise error
        self.supply += 1
        return Started(77, True), self.grant(limit)

    async def leased_since(self, session_id: int, batch_id: int) -> list[LeaseKey]:
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
    """Stands for the worker: starts leases and ends them at once."""

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

    async def lose(self, session_id: int) -> None:
        self.lost_sessions.append(session_id)
        self.exchange.session_id += 1

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


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr("stepwell.worker.exchange.RETRY_FIRST_SECONDS", 0.0)


@pytest.mark.parametrize("loop_count", [1, 2, 4])
@pytest.mark.parametrize("slot_count", [1, 3, 50])
def test_every_lease_is_reported_once_within_the_slots(slot_count, loop_count):
    async def scenario() -> None:
        counter = Counter(200)
        desk = Desk(counter, slot_count, loop_count)
        await desk.work(lambda: len(counter.reported) == 200)
        assert sorted(counter.reported) == list(range(1, 201))
        assert counter.most_out <= slot_count
        assert desk.exchange.busy_count == 0
        assert desk.exchange.held() == []

    asyncio.run(scenario())


def test_only_one_loop_claims_at_a_time():
    async def scenario() -> None:
        counter = Counter(100)
        desk = Desk(counter, 50, 3)
        await desk.work(lambda: len(counter.reported) == 100)
        assert counter.most_asking == 1

    asyncio.run(scenario())


def test_when_the_claim_of_one_loop_fails_another_loop_claims(monkeypatch):
    monkeypatch.setattr("stepwell.worker.exchange.RETRY_FIRST_SECONDS", 60.0)

    async def scenario() -> None:
        counter = Counter(3)
        desk = Desk(counter, 5, 2)
        kinds: list[BaseException | None] = [DatabaseUnavailable("cut")]
        counter.trouble = lambda reports: kinds.pop() if kinds else None
        loops = [asyncio.create_task(desk.exchange.run(no)) for no in range(2)]
        await until_async(lambda: len(desk.started) == 3)
        for loop in loops:
            loop.cancel()

    asyncio.run(scenario())


@pytest.mark.parametrize("loop_count", [1, 3])
def test_failed_calls_lose_no_report_and_no_slot(loop_count):
    async def scenario() -> None:
        counter = Counter(100)
        desk = Desk(counter, 5, loop_count)
        kinds: list[BaseException | None] = [DatabaseUnavailable("cut"), None, _deadlock(), None, None] * 20
        kinds[-1] = LeaseLost("the session ended")
        counter.trouble = lambda reports: kinds.pop() if kinds else None
        await desk.work(lambda: not kinds and len(counter.reported) == 100)
        assert counter.most_out <= 5
        assert desk.lost_sessions == [0]
        assert desk.exchange.busy_count == 0
        assert sorted(counter.reported) == list(range(1, 101))

    asyncio.run(scenario())


def _deadlock() -> DatabaseFailure:
    found = DatabaseFailure("deadlock detected")
    found.sqlstate = "40P01"
    return found


def test_a_report_that_is_always_refused_frees_its_slot():
    async def scenario() -> None:
        counter = Counter(50)
        desk = Desk(counter, 10, 2)

        def refuse(reports: list[Report]) -> BaseException | None:
            return DatabaseFailure("no") if any(report.unit_id == 7 for report in reports) else None

        counter.trouble = refuse
        await desk.work(lambda: len(counter.reported) == 49)
        assert 7 not in counter.reported
        await until_async(lambda: desk.exchange.busy_count == 0)

    asyncio.run(scenario())


def test_leases_of_a_cut_call_are_released():
    async def scenario() -> None:
        counter = Counter(20)
        desk = Desk(counter, 4, 2)
        counter.unknown = [(1, 1000, 1), (1, 1001, 1)]
        kinds: list[BaseException] = [DatabaseUnavailable("the answer was lost")]
        counter.trouble = lambda reports: kinds.pop() if kinds else None
        await desk.work(lambda: len(counter.reported) == 20 and len(counter.released) == 2)
        assert sorted(counter.released) == [1000, 1001]
        assert desk.exchange.busy_count == 0

    asyncio.run(scenario())


def test_a_slot_on_hold_is_not_used_until_it_is_given_back():
    async def scenario() -> None:
        counter = Counter(0)
        desk = Desk(counter, 2, 1)
        desk.exchange.hold()
        assert desk.exchange.busy_count == 1
        counter.supply = 6
        await desk.work(lambda: len(counter.reported) == 6)
        assert counter.most_out == 1
        desk.exchange.give_back()
        assert desk.exchange.busy_count == 0

    asyncio.run(scenario())


def test_leases_that_arrive_after_the_stop_are_released():
    async def scenario() -> None:
        counter = Counter(3)
        desk = Desk(counter, 3, 1)
        exchange = desk.exchange

        async def claim_late(session_id: int, limit: int) -> list[Lease]:
            exchange.is_claiming = False
            exchange.is_stopping = True
            return counter.grant(limit)

        counter.claim = claim_late  # type: ignore[method-assign]
        async with asyncio.timeout(30):
            await exchange.run()
        assert desk.started == []
        assert counter.released == [1, 2, 3]
        assert exchange.busy_count == 0

    asyncio.run(scenario())


async def _rest(desk: Desk) -> list[asyncio.Task[None]]:
    """Starts the loops and waits until they have nothing to do."""
    loops = [asyncio.create_task(desk.exchange.run(at)) for at in range(desk.loop_count)]
    await until_async(lambda: desk.exchange.resting_count == desk.loop_count)
    return loops


async def _stop(desk: Desk, loops: list[asyncio.Task[None]]) -> None:
    desk.exchange.is_claiming = False
    desk.exchange.is_stopping = True
    desk.exchange.hint()
    await asyncio.gather(*loops)


def test_an_idle_loop_makes_the_start():
    async def scenario() -> None:
        counter = Counter(0)
        desk = Desk(counter, 3, 2)
        loops = await _rest(desk)
        for at in range(1, 4):
            assert await desk.exchange.start(START) == Started(77, True)
            assert [lease.unit_id for lease in desk.started] == list(range(1, at + 1))
            assert desk.exchange.busy_count == at
            await until_async(lambda: desk.exchange.resting_count == 2)
        # No slot is free, so this worker does not make the start.
        assert await desk.exchange.start(START) is None
        for lease in list(desk.started):
            desk.exchange.finish(lease, Report(1, lease.unit_id, 1, "completed", None))
        await until_async(lambda: desk.exchange.busy_count == 0)
        assert sorted(counter.reported) == [1, 2, 3]
        await _stop(desk, loops)

    asyncio.run(scenario())


def test_without_an_idle_loop_no_start_is_made():
    async def scenario() -> None:
        desk = Desk(Counter(0), 3, 1)
        assert await desk.exchange.start(START) is None
        loops = await _rest(desk)
        first = asyncio.create_task(desk.exchange.start(START))
        await asyncio.sleep(0)
        # The only idle loop is reserved for the first start.
        assert await desk.exchange.start(START) is None
        assert await first is not None
        await _stop(desk, loops)
        assert await desk.exchange.start(START) is None

    asyncio.run(scenario())


@pytest.mark.parametrize("error", [InvalidInput("n: is no number"), DatabaseUnavailable("cut")])
def test_a_failed_start_raises_its_error_and_frees_its_slots(error):
    async def scenario() -> None:
        counter = Counter(0)
        desk = Desk(counter, 3, 1)
        loops = await _rest(desk)
        troubles = [error]
        counter.trouble = lambda reports: troubles.pop() if troubles else None
        with pytest.raises(type(error), match=error.message):
            await desk.exchange.start(START)
        await until_async(lambda: desk.exchange.resting_count == 1)
        assert desk.exchange.busy_count == 0
        assert await desk.exchange.start(START) is not None
        await _stop(desk, loops)

    asyncio.run(scenario())


def test_a_start_of_a_lost_session_is_left_to_the_client():
    async def scenario() -> None:
        counter = Counter(0)
        desk = Desk(counter, 3, 1)
        loops = await _rest(desk)
        troubles = [LeaseLost("gone")]
        counter.trouble = lambda reports: troubles.pop() if troubles else None
        assert await desk.exchange.start(START) is None
        assert desk.lost_sessions == [0]
        assert desk.exchange.busy_count == 0
        await _stop(desk, loops)

    asyncio.run(scenario())


def test_closing_the_exchange_ends_a_waiting_start():
    async def scenario() -> None:
        desk = Desk(Counter(0), 3, 1)
        (loop,) = await _rest(desk)
        waiting = asyncio.create_task(desk.exchange.start(START))
        await asyncio.sleep(0)
        loop.cancel()
        await asyncio.gather(loop, return_exceptions=True)
        desk.exchange.close()
        assert await waiting is None

    asyncio.run(scenario())


def test_the_end_of_a_run_is_passed_and_is_no_refusal():
    async def scenario() -> None:
        counter = Counter(1)
        desk = Desk(counter, 3, 1)
        counter.ended = [Ended(1, 5, True, "completed", "w", 0.5, {"n": 1})]
        await desk.work(lambda: len(counter.reported) == 1)
        assert desk.ended == counter.ended
        assert desk.exchange.refused_count == 0

    asyncio.run(scenario())


def test_a_refused_report_is_counted():
    async def scenario() -> None:
        counter = Counter(1)
        desk = Desk(counter, 3, 1)

        async def refuse(session_id: int, reports: Sequence[Report], limit: int) -> list[Answer]:
            counter.reported += [report.unit_id for report in reports]
            return [Refused(*report[:3]) for report in reports]

        counter.report_and_claim = refuse  # type: ignore[method-assign]
        await desk.work(lambda: len(counter.reported) == 1)
        assert (desk.exchange.refused_count, desk.ended) == (1, [])
        assert desk.exchange.busy_count == 0

    asyncio.run(scenario())
