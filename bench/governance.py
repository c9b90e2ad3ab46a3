"""Measure the problems page: receives a fresh database URL, returns what its reads take with a large log.

SQL copies one ended run (see `history`), so that the log has a million events, or ten million. Beside them
stand problems of real causes: dead letters, late readers and rejected events. The reads are those of the
page, with the rights of the API.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import psycopg

from bench import shapes
from bench.engine import Load, fill, open_session
from bench.history import write_past

EVENTS = 1_000_000
LARGE_EVENTS = 10_000_000
QUICK_EVENTS = 2_000
# Each copied run has so many events: started, ready, started, completed, completed.
EVENTS_OF_RUN = 5
LETTERS = 1_000
QUICK_LETTERS = 20
READERS = 10
REPEATS = 30
WANTED_MS = 50
_READS = {
    "counts": "select * from stepwell.vw_governance_counts where tenant_id = 1",
    "list": "select * from stepwell.fn_governance_read(1, 'dead_letter')",
    "lag": "select * from stepwell.fn_event_lag_compute(1, '1 day')",
    "trend": "select * from stepwell.fn_event_lag_trend(1, 'log', 'reader:r1', '1 day')",
}
_RECOUNT = (
    "select category_code, count(*) from stepwell.governance_problem where closed_at is null group by 1"
)
_KEPT = "select category_code, open_count from stepwell.governance_count where open_count > 0"


def measure(database_url: str, *, quick: bool, large: bool) -> dict[str, Any]:
    events = QUICK_EVENTS if quick else LARGE_EVENTS if large else EVENTS
    with psycopg.connect(database_url, autocommit=True, prepare_threshold=1) as connection:
        session_key = open_session(connection)
        _late_readers(connection)
        write_past(connection, session_key, events // EVENTS_OF_RUN)
        _dead_letters(connection, session_key, QUICK_LETTERS if quick else LETTERS)
        connection.execute("select stepwell.fn_event_reject_note(1, 'nobody.registered_it', 0, '{}')")
        _watch(connection)
        connection.execute("vacuum analyze")
        row = connection.execute("select count(*) from stepwell.event_log").fetchone()
        assert row is not None
        kept = dict(connection.execute(_KEPT).fetchall())
        assert kept == dict(connection.execute(_RECOUNT).fetchall()), (
            "the kept counts are not those of a recount"
        )
        look = _took(connection, "select stepwell.fn_problems_watch()")
        connection.execute("select stepwell.fn_person_set(1, 'ada', array['operator'])")
        token = connection.execute(
            "select token from stepwell.fn_token_create(1, 'ada', 'bench', 86400)"
        ).fetchone()
        assert token is not None
        reads = {name: _read(connection, query, str(token[0])) for name, query in _READS.items()}
    return {
        "events": row[0],
        "problems": sum(kept.values()),
        "categories": len(kept),
        "reads": reads,
        "look": look,
    }


def _late_readers(connection: psycopg.Connection[Any]) -> None:
    """Readers that have moved, and then stay at the begin of the log: their lag is kept and they are late."""
    for number in range(READERS):
        connection.execute(
            "insert into stepwell.event_reader (tenant_id, reader_name) values (1, %s)", [f"r{number}"]
        )
        for hour in range(24):
            connection.execute(
                "insert into stepwell.event_lag_count"
                " (tenant_id, slot_at, producer, consumer, bucket, event_count)"
                " select 1, stepwell._lag_slot(stepwell.now() - make_interval(hours => %s, mins => m * 5)),"
                " 'log', 'reader:' || %s, b, 10 from generate_series(0, 11) as m,"
                " generate_series(40, 70) as b"
                " on conflict do nothing",
                [hour, f"r{number}"],
            )


def _dead_letters(connection: psycopg.Connection[Any], session_key: int, count: int) -> None:
    load = Load("dead", shapes.chain(1), count, 100)
    fill(connection, load, count)
    dead = '{"error": {"type": "Dead", "message": "it is dead"}}'
    while True:
        rows = connection.execute(
            "select tenant_id, unit_id, lease_no from stepwell.fn_job_claim(%s, 100)"
            " where row_kind = 'lease'",
            [session_key],
        ).fetchall()
        if not rows:
            return
        tenant_ids, unit_ids, lease_nos = (list(column) for column in zip(*rows, strict=True))
        connection.execute(
            "select * from stepwell.fn_job_report(%s, %s::int[], %s::bigint[], %s::int[], %s::text[],"
            " %s::text[], 0)",
            [session_key, tenant_ids, unit_ids, lease_nos, ["dead"] * len(rows), [dead] * len(rows)],
        )


def _watch(connection: psycopg.Connection[Any]) -> None:
    """The keeper looks until it finds nothing new."""
    while True:
        row = connection.execute("select stepwell.fn_problems_watch()").fetchone()
        if row is None or row[0] == 0:
            return


def _read(connection: psycopg.Connection[Any], query: str, token: str) -> dict[str, float]:
    """As a request of the API reads: a transaction with its role, bound to a person."""
    found: list[float] = []
    for _ in range(REPEATS):
        with connection.transaction():
            connection.execute("set local role stepwell_api")
            connection.execute("select stepwell.fn_session_bind(%s)", [token])
            begun = time.perf_counter()
            connection.execute(query).fetchall()
            found.append((time.perf_counter() - begun) * 1e3)
    return _figures(found)


def _took(connection: psycopg.Connection[Any], query: str) -> dict[str, float]:
    found: list[float] = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        connection.execute(query).fetchall()
        found.append((time.perf_counter() - begun) * 1e3)
    return _figures(found)


def _figures(found: list[float]) -> dict[str, float]:
    return {"p50_ms": statistics.median(found), "slowest_ms": max(found)}


def missed(result: dict[str, Any]) -> list[str]:
    counts = result["reads"]["counts"]["p50_ms"]
    return [] if counts < WANTED_MS else [f"the counts take {counts:.0f} ms; wanted: below {WANTED_MS} ms"]


def markdown(result: dict[str, Any]) -> str:
    lines = [
        f"The problems page with {result['events']:,} events in the log and {result['problems']:,} open "
        f"problems of {result['categories']} categories (the counts below {WANTED_MS} ms are wanted):",
        "",
        "| read, as the API | median, ms | slowest, ms |",
        "|---|---|---|",
    ]
    names = {
        "counts": "the counts of all categories",
        "list": "the list of dead letters, 50 rows",
        "lag": f"the lag of {READERS} readers over a day",
        "trend": "the trend of one reader over a day",
    }
    for name, label in names.items():
        read = result["reads"][name]
        lines.append(f"| {label} | {read['p50_ms']:.1f} | {read['slowest_ms']:.1f} |")
    look = result["look"]
    lines.append(
        f"| a look of the keeper that finds nothing new | {look['p50_ms']:.1f} | {look['slowest_ms']:.1f} |"
    )
    return "\n".join(lines) + "\n"
