"""The seal pauses between blocks, so that it does not slow the work, but never falls behind without limit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from stepwell.keeper import pace
from stepwell.keeper.pace import BEHIND_SECONDS, PAUSE_FACTOR, PAUSE_MAX_SECONDS, SLICE_SECONDS, Pace
from stepwell.keeper.sealing import Sealing
from tests.govern.sealing import append, await_sealable
from tests.support.databases import configure
from tests.support.roles import as_process
from tests.support.wait import until_row


class Watch:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def watch() -> Watch:
    return Watch()


def work(paced: Pace, watch: Watch, seconds: float) -> None:
    with paced.working():
        watch.now += seconds


def test_short_work_makes_no_pause(watch: Watch):
    paced = Pace(watch)
    paced.begin()
    work(paced, watch, SLICE_SECONDS / 2)
    assert paced.pause_seconds() == 0


def test_small_parts_add_up_to_one_pause(watch: Watch):
    paced = Pace(watch)
    paced.begin()
    pauses = []
    for _ in range(30):
        work(paced, watch, SLICE_SECONDS / 10)
        pauses.append(paced.pause_seconds())
        watch.now += pauses[-1]
    worked = 30 * SLICE_SECONDS / 10
    assert sum(pauses) == pytest.approx(worked * PAUSE_FACTOR, rel=0.35)
    assert 2 <= sum(pause > 0 for pause in pauses) <= 3


def test_a_part_that_failed_counts_too(watch: Watch):
    paced = Pace(watch)
    paced.begin()

    def fail() -> None:
        with paced.working():
            watch.now += 1.0
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert paced.pause_seconds() == PAUSE_FACTOR


def test_one_pause_has_a_limit(watch: Watch):
    paced = Pace(watch)
    paced.begin()
    work(paced, watch, 30.0)
    assert paced.pause_seconds() == PAUSE_MAX_SECONDS


def test_who_stays_behind_makes_no_more_pauses_until_all_is_done(watch: Watch):
    paced = Pace(watch)
    paced.begin()
    worked_until_full_speed = 0.0
    while True:
        work(paced, watch, 1.0)
        worked_until_full_speed += 1.0
        pause = paced.pause_seconds()
        if pause == 0:
            break
        watch.now += pause
        paced.begin()
    assert watch.now - 100.0 <= BEHIND_SECONDS + 1.0 + PAUSE_FACTOR
    work(paced, watch, 1.0)
    assert paced.pause_seconds() == 0
    paced.caught_up()
    paced.begin()
    work(paced, watch, 1.0)
    assert paced.pause_seconds() == PAUSE_FACTOR


def test_a_keeper_that_closes_does_not_wait_for_a_pause(
    dsn: str, db: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
):
    """Three full blocks wait; the pass pauses after the first for an hour, and closing ends the pause."""
    monkeypatch.setattr(pace, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(pace, "PAUSE_MAX_SECONDS", 3600.0)
    monkeypatch.setattr(pace, "PAUSE_FACTOR", 1e9)
    configure(db, "audit.block_events", "5")
    for number in range(1, 16):
        append(db, number << 20, payload={})
    await_sealable(db)
    sealing = Sealing(as_process(dsn, "keeper"), None, None)
    sealing.look(datetime.now(UTC), is_asked_for=True)
    until_row(db, "select count(*) = 1 from audit_block")
    sealing.close()
    assert sealing.wait() == 1


def test_a_keeper_that_starts_leaves_new_events_until_they_have_waited_for_the_interval(
    dsn: str, db: psycopg.Connection
):
    append(db, 1 << 20, payload={})
    await_sealable(db)
    sealing = Sealing(as_process(dsn, "keeper"), None, None)
    now = datetime.now(UTC)
    sealing.look(now)
    assert sealing.wait() == 0
    sealing.look(now + timedelta(seconds=30))
    assert sealing.wait() == 0
    assert db.execute("select count(*) from audit_block").fetchone() == (0,)
    sealing.look(now + timedelta(seconds=61))
    assert sealing.wait() == 1
    sealing.close()
