"""A run that ends again, or whose approvals and receipts change after its end, gets its bundle again."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from stepwell.govern.verify import verify
from stepwell.keeper import Keeper
from tests.sql.drive import Engine, Lease, operation
from tests.support.deciding import deciding
from tests.support.roles import as_process
from tests.support.wait import until
from tests.worker.acting import put_in_force, rule

ACTION: dict[str, Any] = {"connector": "c", "operation": "o", "target": "t", "call": "t#1", "fields": {}}


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    put_in_force(db, rule("free", "allow"))
    db.execute("select fn_person_set(1, 'ben', '{reviewer,operator}')")
    return Engine(db)


def keep(engine: Engine, dsn: str) -> None:
    """Passes of a keeper until no ended run waits for its bundle."""

    def nothing_waits() -> bool:
        engine.db.execute("update evidence_due set retry_at = null")
        Keeper(as_process(dsn, "keeper")).run_once()
        ended = "select count(*) from evidence_due inner join run_detail using (tenant_id, run_id)"
        return engine.one(f"{ended} where finished_at is not null") == 0

    until(nothing_waits)


def newest(engine: Engine, run_id: int) -> dict[str, Any]:
    """The JSON files of the bundle that was made last; it is valid."""
    (data,) = engine.db.execute(
        """select f.data from evidence_bundle as b
           inner join evidence_file as f using (tenant_id, run_id, contents_digest)
           where b.run_id = %s order by b.event_id desc limit 1""",
        (run_id,),
    ).fetchone()  # type: ignore[misc]
    assert verify(bytes(data)) == []
    with zipfile.ZipFile(io.BytesIO(data)) as bundle:
        return {name: json.loads(bundle.read(name)) for name in bundle.namelist() if name.endswith(".json")}


def bundle_count(engine: Engine) -> int:
    found: int = engine.one("select count(*) from evidence_bundle")
    return found


def act(engine: Engine, session: int, lease: Lease, *, settle: bool = True) -> int:
    said = engine.one(
        "select fn_action_propose(%s, 1, %s, %s, %s)",
        (session, lease.unit_id, lease.lease_no, Jsonb(ACTION)),
    )
    if said["answer"] == "go" and settle:
        settled(engine, session, lease, said["receipt_id"])
    receipt: int = said["receipt_id"]
    return receipt


def settled(engine: Engine, session: int, lease: Lease, receipt: int) -> None:
    engine.one(
        "select fn_action_settle(%s, 1, %s, %s, %s, 'confirmed', %s)",
        (session, lease.unit_id, lease.lease_no, receipt, Jsonb({"result": 1})),
    )


@pytest.mark.requirement("RT-10", "RT-16")
def test_a_failed_run_that_is_retried_has_the_bundle_of_its_last_end(engine: Engine, dsn: str):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    session = engine.worker()
    (lease,) = engine.claim(session)
    act(engine, session, lease)
    engine.kill(session, lease)
    assert engine.run_state(run_id) == "failed"
    keep(engine, dsn)
    assert newest(engine, run_id)["run.json"]["state_code"] == "failed"
    # The keeper sees the request before it is granted. The effect is not made again, so nothing is judged.
    required = "update dot_config set config_value = 'true' where config_key = %s"
    engine.db.execute(required, ("approval.required.replay",))
    asked = engine.one("select fn_run_retry(1, %s, 'ada')", (run_id,))
    keep(engine, dsn)
    engine.one(deciding("approve", "ben"), (asked["approval_id"],))
    (again,) = engine.claim(session)
    act(engine, session, again)
    engine.complete(session, again)
    assert engine.run_state(run_id) == "completed"
    keep(engine, dsn)
    assert newest(engine, run_id)["run.json"]["state_code"] == "completed"
    assert engine.one("select count(*) from evidence_due") == 0


@pytest.mark.requirement("RT-10", "RT-16")
def test_a_corrected_run_has_the_bundle_of_its_last_end(engine: Engine, dsn: str):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    session = engine.worker()
    engine.complete(session, *engine.claim(session))
    unit = engine.unit(run_id, "a")
    approval = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada')", (unit,))
    keep(engine, dsn)
    assert [one["state_code"] for one in newest(engine, run_id)["approvals.json"]] == ["requested"]
    engine.one(deciding("approve", "ben"), (approval,))
    keep(engine, dsn)
    assert [one["state_code"] for one in newest(engine, run_id)["approvals.json"]] == ["approved"]
    engine.one("select fn_step_reopen_for_correction(1, %s, 'ben', 'data_error', %s)", (unit, approval))
    count = bundle_count(engine)
    keep(engine, dsn)
    assert bundle_count(engine) == count, "a run that goes on has no new bundle"
    engine.complete(session, *engine.claim(session), output={"n": 2})
    assert engine.run_state(run_id) == "completed"
    keep(engine, dsn)
    assert bundle_count(engine) == count + 1
    assert newest(engine, run_id)["run.json"]["state_code"] == "completed"


@pytest.mark.requirement("RT-10", "RT-16")
def test_an_effect_that_is_settled_after_the_end_is_in_the_bundle(engine: Engine, dsn: str):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    session = engine.worker()
    (lease,) = engine.claim(session)
    receipt = act(engine, session, lease, settle=False)
    engine.one("select fn_run_cancel(1, %s, 'ben')", (run_id,))
    keep(engine, dsn)
    assert [one["state_code"] for one in newest(engine, run_id)["receipts.json"]] == ["unconfirmed"]
    settled(engine, session, lease, receipt)
    keep(engine, dsn)
    assert [one["state_code"] for one in newest(engine, run_id)["receipts.json"]] == ["confirmed"]
    count = bundle_count(engine)
    keep(engine, dsn)
    assert bundle_count(engine) == count


@pytest.mark.requirement("RT-10")
def test_a_bundle_has_the_shapes_of_inputs_and_outputs_and_no_value(engine: Engine, dsn: str):
    """003, 8: inputs and outputs as metadata only, verdicts, receipts, costs, checkpoints of the chain."""
    engine.publish("w", operation("a"))
    run_id = engine.start("w", {"customer": "Rosalind", "amount": 40})
    session = engine.worker()
    (lease,) = engine.claim(session)
    act(engine, session, lease)
    engine.complete(session, lease, output={"invoice": "Elion-7"})
    keep(engine, dsn)
    files = newest(engine, run_id)
    shapes = {one["label"]: one["shape"] for one in files["values.json"]}
    assert shapes[f"input:{run_id}"] == ["$: object", "$.amount: number", "$.customer: string"]
    assert shapes[f"output:{lease.unit_id}:1"] == ["$: object", "$.invoice: string"]
    assert {"decisions.json", "approvals.json", "receipts.json", "costs.json"} <= set(files)
    data = engine.one("select data from evidence_file")
    with zipfile.ZipFile(io.BytesIO(data)) as bundle:
        whole = b"".join(bundle.read(name) for name in bundle.namelist())
        assert bundle.read("chain.jsonl").count(b"\n") >= 1
    assert b"Rosalind" not in whole
    assert b"Elion-7" not in whole
