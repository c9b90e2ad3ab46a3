"""Cron in time zones: the hour that does not exist, the hour that comes twice, misfires and backfill."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.define import cron
from stepwell.errors import InvalidInput
from tests.support.sample import sample

BERLIN = "Europe/Berlin"


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_a_local_time_that_does_not_exist_fires_when_the_gap_ends():
    """On 2026-03-29 Berlin has no 02:30; 03:00 summer time is 01:00 UTC."""
    assert cron.next_times("30 2 * * *", BERLIN, utc("2026-03-28T12:00"), 2) == [
        utc("2026-03-29T01:00"),
        utc("2026-03-30T00:30"),
    ]


def test_a_time_that_comes_twice_fires_once():
    """On 2026-10-25 Berlin has 02:30 twice: 00:30 and 01:30 UTC."""
    assert cron.next_times("30 2 * * *", BERLIN, utc("2026-10-24T12:00"), 2) == [
        utc("2026-10-25T00:30"),
        utc("2026-10-26T01:30"),
    ]


def test_between_the_two_hours_the_next_time_is_on_the_next_day():
    assert cron.next_times("30 2 * * *", BERLIN, utc("2026-10-25T01:10"), 1) == [utc("2026-10-26T01:30")]


def test_an_hourly_schedule_fires_in_both_hours_that_have_the_same_name():
    times = cron.next_times("30 * * * *", BERLIN, utc("2026-10-24T23:00"), 4)
    assert times == [utc(f"2026-10-{at}") for at in ("24T23:30", "25T00:30", "25T01:30", "25T02:30")]


def test_a_zone_keeps_its_local_hour_over_the_year():
    summer, winter = (
        cron.next_times("0 6 * * *", BERLIN, utc(day), 1)[0]
        for day in ("2026-07-01T00:00", "2026-12-01T00:00")
    )
    assert (summer.hour, winter.hour) == (4, 5)


def test_a_day_without_midnight_fires_when_the_gap_ends():
    """Santiago skips 00:00 on 2026-09-06."""
    (at,) = cron.next_times("0 0 * * *", "America/Santiago", utc("2026-09-05T12:00"), 1)
    assert at == utc("2026-09-06T04:00")


@pytest.mark.parametrize(
    ("misfire", "expected"),
    [
        ("latest", ["2026-05-01T11:00"]),
        ("all", [f"2026-05-01T{hour:02}:00" for hour in range(6, 12)]),
        ("skip", []),
    ],
)
def test_missed_times_follow_the_misfire_rule(misfire: str, expected: list[str]):
    plan = cron.plan("0 * * * *", "UTC", misfire, 100, utc("2026-05-01T06:00"), utc("2026-05-01T11:30"))
    assert plan.fire_ats == tuple(utc(text) for text in expected)
    assert plan.next_at == utc("2026-05-01T12:00")


@pytest.mark.parametrize("misfire", ["skip", "latest", "all"])
def test_a_time_that_is_less_than_a_minute_late_is_no_misfire(misfire: str):
    plan = cron.plan("0 * * * *", "UTC", misfire, 100, utc("2026-05-01T06:00"), utc("2026-05-01T06:00:59"))
    assert plan.fire_ats == (utc("2026-05-01T06:00"),)


def test_backfill_fires_the_newest_missed_times_up_to_its_limit():
    plan = cron.plan("0 * * * *", "UTC", "all", 3, utc("2026-05-01T06:00"), utc("2026-05-01T11:30"))
    assert plan.fire_ats == tuple(utc(f"2026-05-01T{hour:02}:00") for hour in (9, 10, 11))


def test_after_a_stop_of_years_only_the_limit_is_fired():
    plan = cron.plan("* * * * *", "UTC", "all", 5, utc("2000-01-01T00:00"), utc("2026-05-01T11:30:30"))
    assert plan.fire_ats == tuple(utc(f"2026-05-01T11:{minute}") for minute in (26, 27, 28, 29, 30))


def test_a_schedule_without_a_next_time_fires_nothing_and_gets_one():
    plan = cron.plan("0 * * * *", "UTC", "all", 100, None, utc("2026-05-01T06:30"))
    assert plan == cron.Plan((), utc("2026-05-01T07:00"))


def test_an_expression_without_any_date_never_fires():
    plan = cron.plan("0 0 */31 2 MON#5", "UTC", "all", 100, None, utc("2026-05-01T06:30"))
    assert plan == cron.Plan((), cron.NEVER)


# The first use of a zone reads a file, which can be slow on a busy machine.
@sample(60)
@given(
    expression=st.sampled_from(
        ["30 2 * * *", "*/7 * * * *", "0 0 1 * *", "15 1,2,3 * * SUN", "59 23 * * *", "0 */5 * * *"]
    ),
    zone=st.sampled_from(["UTC", BERLIN, "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"]),
    started_minute=st.integers(0, 3 * 366 * 24 * 60),
    hours=st.integers(0, 30),
)
def test_a_stopped_schedule_fires_the_same_times_as_one_that_never_stopped(
    expression, zone, started_minute, hours
):
    """With the misfire rule `all` a stopped schedule fires every missed time once, in order."""
    began = utc("2025-01-01T00:00:20") + timedelta(minutes=started_minute)
    ended = began + timedelta(hours=hours)
    (first,) = cron.next_times(expression, zone, began, 1)
    unbroken = [at for at in cron.next_times(expression, zone, began, 300) if at <= ended]
    plan = cron.plan(expression, zone, "all", 10_000, first, ended)
    assert list(plan.fire_ats) == unbroken
    assert all(a < b for a, b in pairwise([*plan.fire_ats, plan.next_at]))
    assert plan.next_at > ended


@pytest.mark.parametrize("expression", ["", "* * * *", "61 * * * *", "every day", "0 25 * * *"])
def test_the_error_for_a_bad_expression_names_the_field_cron(expression: str):
    with pytest.raises(InvalidInput) as caught:
        cron.check(expression, "UTC")
    assert caught.value.field == "cron"


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../etc/passwd"])
def test_the_error_for_an_unknown_zone_names_the_field_time_zone(zone: str):
    with pytest.raises(InvalidInput) as caught:
        cron.check("* * * * *", zone)
    assert caught.value.field == "time_zone"
