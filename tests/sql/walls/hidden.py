"""A run with hidden steps and everything that belongs to them: what the tests of hidden steps look at."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, human, operation
from tests.support.deciding import PLACE, deciding
from tests.worker.acting import put_in_force, rule

# The id and the title of the hidden steps, and what only they say; those that are shown; a body of content.
MARK = "quarry7"
NEAR = "lantern4"
BODY = "Only the finance department reads this."


def history(engine: Engine) -> int:
    """A run whose second step is hidden, and its map with everything inside: with an error, an attempt, an
    output, a receipt, an approval, content, a task, a problem; a dead letter in another run."""
    db = engine.db
    db.execute("select fn_person_set(1, 'ada', array['office'])")
    db.execute("select fn_person_set(1, 'fin', array['finance'])")
    db.execute("select fn_content_write(1, 'prices', %s, 'ada')", (BODY,))
    put_in_force(db, rule("all", "allow", reason="fine"))
    engine.publish(
        "order",
        operation(f"{NEAR}-first", milestone="Begun"),
        operation(
            f"{MARK}-check",
            title=f"{MARK} title",
            milestone=f"{MARK} stone",
            operation=f"{MARK}.op",
            retry={"max_attempts": 2, "initial_seconds": 0},
        ),
        {"id": f"{MARK}-many", "kind": "map", "over": "$.input.of", "title": f"{MARK} many"},
        human(f"{MARK}-sign", role="office", title=f"{MARK} sign", content="prices",
              tasks=[{"id": f"{MARK}-task", "role": "office"}]),
        human(f"{NEAR}-last", role="office", content="prices"),
        operation(f"{MARK}-inner", scope=3, operation=f"{MARK}.inner"),
        edges=[
            (f"{NEAR}-first", f"{MARK}-check"),
            (f"{MARK}-check", f"{MARK}-many"),
            (f"{MARK}-many", f"{MARK}-sign"),
            (f"{MARK}-sign", f"{NEAR}-last"),
        ],
    )  # fmt: skip
    run: int = engine.start("order", {"of": [1, 2]}, "A-1")
    session = engine.worker()
    engine.complete(session, *engine.claim(session))
    (check,) = engine.claim(session)
    receipt = _act(engine, session, check)
    engine.report(session, (check, "failed", {"error": {"type": "Timeout", "message": f"{MARK} failed"}}))
    engine.timers()
    (check,) = engine.claim(session)
    engine.complete(session, check, output={"said": MARK})
    engine.drain(session)
    assert receipt
    sign = engine.unit(run, f"{MARK}-sign")
    approval = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada', %s)", (sign, f"{MARK} why"))
    engine.person("bob")
    db.execute(deciding("approve", PLACE, f"{MARK} vote"), (approval, "bob"))
    db.execute("select fn_step_comment(1, %s, 'ada', %s)", (sign, f"{MARK} said"))
    dead = engine.start("order", {"of": [1]}, "A-2")
    while engine.states(dead)[f"{MARK}-check"] != "cannot_complete":
        for lease in engine.claim(session):
            if lease.operation == f"{MARK}.op":
                error = {"type": "Bad", "message": f"{MARK} died"}
                engine.report(session, (lease, "failed", {"error": error, "class": "permanent"}))
            else:
                engine.complete(session, lease)
        engine.timers()
    return run


def _act(engine: Engine, session: int, lease: Any) -> int:
    action = {
        "connector": "http", "operation": "post", "target": f"https://{MARK}.example/x",
        "call": "http.post#1", "fields": {"of": MARK}, "reversible": True,
    }  # fmt: skip
    call = (session, lease.unit_id, lease.lease_no)
    answer = engine.one("select fn_action_propose(%s, 1, %s, %s, %s)", (*call, Jsonb(action)))
    receipt = int(answer["receipt_id"])
    settled = (*call, receipt, Jsonb({"result": {"text": MARK}, "external_id": f"{MARK}-1"}))
    engine.one("select fn_action_settle(%s, 1, %s, %s, %s, 'confirmed', %s)", settled)
    return receipt


def hide(db: psycopg.Connection) -> None:
    for step in ("check", "many", "sign"):
        db.execute("select fn_step_permission_set(1, 'order', %s, '{finance}')", (f"{MARK}-{step}",))


def hidden_units(db: psycopg.Connection, run_id: int) -> list[int]:
    """The numbers of everything that belongs to a hidden step of the run."""
    rows = db.execute(
        """with steps as (
               select u.unit_id from work_unit as u
               inner join workflow_step_def as d on u.version_id = d.version_id and u.def_no = d.step_no
               where u.unit_id >> 20 = %s and u.scope in ('step', 'task') and d.step_id like %s)
           select unit_id from steps
           union select approval_id from approval_detail where subject_unit_id in (select unit_id from steps)
           union select receipt_id from action_receipt where unit_id in (select unit_id from steps)
           union select unit_id from work_unit where parent_id in (select unit_id from steps)
           order by 1""",
        (run_id, f"{MARK}%"),
    ).fetchall()
    return [unit for (unit,) in rows]
