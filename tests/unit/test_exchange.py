"""Slots are counted correctly whatever happens to a call: no more leases than slots, and no slot is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from stepwell.errors import (
    DatabaseFailure,
    DatabaseUnavailable,
    InvalidInput,
    LeaseLost,
)
from stepwell.store.calls.leases import Answer, Ended, Lease, Refused, Report
from stepwell.store.calls.runs import Started, run_start
from tests.support.wait import until_async
from tests.unit.exchange_replacements import Counter, Desk, deadlock, short_pauses

__all__ = ["short_pauses"]

START = run_start(1, "w", [{}])


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
        kinds: list[BaseException | None] = [DatabaseUnavailable("cut"), None, deadlock(), None, None] * 20
        kinds[-1] = LeaseLost("the session ended")
        counter.trouble = lambda reports: kinds.pop() if kinds else None
        await desk.work(lambda: not kinds and len(counter.reported) == 100)
        assert counter.most_out <= 5
        assert desk.lost_sessions == [0]
        assert desk.exchange.busy_count == 0
        assert sorted(counter.reported) == list(range(1, 101))

    asyncio.run(scenario())


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
        assert counter.aside == [7]

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


def test_a_slot_on_hold_is_not_used_until_it_is_free():
    async def scenario() -> None:
        counter = Counter(0)
        desk = Desk(counter, 2, 1)
        desk.exchange.hold()
        assert desk.exchange.busy_count == 1
        counter.supply = 6
        await desk.work(lambda: len(counter.reported) == 6)
        assert counter.most_out == 1
        desk.exchange.free_slot()
        assert desk.exchange.busy_count == 0

    asyncio.run(scenario())


def test_leases_that_arrive_after_the_stop_are_released():
    async def scenario() -> None:
        counter = Counter(3)
        desk = Desk(counter, 3, 1)
        exchange = desk.exchange

        async def claim_late(session_key: int, limit: int) -> list[Lease]:
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

        async def refuse(
            session_key: int, reports: Sequence[Report], limit: int, *, locks_up: bool = False
        ) -> list[Answer]:
            counter.reported += [report.unit_id for report in reports]
            return [Refused(*report[:3]) for report in reports]

        counter.report_and_claim = refuse  # type: ignore[method-assign]
        await desk.work(lambda: len(counter.reported) == 1)
        assert (desk.exchange.refused_count, desk.ended) == (1, [])
        assert desk.exchange.busy_count == 0

    asyncio.run(scenario())
