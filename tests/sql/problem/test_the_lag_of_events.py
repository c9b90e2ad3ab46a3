"""How long events take from producer to consumer: quantiles of each pair, its thresholds, its trend."""

from __future__ import annotations

import math
import random

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, operation
from tests.support.clock import Clock
from tests.support.sample import sample

QUANTILES = (0.50, 0.95, 0.99)
# The stated error of the histogram: 5 percent, or 1 ms.
RELATIVE, ABSOLUTE_MS = 0.05, 1.0


def milliseconds(microseconds: int) -> float:
    return microseconds / 1_000


def noted(engine: Engine, waits: list[float], consumer: str = "reader:mail") -> None:
    engine.db.execute(
        "select _lag_note(1, 'log', %s, array(select make_interval(secs => x / 1000.0)"
        " from unnest(%s::float8[]) as x))",
        (consumer, waits),
    )


def lags(engine: Engine, window: str = "1 hour") -> dict[tuple[str, str], psycopg.rows.DictRow]:
    cursor = engine.db.cursor(row_factory=psycopg.rows.dict_row)
    rows = cursor.execute("select * from fn_event_lag_compute(1, %s::interval)", (window,)).fetchall()
    return {(row["producer"], row["consumer"]): row for row in rows}


def moved(engine: Engine, reader: str = "mail") -> None:
    """The reader takes everything that it may read."""
    rows = engine.db.execute("select tx, event_id from fn_events_read(1, %s)", (reader,)).fetchall()
    if rows:
        engine.one("select fn_events_ack(1, %s, %s, %s)", (reader, *rows[-1]))


def exact(values: list[float], quantile: float) -> float:
    """By the nearest rank."""
    return sorted(values)[math.ceil(len(values) * quantile) - 1]


@pytest.mark.requirement("GV-08")
def test_quantiles_are_those_of_a_recomputation_within_the_stated_error(engine: Engine):
    @given(
        st.lists(st.integers(0, 500_000_000_000).map(milliseconds), min_size=1, max_size=60),
        st.lists(st.integers(0, 50_000).map(milliseconds), max_size=60),
    )
    @sample(40)
    def check(long: list[float], short: list[float]) -> None:
        engine.db.execute("delete from event_lag_count")
        noted(engine, long)
        noted(engine, short)
        row = lags(engine)["log", "reader:mail"]
        assert row["event_count"] == len(long + short)
        for name, quantile in zip(("p50_ms", "p95_ms", "p99_ms"), QUANTILES, strict=True):
            wanted = exact(long + short, quantile)
            assert abs(float(row[name]) - wanted) <= max(wanted * RELATIVE, ABSOLUTE_MS), name

    check()


@pytest.mark.requirement("GV-08")
def test_a_reader_that_moves_notes_the_lag_of_the_events_that_it_passes(engine: Engine, clock: Clock):
    engine.enqueue("a")
    moved(engine)
    # Before its first move it was behind nothing.
    assert ("log", "reader:mail") not in {key for key, row in lags(engine).items() if row["event_count"]}
    waited: list[float] = []
    dice = random.Random(7)
    for _ in range(12):
        engine.enqueue("a", dice.randint(1, 5))
        clock.advance(seconds=dice.choice([0.2, 3, 20]))
        rows = engine.db.execute(
            "select extract(epoch from stepwell.now() - at) * 1000 from fn_events_read(1, 'mail')"
        ).fetchall()
        waited += [float(ms) for (ms,) in rows]
        moved(engine)
    row = lags(engine)["log", "reader:mail"]
    assert row["event_count"] == len(waited)
    for name, quantile in zip(("p50_ms", "p95_ms", "p99_ms"), QUANTILES, strict=True):
        wanted = exact(waited, quantile)
        # Time passes between the reading of this test and the move.
        assert abs(float(row[name]) - wanted) <= wanted * RELATIVE + 1_000, name
    # The same move again notes nothing.
    moved(engine)
    assert lags(engine)["log", "reader:mail"]["event_count"] == len(waited)


def test_the_keeper_samples_how_long_work_waits_for_a_lease_and_events_for_the_seal(
    engine: Engine, clock: Clock
):
    engine.publish("w", operation("a"), operation("b"))
    engine.one("select fn_event_lag_sample()")
    engine.start("w")
    engine.enqueue("j", 2)
    clock.advance(seconds=20)
    session = engine.worker()
    engine.drain(session)
    assert engine.one("select fn_event_lag_sample()") == 4
    assert engine.one("select fn_event_lag_sample()") == 0
    found = {key[1]: row for key, row in lags(engine).items() if key[0] == "queue"}
    assert {name: row["event_count"] for name, row in found.items()} == {
        "default/a": 1,
        "default/b": 1,
        "default/j": 2,
    }
    for name in ("default/a", "default/j"):
        assert 19_000 <= found[name]["p50_ms"] <= 40_000, name
    assert found["default/b"]["p50_ms"] < 19_000
    count = engine.one("select event_count from fn_audit_seal(1)")
    assert engine.one("select fn_event_lag_sample()") == count
    assert lags(engine)["log", "seal"]["event_count"] == count
    assert lags(engine)["log", "seal"]["threshold_p99_ms"] == 300_000


def test_a_sample_of_a_busy_log_is_bounded_and_takes_the_newest(engine: Engine):
    engine.db.execute(
        "update dot_config set config_value = '30' where config_key = 'limits.event_lag_sample'"
    )
    engine.one("select fn_event_lag_sample()")
    session = engine.worker()
    engine.enqueue("j", 40)
    engine.claim(session)
    # Of 80 events the newest 30 are looked at: all of them are leases.
    assert engine.one("select fn_event_lag_sample()") == 30
    moved(engine)
    engine.enqueue("j", 40)
    moved(engine)
    assert lags(engine)["log", "reader:mail"]["event_count"] == 30


@pytest.mark.requirement("GV-10")
def test_a_pair_has_its_own_threshold_else_that_of_its_producer_else_that_of_all(
    engine: Engine, clock: Clock
):
    def own(key: str, milliseconds: int) -> None:
        engine.db.execute(
            "insert into dot_config (config_key, config_value, description) values (%s, %s, 'of a test')"
            " on conflict (config_key) do update set config_value = excluded.config_value",
            (f"event_lag.threshold.{key}", Jsonb(milliseconds)),
        )

    engine.db.execute("insert into event_reader (tenant_id, reader_name) values (1, 'mail'), (1, 'slow.one')")
    engine.enqueue("a")
    clock.advance(seconds=30)
    assert [row["light"] for row in lags(engine).values()] == ["red", "red"]
    engine.one("select fn_problems_watch()")
    open_count = "select array_agg(subject order by subject) from governance_problem where closed_at is null"
    assert engine.one(open_count) == ["mail", "slow.one"]
    # One pair may take a minute: its problem is over, that of the other is not.
    own("p99.log.reader:slow.one", 60_000)
    engine.one("select fn_problems_watch()")
    assert engine.one(open_count) == ["mail"]
    found = lags(engine)
    assert (
        found["log", "reader:slow.one"]["threshold_p99_ms"],
        found["log", "reader:slow.one"]["light"],
    ) == (60_000, "green")
    assert (found["log", "reader:mail"]["threshold_p99_ms"], found["log", "reader:mail"]["light"]) == (
        5_000,
        "red",
    )
    # All pairs of the producer may; the pair's own stays.
    own("p99.log", 90_000)
    engine.one("select fn_problems_watch()")
    assert engine.one(open_count) is None
    assert {row["threshold_p99_ms"] for row in lags(engine).values()} == {60_000, 90_000}
    # Half of the events too late is yellow.
    noted(engine, [900, 900, 100], "reader:mail")
    assert lags(engine)["log", "reader:mail"]["light"] == "yellow"
    own("p50.log.reader:mail", 1_000)
    assert lags(engine)["log", "reader:mail"]["light"] == "green"


def test_of_too_many_pairs_the_latest_are_shown(engine: Engine):
    for reader, wait in (("slow", 4_000), ("slowest", 9_000), ("quick", 5)):
        noted(engine, [wait], f"reader:{reader}")
    assert [consumer for _, consumer in lags(engine)] == ["reader:slowest", "reader:slow", "reader:quick"]
    engine.db.execute("update dot_config set config_value = '2' where config_key = 'limits.event_lag_pairs'")
    assert [consumer for _, consumer in lags(engine)] == ["reader:slowest", "reader:slow"]


def test_a_route_behind_the_log_is_a_problem_until_it_is_followed(engine: Engine, clock: Clock):
    engine.enqueue("take")
    engine.one("select fn_event_route_set(1, 'mail', 'order.paid', 'take')")
    engine.enqueue("a")
    clock.advance(minutes=1)
    engine.one("select fn_problems_watch()")
    subjects = "select array_agg(subject) from governance_problem where closed_at is null"
    assert engine.one(subjects) == ["route:mail"]
    engine.db.execute("select fn_event_routes_follow(100)")
    engine.one("select fn_problems_watch()")
    row = lags(engine)["log", "route:mail"]
    assert row["event_count"] > 0
    assert row["p99_ms"] >= 55_000


@pytest.mark.requirement("GV-08")
def test_the_trend_has_one_point_for_each_five_minutes_with_events(engine: Engine, clock: Clock):
    for wait in (10, 100, 1_000):
        noted(engine, [wait] * 3)
        clock.advance(minutes=10)
    rows = engine.db.execute(
        "select event_count, p50_ms, p99_ms from fn_event_lag_trend(1, 'log', 'reader:mail', '1 hour')"
    ).fetchall()
    assert [row[0] for row in rows] == [3, 3, 3]
    assert [round(float(row[1]), -len(str(int(row[1]))) + 1) for row in rows] == [10, 100, 1_000]
    clock.advance(days=2)
    noted(engine, [5_000])
    # A week is drawn with longer distances; a day has only what is new.
    assert len(
        engine.db.execute("select * from fn_event_lag_trend(1, 'log', 'reader:mail', '7 days')").fetchall()
    ) in (2, 3)
    assert (
        len(
            engine.db.execute("select * from fn_event_lag_trend(1, 'log', 'reader:mail', '1 day')").fetchall()
        )
        == 1
    )
    clock.advance(days=9)
    engine.db.execute("select * from fn_retention_sweep()")
    assert engine.one("select count(*) from event_lag_count") == 0


@pytest.mark.parametrize("window", ["4 minutes", "8 days", "-1 hour", None])
@pytest.mark.parametrize("call", ["fn_event_lag_compute(1, %s)", "fn_event_lag_trend(1, 'log', 'seal', %s)"])
def test_a_window_too_short_or_too_long_is_refused(engine: Engine, window: str | None, call: str):
    with pytest.raises(psycopg.errors.Error, match="window: 5 minutes to 7 days are accepted") as refused:
        engine.db.execute(f"select * from {call.replace('%s', '%s::interval')}", (window,))
    assert refused.value.sqlstate == "SW001"
