"""The meter counts what server processes took, also those that ended before the second reading."""

from __future__ import annotations

from pathlib import Path

import psycopg

from bench.meter import Meter, postgres_cpu_between
from tests.support.wait import until

WORK = "select count(sha256(n::text::bytea)) from generate_series(1, 100000) as n"
WORK_SECONDS = 0.3
# The kernel counts ended children in ticks of 10 ms.
TICKS_SECONDS = 0.05


def on_cpu_seconds(pid: int) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def work(busy: psycopg.Connection) -> float:
    """Keeps the process of the server busy; returns what it took since its start."""
    while (taken_seconds := on_cpu_seconds(busy.info.backend_pid)) < WORK_SECONDS:
        busy.execute(WORK)
    return taken_seconds


def end(busy: psycopg.Connection) -> None:
    pid = busy.info.backend_pid
    busy.close()
    until(lambda: not Path(f"/proc/{pid}").exists(), what="the process of the server to end")


def test_the_time_of_an_ended_process_is_counted(dsn: str):
    meter = Meter(dsn)
    before = meter.read()
    with psycopg.connect(dsn, autocommit=True) as busy:
        taken_seconds = work(busy)
        end(busy)
    counted = postgres_cpu_between(before, meter.read())
    meter.close()
    assert counted is not None
    assert counted >= taken_seconds - TICKS_SECONDS


def test_the_time_before_the_first_reading_is_not_subtracted_when_the_process_ends(dsn: str):
    meter = Meter(dsn)
    with psycopg.connect(dsn, autocommit=True) as busy:
        work(busy)
        before = meter.read()
        end(busy)
    counted = postgres_cpu_between(before, meter.read())
    meter.close()
    assert counted is not None
    assert counted >= -TICKS_SECONDS
