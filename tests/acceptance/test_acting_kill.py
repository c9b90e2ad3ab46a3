"""kill -9 of a worker around an effect: the next worker resolves it, and the effect happened once."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from stepwell.testing import check_invariants
from stepwell.unit_numbers import short
from tests.acceptance.working import closed_gate, until_at_gate, worker
from tests.support.processes import stepwell
from tests.support.roles import api
from tests.support.wait import until_row
from tests.worker.acting import Ledger, put_in_force, rule

APP = str(Path(__file__).with_name("acting_app.py"))
LEASE = ("--lease-seconds", "2")


@pytest.fixture
def ledger(db: psycopg.Connection, tmp_path, monkeypatch) -> Ledger:
    put_in_force(db, rule("free", "allow"))
    monkeypatch.setenv("LEDGER_PATH", str(tmp_path / "ledger"))
    return Ledger(tmp_path / "ledger")


def start(dsn: str, operation: str) -> None:
    done = stepwell("start", "act", "-i", f"op={operation}", env={"STEPWELL_DATABASE_URL": api(dsn)})
    assert done.returncode == 0, done.stderr


@pytest.mark.requirement("RT-05")
@pytest.mark.parametrize(
    ("operation", "gate", "effects_by_then"),
    [
        pytest.param("put", "before", 0, id="idempotent, before the effect"),
        pytest.param("put", "after", 1, id="idempotent, between effect and receipt"),
        pytest.param("add", "before", 0, id="confirmable, before the effect"),
        pytest.param("add", "after", 1, id="confirmable, between effect and receipt"),
        pytest.param("add", "returning", 1, id="after the receipt"),
    ],
)
def test_the_effect_of_a_killed_worker_happens_once(
    dsn, db, tmp_path, ledger, operation, gate, effects_by_then
):
    with worker(dsn, tmp_path / "first.log", *LEASE, app=APP) as first:
        with closed_gate(dsn, gate) as gate_holder:
            start(dsn, operation)
            until_at_gate(gate_holder)
            assert len(ledger.keys()) == effects_by_then
            first.kill()
        with worker(dsn, tmp_path / "second.log", *LEASE, app=APP):
            until_row(db, "select state_code in ('completed', 'failed', 'cancelled') from workflow_run")
    assert db.execute("select state_code from workflow_run").fetchone() == ("completed",)
    assert len(ledger.keys()) == 1
    assert db.execute("select state_code from v_action_receipt").fetchall() == [("confirmed",)]
    assert check_invariants(dsn) == []


@pytest.mark.requirement("RT-05")
def test_an_effect_that_cannot_be_confirmed_waits_for_a_person(dsn, db, tmp_path, ledger):
    with worker(dsn, tmp_path / "first.log", *LEASE, app=APP) as first:
        with closed_gate(dsn, "after") as gate_holder:
            start(dsn, "blind")
            until_at_gate(gate_holder)
            first.kill()
        with worker(dsn, tmp_path / "second.log", *LEASE, app=APP):
            until_row(db, "select state_code = 'waiting' from step_run")
            (receipt,) = db.execute("select receipt_id from v_action_receipt").fetchone()
            listed = stepwell(
                "receipts", "list", "--state", "unconfirmed", env={"STEPWELL_DATABASE_URL": api(dsn)}
            )
            assert short(receipt) in listed.stdout
            db.execute("select stepwell.fn_principal_change(1, 'ben', array['operator'])")
            settled = stepwell(
                "receipts", "settle", str(receipt), "confirmed", "--reason", "it is there", "--result",
                "null", "--as", "ben",
                env={"STEPWELL_DATABASE_URL": api(dsn)},
            )  # fmt: skip
            assert settled.stdout == f"receipt {short(receipt)}: confirmed\n", settled.stderr
            until_row(db, "select state_code = 'completed' from workflow_run")
    assert len(ledger.keys()) == 1
    assert check_invariants(dsn) == []
