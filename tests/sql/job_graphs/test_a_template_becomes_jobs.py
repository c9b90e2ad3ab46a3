"""Emit: one job workflow and its jobs in one transaction, with the fields of the document."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

from stepwell.errors import from_database
from tests.sql.drive import Engine, operation
from tests.sql.job_graphs.graphing import emit, generator, job, perform, register, states, status
from tests.support.clock import Clock

PARAMS = {"order": {"type": "string"}, "size": {"type": "integer", "default": 1}}


@pytest.mark.requirement("JW-02")
@pytest.mark.requirement("JW-12")
def test_emit_returns_one_workflow_and_its_jobs_with_the_fields_of_the_document(engine: Engine, clock: Clock):
    register(
        engine,
        "intake",
        job("fetch", job_kind="orders.fetch", executor="process", source_ref="$.input.order", priority=7),
        job("check", "fetch", target_ref="erp:checks", payload_ref="s3://bucket/x", max_attempts=2),
        job("report", "fetch", "check", delay_seconds=60),
        workflow_kind="customer_inbound",
        params=PARAMS,
        description="what a customer ordered",
    )
    found = emit(engine, "intake", {"order": "o-17"}, p_correlation_id="c-1", p_priority=10)
    workflow_id = found["workflow_id"]
    jobs = [(workflow_id << 20) + at for at in (1, 2, 3)]
    assert found == {"workflow_id": workflow_id, "step_job_ids": jobs, "count": 3, "is_new": True}
    assert engine.db.execute(
        """select workflow_kind, generator, template_id, template_version, status, correlation_id,
               params_keys, job_count, open_count, parent_workflow_id, emitted_by from job_workflow"""
    ).fetchall() == [
        (
            "customer_inbound",
            "MOT:intake",
            "intake",
            1,
            "active",
            "c-1",
            ["order", "size"],
            3,
            3,
            None,
            "planner",
        )
    ]
    rows = engine.db.execute(
        """select job_kind, executor, idempotency_key, source_ref, target_ref, payload_ref, safe_payload,
               process_after - created_at, priority, workflow_id, parents, parent_job_id, max_attempts,
               status, correlation_id from job_queue order by job_id"""
    ).fetchall()

    def safe(local_id: str) -> dict[str, object]:
        return {"local_id": local_id, "template_id": "intake", "params_keys_only": ["order", "size"]}

    after = engine.one("select interval '60 seconds'")
    ids = [f"{workflow_id}:{name}" for name in ("fetch", "check", "report")]
    assert rows == [
        ("orders.fetch", "process", ids[0], "o-17", None, None, safe("fetch"), None, 17,
         workflow_id, None, None, 5, "queued", "c-1"),
        ("check", "default", ids[1], None, "erp:checks", "s3://bucket/x", safe("check"), None,
         10, workflow_id, jobs[:1], jobs[0], 2, "—", "c-1"),
        ("report", "default", ids[2], None, None, None, safe("report"), after, 10,
         workflow_id, jobs[:2], jobs[0], 5, "—", "c-1"),
    ]  # fmt: skip


def test_a_handler_gets_the_params_its_references_and_what_it_declares(engine: Engine):
    register(
        engine,
        "t",
        job("a", source_ref="$.input.order", target_ref='a "text"'),
        job("b", "a", inputs={"found": "$.steps.a.output.id", "same": "$.input.order"}),
        params=PARAMS,
    )
    emit(engine, "t", {"order": "o-1"})
    worker = engine.worker()
    (lease,) = engine.claim(worker)
    assert (lease.input, lease.bound_input) == (
        {"order": "o-1", "size": 1},
        {"source_ref": "o-1", "target_ref": 'a "text"'},
    )
    (lease,) = engine.report(worker, (lease, "completed", {"id": 5}), claim_limit=1)
    assert lease.bound_input == {"found": 5, "same": "o-1"}


def test_a_key_emits_one_workflow(engine: Engine):
    register(engine, "t", job("a"))
    first = emit(engine, "t", p_key="k")
    again = emit(engine, "t", p_key="k")
    assert again == {**first, "is_new": False}
    assert engine.one("select count(*) from job_queue") == 1


def test_an_emit_that_is_refused_leaves_nothing(engine: Engine):
    register(engine, "t", job("a"), params=PARAMS)
    with pytest.raises(psycopg.Error), engine.db.transaction():
        emit(engine, "t", {"order": 5})
    assert engine.one("select count(*) from work_unit") == 0


def test_the_same_template_is_one_version_and_another_one_the_next(engine: Engine):
    assert register(engine, "t", job("a")) == 1
    workflow_id = emit(engine, "t")["workflow_id"]
    assert register(engine, "t", job("a")) == 1
    assert register(engine, "t", job("a"), job("b", "a")) == 2
    assert emit(engine, "t")["count"] == 2
    assert engine.one("select job_count from job_workflow where workflow_id = %s", (workflow_id,)) == 1


@pytest.mark.parametrize("seconds", [30, 1800])
def test_a_delay_counts_from_the_start_of_the_workflow(engine: Engine, clock: Clock, seconds: int):
    register(engine, "t", job("a"), job("b", "a", delay_seconds=seconds), job("c", delay_seconds=seconds))
    workflow_id = emit(engine, "t")["workflow_id"]
    worker = engine.worker()
    perform(engine, worker, "a")
    assert states(engine, workflow_id) == {"a": "completed", "b": "not_started", "c": "not_started"}
    assert engine.one("select code from fn_why_not_running(%s)", ((workflow_id << 20) + 2,)) == "schedule"
    clock.advance(seconds=seconds - 20)
    engine.one("select fn_timers_fire()")
    assert states(engine, workflow_id)["c"] == "not_started"
    clock.advance(seconds=20)
    engine.one("select fn_timers_fire()")
    assert {"b": "ready", "c": "ready"}.items() <= states(engine, workflow_id).items()
    perform(engine, worker, "b", "c")
    assert status(engine, workflow_id) == "succeeded"


def test_a_delay_that_is_over_before_its_parents_does_not_hold_the_job(engine: Engine, clock: Clock):
    register(engine, "t", job("a"), job("b", "a", delay_seconds=30))
    workflow_id = emit(engine, "t")["workflow_id"]
    clock.advance(seconds=30)
    engine.one("select fn_timers_fire()")
    assert states(engine, workflow_id) == {"a": "ready", "b": "not_started"}
    worker = engine.worker()
    perform(engine, worker, "a")
    assert states(engine, workflow_id)["b"] == "ready"


def test_a_template_is_emitted_and_not_started(engine: Engine):
    register(engine, "t", job("a"))
    started = "workflow MOT:t is a template of job graphs and is not started"
    only = "is accepted only in templates of job graphs"
    publish = "select fn_workflow_publish(1, '%s', 'a')"
    step = '{"format": 2, "name": "u", "steps": [{"no": 1, "id": "s", %s}]}'
    refused = {
        "select fn_run_start(1, 'MOT:t', array['{}'::jsonb])": started,
        "select fn_schedule_set(1, 's', 'MOT:t', '0 * * * *', 'UTC', '{}', 'skip', 1, now(), 'a')": started,
        publish % '{"format": 2, "name": "MOT:u", "steps": []}': (
            "workflow MOT:u: name: names that begin with MOT: belong to templates of job graphs"
        ),
        publish
        % (step % '"kind": "subworkflow", "workflow": "MOT:t"'): f"workflow u: step s, workflow: {only}",
        publish % (step % '"kind": "operation", "operation": "o", "join": "any"'): (
            f"workflow u: step s, join: {only}"
        ),
    }
    for query, message in refused.items():
        with pytest.raises(psycopg.Error) as caught, engine.db.transaction():
            engine.db.execute(query.encode())
        assert from_database(caught.value).message == message


def test_who_emits_has_the_role_of_the_generator(engine: Engine):
    register(engine, "t", job("a"))
    generator(engine, "ada")
    engine.person("ben")
    for name, is_refused in (
        ("ada", False),
        ("cli:ada", False),
        ("ben", True),
        ("nobody", True),
        (None, True),
    ):
        query = "select fn_mot_graph_emit(1, 't', '{}', null, %s)"
        if not is_refused:
            engine.one(query, (name,))
            continue
        with pytest.raises(psycopg.Error) as caught, engine.db.transaction():
            engine.one(query, (name,))
        assert caught.value.sqlstate == "SW007"
        assert "has not the role MOT_template_generator" in str(caught.value)


def test_only_an_emit_uses_the_keys_of_a_template(engine: Engine):
    register(engine, "t", job("a"))
    engine.publish("w", operation("a"))
    start = "select run_id from fn_run_start(1, %s, array['{}'::jsonb], array['k'], %s)"
    for workflow, trigger in (("w", "MOT:t"), ("MOT:t", None)):
        with pytest.raises(psycopg.Error) as caught, engine.db.transaction():
            engine.one(start, (workflow, trigger))
        assert caught.value.sqlstate == "SW001"
    assert emit(engine, "t", p_key="k")["is_new"] is True


def test_a_trigger_over_http_starts_no_template(engine: Engine):
    register(engine, "t", job("a"))
    engine.db.execute("select fn_person_set(1, 'ada', array['operator'])")
    with pytest.raises(psycopg.Error) as caught, engine.db.transaction():
        engine.one(
            "select address from fn_trigger_set(1, 'posted', %s)",
            (Jsonb({"as": "ada", "workflow": "MOT:t"}),),
        )
    assert caught.value.sqlstate == "SW001"


@pytest.mark.requirement("JW-02")
def test_a_param_that_is_left_out_has_its_default(engine: Engine):
    params = {"order": {"type": "string"}, "shop": {"type": "string", "default": "s-1"}}
    register(engine, "inner", job("x", source_ref="$.input.shop"), params=params)
    register(
        engine, "outer", job("a", source_ref="$.input.shop"),
        job("named", template="inner", params={"order": "$.input.order"}), job("all", template="inner"),
        params=params | {"other": {"default": 1}},
    )  # fmt: skip
    emit(engine, "outer", {"order": "o-1", "shop": "s-2"})
    found = engine.db.execute(
        "select parent_job_id & 1048575, params_keys, source_ref from job_workflow as w"
        " left join v_graph_job as j using (tenant_id, workflow_id)"
        " where j.job_kind is not null order by w.workflow_id"
    ).fetchall()
    # A nested graph gets the params that its job names, or else those of the outer graph that it knows.
    assert found == [
        (None, ["order", "other", "shop"], "s-2"),
        (2, ["order", "shop"], "s-1"),
        (3, ["order", "shop"], "s-2"),
    ]
    emit(engine, "outer", {"order": "o-2"})
    assert engine.one("select source_ref from job_queue where step_id = 'a' order by job_id desc") == "s-1"
