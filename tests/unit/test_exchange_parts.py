"""Each part of the exchange is tested without the others."""

from __future__ import annotations

import asyncio

import pytest

from stepwell.errors import Conflict, DatabaseUnavailable
from stepwell.store.calls.leases import Lease, Report
from stepwell.store.calls.runs import Started, run_start
from stepwell.worker.calls_under_way import CallsUnderWay
from stepwell.worker.demand import Demand
from stepwell.worker.held_leases import HeldLeases
from stepwell.worker.report_lines import ReportLines
from stepwell.worker.slots import Slots
from stepwell.worker.start_requests import StartRequests
from stepwell.worker.wake_ups import WakeUps

START = run_start(1, "w", [{}])


def lease(unit_id: int, *, lease_no: int = 1, batch_id: int = 1) -> Lease:
    return Lease(1, unit_id, lease_no, batch_id, "op", 1, 5, *([None] * 9))  # type: ignore[arg-type]


def report(unit_id: int) -> Report:
    return Report(1, unit_id, 1, "completed", None)


def test_more_slots_can_be_taken_than_are_free():
    slots = Slots(2, lambda: 0)
    slots.take(3)
    assert (slots.free_count, slots.busy_count) == (-1, 3)
    slots.free(3)
    assert (slots.free_count, slots.busy_count) == (2, 0)


def test_a_lease_is_removed_only_by_its_own_number():
    held = HeldLeases()
    held.add(lease(7 << 20 | 1, lease_no=2, batch_id=5))
    held.add(lease(8 << 20, batch_id=4))
    held.forget(7 << 20 | 1, 1)
    assert held.keys() == [(1, 7 << 20 | 1, 2), (1, 8 << 20, 1)]
    assert (held.has_unit_of(7), held.has_unit_of(9)) == (True, False)
    held.forget(7 << 20 | 1, 2)
    assert not held.has_unit_of(7)
    assert held.last_batch_id == 5


def test_a_lease_whose_answer_was_lost_is_unknown_once():
    held = HeldLeases()
    held.add(lease(1))
    assert [held.add_unknown(key) for key in [(1, 1, 1), (1, 1, 2), (1, 2, 1), (1, 2, 1)]] == [
        False, True, True, False,
    ]  # fmt: skip


def test_reports_of_one_run_use_one_line_and_leave_it_in_the_order_of_units():
    woken: list[int] = []
    lines = ReportLines(3, woken.append)
    for unit_id in (7 << 20 | 3, 7 << 20 | 1, 8 << 20, 7 << 20 | 2):
        lines.add(report(unit_id))
    # A line that was not empty has woken its loop already.
    assert woken == [1, 2]
    assert [lines.has_any(no) for no in range(3)] == [False, True, True]
    first = lines.take(1, 2)
    assert [found.unit_id & 3 for found in first] == [1, 3]
    lines.put_back(1, first)
    assert [found.unit_id & 3 for found in lines.take(1, 9)] == [1, 2, 3]
    lines.take(2, 9)
    assert lines.is_empty


def test_an_open_call_limits_the_known_batch():
    held = HeldLeases()
    calls = CallsUnderWay(held)
    held.add(lease(1, batch_id=3))
    with calls.one_more():
        held.add(lease(2, batch_id=9))
        assert calls.known_batch_id == 3
    assert calls.known_batch_id == 9


def test_a_cut_call_leaves_doubtful_leases_and_another_error_does_not():
    held = HeldLeases()
    calls = CallsUnderWay(held)
    held.add(lease(1, batch_id=3))
    with pytest.raises(Conflict), calls.one_more():
        raise Conflict("no")
    assert calls.doubtful_after is None

    def cut_while_another_answer_comes() -> None:
        with calls.one_more():
            held.add(lease(2, batch_id=9))
            raise DatabaseUnavailable("cut")

    with pytest.raises(DatabaseUnavailable):
        cut_while_another_answer_comes()
    assert (calls.doubtful_after, calls.known_batch_id) == (3, 3)
    with pytest.raises(DatabaseUnavailable), calls.one_more():
        raise DatabaseUnavailable("cut")
    assert calls.doubtful_after == 3, "the earliest cut call counts"
    calls.settle_doubt()
    assert (calls.doubtful_after, calls.known_batch_id) == (None, 9)


def test_doubtful_leases_are_settled_after_the_last_open_call():
    async def scenario() -> None:
        calls = CallsUnderWay(HeldLeases())
        with pytest.raises(DatabaseUnavailable), calls.one_more():
            raise DatabaseUnavailable("cut")
        with calls.one_more():
            waiting = asyncio.create_task(calls.until_doubt_can_be_settled())
            await asyncio.sleep(0)
            assert not waiting.done()
        assert await waiting == 0

    asyncio.run(scenario())


def test_after_a_full_answer_two_empty_answers_mean_no_more_work():
    demand = Demand()
    demand.note_answer(5, 5)
    demand.note_answer(0, 5)
    assert not demand.is_dry
    demand.note_answer(0, 5)
    assert demand.is_dry
    demand.hint()
    assert not demand.is_dry


def test_a_hint_during_a_call_still_counts_after_it():
    demand = Demand()
    demand.note_answer(0, 5)
    before = demand.hint_count
    demand.hint()
    demand.note_answer(0, 5)
    assert demand.is_dry
    demand.note_hints_since(before)
    assert not demand.is_dry


def test_one_loop_wakes_and_the_other_stays_idle():
    async def scenario() -> None:
        wake_ups = WakeUps(2)
        resting = [asyncio.create_task(wake_ups.rest(no)) for no in range(2)]
        await asyncio.sleep(0)
        assert wake_ups.resting_count == 2
        wake_ups.wake(1)
        await resting[1]
        assert (wake_ups.resting_count, resting[0].done()) == (1, False)
        wake_ups.wake_all()
        await resting[0]
        assert wake_ups.resting_count == 0

    asyncio.run(scenario())


def test_a_cancelled_request_gets_no_answer():
    async def scenario() -> None:
        requests = StartRequests()
        gone, fails, succeeds, left = (requests.add(START) for _ in range(4))
        gone.answer.cancel()
        for request, answer in ((gone, Conflict("no")), (fails, Conflict("no"))):
            assert requests.take() is request
            request.fail(answer)
        assert requests.take() is succeeds
        succeeds.succeed(Started(7, True))
        assert len(requests) == 1
        requests.close()
        assert await left.answer is None
        assert await succeeds.answer == Started(7, True)
        with pytest.raises(Conflict):
            await fails.answer

    asyncio.run(scenario())
