"""A report or a claim that fails is tried again later or set aside; the others go on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from stepwell.errors import DatabaseFailure
from stepwell.store.calls.leases import Report
from tests.support.wait import until_async
from tests.unit.exchange_replacements import Counter, Desk, failure, locked, short_pauses

__all__ = ["short_pauses"]


def test_the_report_that_fails_is_found_by_halving_the_batch():
    async def scenario() -> None:
        counter = Counter(64)
        desk = Desk(counter, 64, 1)

        def refuse(reports: Sequence[Report]) -> BaseException | None:
            return DatabaseFailure("no") if any(report.unit_id == 7 for report in reports) else None

        counter.trouble = refuse
        await desk.work(lambda: len(counter.reported) == 63)
        await until_async(lambda: desk.exchange.busy_count == 0)
        assert counter.aside == [7]
        # Two calls for each halving and one for the failure; far fewer than one call for each report.
        assert len(counter.sizes) <= 2 * 7 + 1

    asyncio.run(scenario())


def test_a_report_whose_run_is_locked_delays_no_other_report():
    async def scenario() -> None:
        counter = Counter(50)
        desk = Desk(counter, 10, 2)
        counter.locked = {7}

        def collide(reports: Sequence[Report]) -> BaseException | None:
            return locked() if any(report.unit_id in counter.locked for report in reports) else None

        counter.trouble = collide
        await desk.work(lambda: len(counter.reported) == 49 and not counter.locked.clear())
        await until_async(lambda: desk.exchange.busy_count == 0)
        assert sorted(counter.reported) == list(range(1, 51))
        assert counter.aside == []

    asyncio.run(scenario())


def test_after_a_collision_the_report_locks_from_the_top():
    async def scenario() -> None:
        counter = Counter(1)
        desk = Desk(counter, 1, 1)
        counter.trouble = lambda reports: locked() if reports and len(counter.from_top) < 3 else None
        await desk.work(lambda: counter.reported == [1])
        assert counter.from_top == [False, True, True]

    asyncio.run(scenario())


def test_a_report_that_is_always_cancelled_is_tried_a_limited_number_of_times():
    async def scenario() -> None:
        counter = Counter(3)
        desk = Desk(counter, 3, 1)

        def cancel(reports: Sequence[Report]) -> BaseException | None:
            slow = any(report.unit_id == 2 and report.outcome == "completed" for report in reports)
            return failure("57014") if slow else None

        counter.trouble = cancel
        await desk.work(lambda: len(counter.reported) == 3)
        assert desk.exchange.busy_count == 0
        # Each try makes a limited number of calls, and the number of tries is limited.
        assert len(counter.from_top) < 40

    asyncio.run(scenario())


@pytest.mark.parametrize("error", [DatabaseFailure("no"), None])
def test_a_claim_that_fails_stops_no_report_and_is_repeated_for_each_unit(error):
    async def scenario() -> None:
        counter = Counter(20)
        desk = Desk(counter, 5, 2)
        kinds: list[BaseException | None] = [error or locked() for _ in range(3)]
        counter.trouble = lambda reports: None if reports or not kinds else kinds.pop()
        await desk.work(lambda: len(counter.reported) == 20)
        assert desk.exchange.busy_count == 0
        assert (counter.claims_each > 0) is (error is not None)

    asyncio.run(scenario())
