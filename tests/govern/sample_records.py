"""Makes records that follow from single events: receives a connection, replays, corrects, comments."""

from __future__ import annotations

import psycopg
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, human, operation
from tests.support.databases import configure
from tests.support.deciding import deciding
from tests.worker.acting import put_in_force, rule

PROPOSED = "select fn_replay_propose(1, %s, 'ada', 'the period is open again', %s)"


def make_records(db: psycopg.Connection) -> None:
    """Plans that ended, stopped, run, wait and were refused; a replay of one job; a step corrected twice."""
    engine = Engine(db)
    engine.person("ada", "bob", "cleo")
    db.execute("select fn_person_set(1, 'dan', array['reviewer'])")
    configure(db, "approval.required.replay", "true")
    session = engine.worker("records")
    _replay(engine, session)
    _correct(engine, session)
    put_in_force(db, rule("all", "allow"))


def _replay(engine: Engine, session: int) -> None:
    for name in ("done", "stopped", "running", "refused", "asked"):
        engine.enqueue(f"replay.{name}", 4)
    engine.kill(session, *engine.claim(session, 100))
    plans = {
        name: engine.one(PROPOSED, (Jsonb({"operation": f"replay.{name}"}), [1, 2]))
        for name in ("done", "stopped", "running", "refused", "asked")
    }
    for name in ("done", "stopped", "running"):
        engine.one(deciding("approve", "bob"), (int(plans[name]["approval_id"]),))
    engine.one(deciding("reject", "bob", "not now"), (int(plans["refused"]["approval_id"]),))
    for _ in range(4):
        engine.one("select fn_replays_settle()")
        engine.one("select fn_replay_plans_carry()")
        for lease in engine.claim(session):
            if lease.operation == "replay.stopped":
                engine.kill(session, lease)
            elif lease.operation == "replay.done":
                engine.complete(session, lease, output={"ok": True})
    engine.one("select fn_replays_settle()")
    engine.one("select fn_replay_plans_carry()")
    (job,) = engine.enqueue("replay.single")
    engine.kill(session, *engine.claim(session))
    asked = engine.one("select fn_job_retry(1, %s, 'ada', 'again')", (job,))
    engine.one(deciding("approve", "bob"), (int(asked["approval_id"]),))
    engine.drain(session)
    engine.one("select fn_replays_settle()")


def _correct(engine: Engine, session: int) -> None:
    engine.publish("correct", human("sign", role="warehouse"), operation("book"))
    run_id = engine.start("correct")
    step = engine.unit(run_id, "sign")
    engine.db.execute("select fn_step_claim(1, %s, 'ada')", (step,))
    engine.one("select fn_step_comment(1, %s, 'ada', 'the sum is wrong')", (step,))
    engine.db.execute("select fn_step_complete(1, %s, 'ada', %s)", (step, Jsonb({"sum": 1})))
    engine.drain(session)
    for is_first in (True, False):
        approval = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada')", (step,))
        engine.one(deciding("approve", "bob"), (approval,))
        engine.one(
            "select fn_step_reopen_for_correction(1, %s, 'dan', %s, %s)", (step, "data_error", approval)
        )
        if is_first:
            engine.db.execute("select fn_step_claim(1, %s, 'ada')", (step,))
            engine.db.execute("select fn_step_complete(1, %s, 'ada', %s)", (step, Jsonb({"sum": 2})))
