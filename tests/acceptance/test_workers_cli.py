"""The command line lists, shows, drains and freezes the workers of real processes."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from tests.acceptance.running import run as stepwell
from tests.acceptance.working import closed_gate, until_at_gate, worker
from tests.support.roles import api
from tests.support.wait import until_row


@pytest.fixture
def effects(db: psycopg.Connection) -> psycopg.Connection:
    db.execute("create table public.effect (step text not null)")
    db.execute("select fn_person_set(1, 'ada', array['operator'])")
    return db


def told(dsn: str, *arguments: str, code: int = 0) -> str:
    done = stepwell("--database-url", api(dsn), *arguments, environment={"COLUMNS": "200"})
    assert done.returncode == code, done.stdout + done.stderr
    return (done.stdout + done.stderr).strip()


def said(dsn: str, *arguments: str) -> Any:
    return json.loads(told(dsn, "workers", *arguments, "--json"))


@pytest.mark.requirement("GV-07", "GV-03")
def test_a_worker_process_drains_and_goes_on(dsn: str, effects: psycopg.Connection, tmp_path):
    states = "select array_agg(state_code order by step_no) from step_run"
    with worker(dsn, tmp_path / "log", "--lease-seconds", "2") as working:
        with closed_gate(dsn, "running:one") as gate_holder:
            told(dsn, "start", "steps", "-i", "order=A")
            until_at_gate(gate_holder)
            (row,) = said(dsn, "list")
            number = str(row["session_id"])
            assert told(dsn, "workers", "drain", number, "--reason", "update", "--as", "ada") == (
                f"worker {number}: drains"
            )
            working.wait_for("worker claims no more")
            assert said(dsn, "list")[0]["is_drained"] is False
        # Its handler finished, and the step behind it is not claimed.
        until_row(effects, f"select ({states}) = array['completed', 'ready', 'not_started']")
        until_row(effects, "select is_drained from v_worker")
        drained = "select sentence_en like 'Drained%' from governance_summary where subject_kind = 'worker'"
        until_row(effects, drained, limit_seconds=90)
        listed = told(dsn, "workers", "list", "--lang", "vi")
        assert "Đã làm xong phần còn lại" in listed
        shown = told(dsn, "workers", "show", number)
        assert "ada: update" in shown
        assert "sql_fn fn_summaries_write 1" in shown
        told(dsn, "workers", "undrain", number, "--reason", "it is updated", "--as", "ada")
        until_row(effects, f"select ({states}) = array['completed', 'completed', 'completed']")
        assert working.stop() == 0


@pytest.mark.requirement("GV-07")
def test_workers_and_executors_are_frozen_by_name_and_number(dsn: str, effects: psycopg.Connection):
    assert told(dsn, "workers", "list") == "no workers"
    effects.execute("select fn_worker_register('orders:1', array['default'], 5, 60, '{}', array['ship'])")
    because = ("--reason", "its disk is full", "--as", "ada")
    assert told(dsn, "workers", "freeze", "1", *because) == "worker 1: frozen"
    assert "its disk is full" in told(dsn, "workers", "show", "1")
    assert told(dsn, "workers", "unfreeze", "1", *because) == "worker 1: not frozen"
    assert told(dsn, "workers", "freeze", "--executor", "default", *because) == "executor default: frozen"
    assert "its disk is full" in told(dsn, "workers", "executors")
    assert said(dsn, "show", "1")["worker"]["frozen_executors"] == ["default"]
    assert said(dsn, "executors")[0]["frozen_by"] == "ada"
    assert told(dsn, "workers", "unfreeze", "--executor", "default", *because).endswith("not frozen")
    assert "is not frozen" in told(dsn, "workers", "unfreeze", "1", *because, code=1)
    assert "either the number of a worker or --executor" in told(dsn, "workers", "freeze", *because, code=2)
    assert "does not exist" in told(dsn, "workers", "show", "4711", code=1)
    assert said(dsn, "list", "--executor", "process") == []


SILENT = "from governance_problem where category_code = 'silent_worker'"


@pytest.mark.requirement("GV-01", "GV-04", "GV-07")
def test_a_killed_worker_is_a_problem_until_another_one_answers(
    dsn: str, effects: psycopg.Connection, tmp_path
):
    effects.execute(
        "update dot_config set config_value = '1' where config_key = 'heartbeat.threshold.default'"
    )
    with worker(dsn, tmp_path / "first", "--lease-seconds", "2") as first:
        until_row(effects, "select last_ok_at is not null from worker_session")
        first.kill()
    # The killed process was the only keeper, so the test looks in its place.
    until_row(
        effects, f"select fn_problems_watch() >= 0 and (select count(*) = 1 {SILENT} and closed_at is null)"
    )
    assert "stepwell:" in told(dsn, "problems", "list", "--category", "silent_worker")
    with worker(dsn, tmp_path / "second", "--lease-seconds", "2") as second:
        until_row(effects, f"select closed_by = 'keeper' {SILENT}")
        assert second.stop() == 0
