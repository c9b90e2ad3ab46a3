"""Health names the session whose transaction holds up vacuum, and the one on whose lock others wait."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import psycopg
import pytest

from stepwell.config import Settings
from stepwell.store.health import in_the_way
from stepwell.store.health.deep import examine_deep
from stepwell.store.health.examine import examine
from stepwell.store.health.finding import Level
from tests.sql.drive import Engine, operation
from tests.support.wait import until


def sessions(engine: Engine) -> dict[str, Any]:
    found: dict[str, Any] = engine.one("select fn_sessions_in_the_way()")
    return found


def settings(dsn: str, folder: Path) -> Settings:
    return Settings(database_url=dsn, data_dir=folder)


@pytest.mark.requirement("GV-09")
def test_the_session_with_the_oldest_transaction_is_named(engine: Engine, dsn: str):
    with psycopg.connect(dsn, application_name="report token=hunter2") as old:
        pid = old.execute("select pg_backend_pid(), pg_current_xact_id()").fetchone()[0]  # type: ignore[index]
        found = until(lambda: (sessions(engine)["horizon"] or {}).get("pid") == pid and sessions(engine))
        horizon = found["horizon"]
    assert (horizon["state"], horizon["database"]) == ("idle in transaction", engine.db.info.dbname)
    assert horizon["seconds"] >= 0
    assert "hunter2" not in horizon["program"], "secrets are cut out"
    assert "pg_current_xact_id" in horizon["query"]


def test_the_session_that_others_wait_for_is_named(engine: Engine, dsn: str):
    with psycopg.connect(dsn) as holder, psycopg.connect(dsn) as waiter:
        holder.execute("select from stepwell.tenant where tenant_id = 1 for update")
        pid, waits = holder.info.backend_pid, waiter.info.backend_pid
        take = "select from stepwell.tenant where tenant_id = 1 for update"
        thread = threading.Thread(target=waiter.execute, args=(take,))
        thread.start()
        try:
            lock = until(lambda: sessions(engine)["lock"])
        finally:
            holder.rollback()
            thread.join()
    assert (lock["pid"], lock["waits"]) == (pid, waits)
    assert sessions(engine)["lock"] is None


def test_the_months_that_the_log_has_left_are_counted(engine: Engine):
    engine.one("select fn_partitions_ensure()")
    ahead = engine.one("select config_value from dot_config where config_key = 'partition.months_ahead'")
    assert sessions(engine)["months_left"] >= int(ahead)


def test_the_doctor_names_them_with_a_remedy(
    engine: Engine, dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(in_the_way, "HORIZON_WARN_SECONDS", 0.0)
    with psycopg.connect(dsn, application_name="yearly report") as old:
        old.execute("select pg_current_xact_id()")
        pid = old.info.backend_pid
        (found,) = [one for one in examine(settings(dsn, tmp_path), dsn) if one.check == "vacuum"]
    assert found.level is Level.WARNING
    assert f"process {pid} (yearly report, role " in found.detail
    assert found.remedy == f"let it end, or: select pg_terminate_backend({pid})"
    assert "tiến trình" in (found.detail_vi or "")


def test_the_deep_check_goes_through_all_runs_and_names_rows_at_fault(
    engine: Engine, dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("stepwell.store.health.deep.SLICE_RUNS", 2)
    engine.publish("w", operation("a"))
    runs = [engine.start("w") for _ in range(7)]
    (good,) = examine_deep(settings(dsn, tmp_path), dsn)
    assert (good.level, good.detail) == (Level.OK, "every invariant holds in 7 runs and jobs")
    engine.db.execute("update run_progress set red_count = 3 where run_id = %s", (runs[4],))
    *faults, last = examine_deep(settings(dsn, tmp_path), dsn)
    assert {fault.check for fault in faults} == {"counters_equal_a_recount"}
    assert all(f"run {runs[4]}" in fault.detail for fault in faults)
    assert all(fault.remedy and fault.remedy_vi for fault in faults)
    assert last.level is Level.FAILED
