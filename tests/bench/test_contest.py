"""A cell has a time limit and always ends; the database decides when its work is done."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bench import runner
from bench.contestant import Order, StopWatch, Tally, as_steps, percentiles
from bench.meter import Meter, cost_between
from bench.runner import Contestant, answer_of
from bench.server import as_url, bench_server
from bench.workloads import WORKLOADS
from tests.bench.processes import is_running
from tests.support.server import RunServer
from tests.support.wait import until


def contestant(module: str) -> Contestant:
    return Contestant("odd", f"tests.bench.{module}", Path(sys.executable))


def test_a_contestant_that_never_answers_is_killed_with_its_children_and_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(runner, "GRACE_SECONDS", 2.0)
    pid_file, left_file = tmp_path / "pid", tmp_path / "left"
    options = {"pid_file": str(pid_file), "left_file": str(left_file)}
    answer = answer_of(contestant("endless"), Order("W1", "", {}, 1.0, options))
    assert answer["failed"]
    assert answer["empty_because"] == "did not end in time"
    child_pid = int(pid_file.read_text())
    until(lambda: not is_running(child_pid), what="the end of the child")
    assert not Path(left_file.read_text()).exists()


def test_the_table_shows_the_error_of_a_failed_contestant():
    answer = answer_of(contestant("silent"), Order("W1", "", {}, 5.0))
    assert answer["empty_because"] == "ended with code 1: no such table"


def test_a_peer_that_is_tuned_is_a_column_beside_its_default_settings():
    plain, tuned = runner.peer_contestants("graphile-worker", Path(sys.executable))
    assert (plain.name, plain.options) == ("graphile-worker", {})
    assert tuned.name == "graphile-worker, tuned"
    assert tuned.options["concurrentJobs"] > 1
    assert plain.module == tuned.module == "bench.peers.graphile_worker"


def test_a_workload_of_ours_is_run_by_the_peers_that_it_names():
    ran = {
        name
        for name in runner.PEERS
        if runner.peer_contestants(name, Path(sys.executable))[0].runs(WORKLOADS["P2K"])
    }
    assert ran == {"restate"}


def test_a_server_without_fsync_is_refused(server: RunServer):
    with (
        pytest.raises(SystemExit, match=r"fsync = off; it must be on"),
        bench_server(server.admin_conninfo),
    ):
        pass


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("host=/tmp/a user=me dbname=x", "postgresql://me@/bench?host=%2Ftmp%2Fa"),
        ("postgresql://me:pass%20word@localhost:5433/x", "postgresql://me:pass%20word@localhost:5433/bench"),
        ("host=db.example user=me dbname=x", "postgresql://me@db.example/bench"),
    ],
)
def test_every_kind_of_address_becomes_a_url(given: str, wanted: str):
    assert as_url(given, "bench") == wanted


def test_the_meter_counts_the_cost_of_a_write(empty_dsn: str):
    meter = Meter(empty_dsn)
    try:
        before = meter.read()
        with psycopg.connect(empty_dsn, autocommit=True) as connection:
            connection.execute("create table t as select n from generate_series(1, 20000) as g (n)")
        cost = cost_between(before, meter.read(), 1)
    finally:
        meter.close()
    assert cost["commits"] is not None
    assert cost["commits"] >= 1
    assert cost["wal_bytes"] is not None
    assert cost["wal_bytes"] > 20000
    assert cost["postgres_cpu_us"] is None or cost["postgres_cpu_us"] > 0


class AskedMeter(Meter):
    """Sets `asked` when it is read for the first time."""

    asked: asyncio.Event

    def scalar(self, query: str) -> Any:
        self.asked.set()
        return super().scalar(query)


def test_work_counts_only_when_the_database_has_it(empty_dsn: str):
    async def watch_one_row(connection: psycopg.Connection) -> dict[str, Any]:
        meter = AskedMeter(empty_dsn)
        meter.asked = asyncio.Event()
        tally = Tally(1)
        watch = StopWatch(meter, 30.0)
        watch.begin()
        finishing = asyncio.create_task(watch.finish(tally, "select count(*) from todo"))
        threading.Thread(target=tally.add).start()
        await meter.asked.wait()
        assert not finishing.done()
        connection.execute("delete from todo")
        numbers = await finishing
        meter.close()
        return numbers

    with psycopg.connect(empty_dsn, autocommit=True) as connection:
        connection.execute("create table todo as select 1 as n")
        numbers = asyncio.run(watch_one_row(connection))
    assert numbers["partial"] is False
    assert numbers["units"] == 1


def test_at_the_time_limit_only_finished_work_counts(empty_dsn: str):
    async def half_done() -> dict[str, Any]:
        meter = Meter(empty_dsn)
        tally = Tally(10)
        watch = StopWatch(meter, 0.05)
        watch.begin()
        for _ in range(5):
            tally.add()
        numbers = as_steps(await watch.finish(tally, "select 0"), atomic_start=False)
        meter.close()
        return numbers

    numbers = asyncio.run(half_done())
    assert numbers["partial"] is True
    assert numbers["units"] == 5
    assert numbers["steps_per_second_loaded"] is None


def test_the_percentiles_of_a_hundred_samples_are_right():
    found = percentiles([n / 1000 for n in range(1, 101)])
    assert found["p50_ms"] == pytest.approx(50.5)
    assert found["p99_ms"] == pytest.approx(100)
    assert percentiles([]) == {"samples": 0}
