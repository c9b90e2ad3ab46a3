"""The meter counts what server processes took, also those that ended before the second reading."""

from __future__ import annotations

from pathlib import Path

import psycopg

from bench.meter import Meter, postgres_cpu_between
from tests.support.wait import until

WORK = "select count(sha256(n::text::bytea)) from generate_series(1, 100000) as n"
WORK_SECONDS = 0.3


def on_cpu_seconds(pid: int) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def test_the_time_of_an_ended_process_is_counted(dsn: str):
    meter = Meter(dsn)
    before = meter.read()
    with psycopg.connect(dsn, autocommit=True) as busy:
        pid = busy.info.backend_pid
        while (taken_seconds := on_cpu_seconds(pid)) < WORK_SECONDS:
            busy.execute(WORK)
    until(lambda: not Path(f"/proc/{pid}").exists(), what="the process of the server to end")
    counted = postgres_cpu_between(before, meter.read())
    meter.close()
    # The kernel counts ended children in ticks of 10 ms.
    assert counted is not None
    assert counted >= taken_seconds - 0.05
