"""A worker leases ahead as much as its handlers are expected to begin soon, in the order of the claims."""

from __future__ import annotations

import asyncio

from stepwell.store.calls.leases import Lease
from stepwell.worker.ahead import LEASE_LIMIT, WAIT_SECONDS, Ahead


def lease(unit_id: int, lease_no: int = 1) -> Lease:
    return Lease(1, unit_id, lease_no, 1, "op", 1, 5, None, None, {}, None, None, None, None, None, None)


def after(ahead: Ahead, seconds: float, times: int = 1000) -> Ahead:
    for _ in range(times):
        ahead.note_ended(seconds)
    return ahead


def test_nothing_is_leased_ahead_before_handlers_are_known_to_be_short():
    assert Ahead(1).count() == 0
    assert after(Ahead(1), 0.2).count() == 0


def test_it_is_as_much_as_the_slots_begin_within_the_limit():
    assert after(Ahead(100), 0.020).count() in (249, 250)
    assert 100 * WAIT_SECONDS / 0.020 == 250


def test_slots_and_further_leases_together_have_a_limit():
    assert after(Ahead(100), 0.0).count() == LEASE_LIMIT - 100
    assert after(Ahead(5000), 0.0).count() == 0


def test_one_long_handler_counts_at_once():
    ahead = after(Ahead(10), 0.0001)
    assert ahead.count() == LEASE_LIMIT - 10
    ahead.note_ended(10.0)
    assert ahead.count() == 0


def test_leases_wait_in_the_order_of_their_claims():
    ahead = Ahead(1)
    loop = asyncio.new_event_loop()
    for number in (3, 1, 2):
        ahead.add(lease(number), loop, lambda found: None)
    assert ahead.waited_seconds(loop.time()) is not None
    loop.close()
    assert ahead.take_unit(1, 2) is None
    assert ahead.take_unit(1, 1) == lease(1)
    assert [found.unit_id for found in ahead.take_all()] == [3, 2]
    assert (ahead.take(), ahead.waited_seconds(10.0)) == (None, None)
