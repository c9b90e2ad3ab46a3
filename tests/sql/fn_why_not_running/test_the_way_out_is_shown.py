"""The chain of causes goes to the root: what helps there, who can do it, and when it is expected."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.sql.drive import Engine, human, operation, subworkflow
from tests.sql.people.asking import People
from tests.support.clock import Clock
from tests.worker.acting import put_in_force, rule


def path(engine: Engine, unit: int) -> list[dict[str, Any]]:
    query = "select * from fn_unblock_path(%s, %s) order by place"
    with engine.db.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query, (unit, engine.tenant_id)).fetchall()


def nested(engine: Engine, *inner: dict[str, Any]) -> int:
    """A run whose first step is a sub-workflow, and a step after it."""
    engine.publish("inner", *inner)
    engine.publish("outer", subworkflow("call", "inner"), operation("after"))
    return engine.start("outer")


def child(engine: Engine) -> int:
    found: int = engine.one("select run_id from workflow_run where workflow = 'inner'")
    return found


def test_the_chain_goes_through_a_sub_workflow_to_its_person(engine: Engine):
    run = nested(engine, human("sign", role="office"))
    rows = path(engine, engine.unit(run, "after"))
    assert [(row["unit_name"], row["code"]) for row in rows] == [
        ("after", "dependency"), ("call", "subworkflow"), ("sign", "human"),
    ]  # fmt: skip
    assert [row["place"] for row in rows] == [1, 2, 3]
    root, sign = rows[-1], engine.unit(child(engine), "sign")
    assert (root["unit_id"], root["who"]) == (sign, "role:office")
    assert (root["action"], root["target_id"], root["needs"]) == ("claim", sign, [])
    assert root["call_path"] == f"/steps/{sign}/claim"
    assert root["command"] == f"stepwell step claim {child(engine)}.1"
    assert [row["action"] for row in rows[:-1]] == [None, None]


def test_the_action_at_the_root_helps(engine: Engine):
    """Each command that the chain names is followed until the run ends."""
    People(engine).add("ada", "office")
    run = nested(engine, human("sign", role="office"), operation("x"))
    session = engine.worker()
    after = engine.unit(run, "after")
    done = []
    for _ in range(10):
        root = path(engine, after)[-1]
        done.append((root["code"], root["action"]))
        match root["code"], root["action"]:
            case "human", "claim":
                engine.one("select fn_step_claim(1, %s, 'ada')", (root["target_id"],))
            case "in_progress", "complete":
                engine.one("select fn_step_complete(1, %s, 'ada', '{}')", (root["target_id"],))
            case "queued", _:
                engine.complete(session, *engine.claim(session), output={})
            case "ended", _:
                break
    assert done == [
        ("human", "claim"), ("in_progress", "complete"), ("queued", None), ("queued", None), ("ended", None),
    ]  # fmt: skip
    assert engine.run_state(run) == "completed"


def test_the_root_may_be_a_run_that_is_paused(engine: Engine):
    run = nested(engine, operation("x"))
    engine.one("select fn_run_pause(1, %s, 'cli:ada')", (child(engine),))
    rows = path(engine, run << 20)
    assert [row["code"] for row in rows] == ["subworkflow", "paused"]
    root = rows[-1]
    assert root["unit_id"] == root["target_id"] == child(engine) << 20
    assert (root["action"], root["call_path"]) == ("resume", f"/runs/{child(engine)}/resume")
    assert root["command"] == f"stepwell runs resume {child(engine)}"


def test_the_root_may_be_an_approval(engine: Engine):
    put_in_force(engine.db, rule("asks", "needs_approval"))
    engine.publish("w", operation("a"), operation("b"))
    run = engine.start("w")
    session = engine.worker()
    (lease,) = engine.claim(session)
    action = '{"connector": "c", "operation": "o", "target": "t", "call": "x", "fields": {}}'
    ask = "select fn_action_propose(%s, 1, %s, %s, %s)"
    approval = int(engine.one(ask, (session, lease.unit_id, lease.lease_no, action))["approval_id"])
    body = {"event": f"approval.decided.{approval}", "facet": "waiting_human"}
    engine.report(session, (lease, "waiting", body))
    rows = path(engine, engine.unit(run, "b"))
    assert [row["code"] for row in rows] == ["dependency", "approval"]
    assert (rows[-1]["action"], rows[-1]["target_id"]) == ("decide", approval)
    assert rows[-1]["command"] == f"stepwell approvals approve {approval >> 20}"


def test_who_stands_in_line_is_led_to_who_has_the_slot(engine: Engine):
    first, second = engine.enqueue("op", 2, p_concurrency_key="crm", p_max_concurrency=1)
    assert [row["code"] for row in path(engine, second)] == ["concurrency", "no_worker"]
    session = engine.worker("ada")
    engine.claim(session)
    rows = path(engine, second)
    assert [(row["unit_id"], row["code"]) for row in rows] == [(second, "concurrency"), (first, "leased")]
    assert rows[-1]["who"] == "worker:ada"


def test_of_several_causes_the_one_that_needs_help_is_followed(engine: Engine):
    engine.publish(
        "w", operation("runs"), human("asks", role="office"), operation("last"),
        edges=[("runs", "last"), ("asks", "last")],
    )  # fmt: skip
    run = engine.start("w")
    engine.claim(engine.worker())
    rows = path(engine, engine.unit(run, "last"))
    assert [row["unit_name"] for row in rows] == ["last", "asks"]


def test_the_chain_has_a_bound(engine: Engine):
    engine.publish("w", *(operation(f"s{at}") for at in range(60)))
    run = engine.start("w")
    rows = path(engine, engine.unit(run, "s59"))
    assert len(rows) == 50
    assert {row["code"] for row in rows} == {"dependency"}


def test_a_chain_that_comes_back_to_itself_ends(engine: Engine, db: psycopg.Connection):
    """No graph has a cycle; a row that somebody changed has."""
    engine.publish("w", operation("a"), operation("b"))
    run = engine.start("w")
    db.execute(
        "insert into workflow_step_relations (tenant_id, version_id, from_no, to_no)"
        " select tenant_id, version_id, 2, 1 from workflow_version"
    )
    db.execute("update work_unit set state_code = 'not_started' where unit_id = %s", (engine.unit(run, "a"),))
    rows = path(engine, engine.unit(run, "b"))
    assert len(rows) == len({row["unit_id"] for row in rows}) <= 2


def test_the_wait_is_expected_from_past_runs(engine: Engine, clock: Clock):
    engine.person("ada")
    engine.publish("w", human("sign"), operation("after"))
    session = engine.worker(lease_seconds=86_400)
    for _ in range(3):
        run = engine.start("w")
        clock.advance(minutes=1)
        engine.one("select fn_step_claim(1, %s, 'ada')", (engine.unit(run, "sign"),))
        clock.advance(minutes=10)
        engine.one("select fn_step_complete(1, %s, 'ada', '{}')", (engine.unit(run, "sign"),))
        engine.drain(session)
    run = engine.start("w")
    rows = path(engine, engine.unit(run, "after"))
    assert [row["past_runs"] for row in rows] == [3, 3]
    at = [row["expected_at"] - clock.now() for row in rows]
    assert timedelta(minutes=10) < at[1] <= at[0] < timedelta(minutes=12)


def test_without_past_runs_nothing_is_expected(engine: Engine):
    engine.publish("w", human("sign"), operation("after"))
    rows = path(engine, engine.unit(engine.start("w"), "after"))
    assert [(row["expected_at"], row["past_runs"]) for row in rows] == [(None, None)] * 2


def test_a_time_is_expected_as_it_is(engine: Engine, clock: Clock):
    (job,) = engine.enqueue("op", p_process_after=clock.now().replace(year=2099))
    (row,) = path(engine, job)
    assert (row["code"], row["expected_at"].year, row["past_runs"]) == ("schedule", 2099, None)


def test_a_unit_that_does_not_exist_is_refused(engine: Engine):
    with pytest.raises(psycopg.Error) as caught:
        path(engine, 12345)
    assert caught.value.sqlstate == "SW002"
