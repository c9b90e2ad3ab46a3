"""The generator emits and never executes: each of the four constraints of the document, by every role."""

from __future__ import annotations

from itertools import product

import psycopg
import pytest

from tests.sql import binding
from tests.sql.drive import Engine
from tests.sql.job_graphs.graphing import emit, job, register

NAMES = ["MOT", "mot", "MOT:intake", "future_MOT_executor", "mother-of-task"]
INSERTS = {
    "job_queue": "insert into stepwell.job_queue (tenant_id, job_id, executor) values (1, 1, %s)",
    "consumer_registry": "insert into stepwell.consumer_registry (consumer, executor) values ('w', %s)",
    "job_subscription": "insert into stepwell.job_subscription (tenant_id, executor_kind) values (1, %s)",
    "queue_heartbeat": "insert into stepwell.queue_heartbeat (worker_name, executor_kind) values ('w', %s)",
}


@pytest.mark.requirement("JW-03")
def test_each_surface_refuses_the_generator_by_its_constraint(engine: Engine):
    """By the owner of the schema, whom no right stops."""
    for surface, name in product(INSERTS, NAMES):
        with pytest.raises(psycopg.errors.CheckViolation) as caught, engine.db.transaction():
            engine.db.execute(INSERTS[surface].encode(), (name,))
        diag = caught.value.diag
        assert (diag.constraint_name, diag.table_name) == ("the_generator_never_executes", surface)
    # No other name enters it either: it is a view, and its functions are named.
    for surface, query in INSERTS.items():
        with pytest.raises(psycopg.Error, match=f"{surface} is a view") as refused, engine.db.transaction():
            engine.db.execute(query.encode(), ("default",))
        assert refused.value.sqlstate == "SW004"


@pytest.mark.requirement("JW-03")
def test_a_row_of_a_surface_cannot_become_the_generator(engine: Engine):
    engine.enqueue("op")
    engine.worker(serves=["op"])
    columns = {
        "job_queue": "executor",
        "consumer_registry": "executor",
        "job_subscription": "executor_kind",
        "queue_heartbeat": "executor_kind",
    }
    for surface, column in columns.items():
        assert engine.one(f"select count(*) from {surface}") == 1
        with pytest.raises(psycopg.errors.CheckViolation, match="never executes"), engine.db.transaction():
            engine.db.execute(f"update {surface} set {column} = 'MOT'".encode())


@pytest.mark.requirement("JW-03")
def test_no_role_can_write_a_surface_or_what_is_behind_it(engine: Engine):
    text = binding.token(engine.db, 1, "gen", ["MOT_template_generator", "admin"])
    behind = [
        "insert into stepwell.executor_class (class_name, description) values ('mot', 'x')",
        """insert into stepwell.worker_session (worker_name, executor_class_ids, slot_count, lease_seconds,
               started_at, last_tick_at, expires_at, session_key_hash)
           values ('MOT', '{1}', 1, 1, now(), now(), now(), 'x')""",
        "update stepwell.worker_session set worker_name = 'MOT'",
        "update stepwell.operation set executor_class_id = 99",
    ]
    attempts = [(query, ("MOT",)) for query in INSERTS.values()] + [(query, ()) for query in behind]
    for role, (query, values) in product(binding.APPLICATION_ROLES, attempts):
        with (
            pytest.raises(psycopg.errors.InsufficientPrivilege),
            binding.as_role(engine.db, role, text),
        ):
            engine.db.execute(query.encode(), values)


@pytest.mark.requirement("JW-03")
@pytest.mark.requirement("JW-04")
def test_no_executor_is_registered_under_the_name_of_the_generator(engine: Engine):
    for name in ("mot", "mot-2", "mot_worker", "future_mot_executor", "mother_of_task", "mother-of-task"):
        with pytest.raises(psycopg.errors.CheckViolation) as caught, engine.db.transaction():
            engine.db.execute(
                "insert into executor_class (class_name, description) values (%s, 'x')", (name,)
            )
        assert caught.value.diag.constraint_name == "the_generator_never_executes"
    for name in ("motor", "remote"):
        engine.db.execute("insert into executor_class (class_name, description) values (%s, 'x')", (name,))


REGISTERS = [
    "select fn_worker_register('w', array['MOT'], 1)",
    "select fn_worker_register('w', array['default', 'mot'], 1)",
    "select fn_worker_register('MOT', array['default'], 1)",
    "select fn_worker_register('MOT:intake', array['default'], 1)",
    "select fn_worker_register('Mot', array['default'], 1)",
    "select fn_worker_register('mot:intake', array['default'], 1)",
    "select fn_worker_register(' MOT ', array['default'], 1)",
    "select fn_worker_register('\uff2d\uff2f\uff34', array['default'], 1)",
    "select fn_worker_register('\u041cO\u0422:intake', array['default'], 1)",
    "select fn_worker_register('M\u200bOT', array['default'], 1)",
    "select fn_worker_register('Mother of Task', array['default'], 1)",
    """select fn_operation_register(1, '[{"name": "x", "executor": "MOT"}]')""",
]


@pytest.mark.requirement("JW-03")
def test_the_generator_registers_nowhere(engine: Engine):
    for call in REGISTERS:
        with pytest.raises(psycopg.Error) as caught, engine.db.transaction():
            engine.db.execute(call.encode())
        assert caught.value.sqlstate in ("SW001", "23514")


# What each function of a session gets here; what is not named has its default.
VALUES = {
    "p_tenant_id": "1", "p_lease_no": "1", "p_tenant_ids": "'{1}'", "p_lease_nos": "'{1}'",
    "p_limit": "10", "p_outcomes": "'{completed}'", "p_bodies": "'{null}'", "p_name": "'x'",
    "p_value": "'1'", "p_type": "'x'", "p_payload": "'{}'", "p_error_code": "'XX000'", "p_reason": "'x'",
    "p_dones": "'{1}'", "p_totals": "'{1}'", "p_notes": "'{null}'", "p_labels": "'{}'",
    "p_claim_limit": "1", "p_workflow_name": "'w'", "p_last_batch_id": "0",
    "p_inputs": "array['{}'::jsonb]", "p_operation_names": "array['a']", "p_action": "'{}'",
    "p_receipt_id": "1", "p_outcome": "'void'", "p_actor": "'gen'",
}  # fmt: skip
# They give nothing and change no job: which leases a session has, and its end.
NO_EXECUTION = {"fn_worker_leases_read", "fn_worker_close"}


def session_calls(engine: Engine, session_key: int, unit_id: int) -> dict[str, str]:
    """Every function of the engine that the session of a worker calls, by name."""
    values = VALUES | {
        "p_session_key": str(session_key),
        "p_unit_id": str(unit_id),
        "p_unit_ids": f"'{{{unit_id}}}'",
    }
    found = engine.db.execute(
        """select p.proname, p.proargnames[: p.pronargs - p.pronargdefaults]
               || case when 'p_actor' = any (p.proargnames) then array['p_actor'] end from pg_proc as p
           where p.pronamespace = 'stepwell'::regnamespace and p.proname ~ '^fn_'
               and 'p_session_key' = any (p.proargnames)"""
    ).fetchall()
    return {
        name: f"select stepwell.{name}({', '.join(f'{one} => {values[one]}' for one in names)})"
        for name, names in found
        if name not in NO_EXECUTION
    }


@pytest.mark.requirement("JW-03")
def test_who_is_bound_as_a_generator_gets_no_session_no_lease_and_no_heartbeat(engine: Engine):
    """By every role, also that of workers, and with the key and the lease of a worker."""
    register(engine, "t", job("a"))
    emit(engine, "t")
    session_key = engine.worker()
    (lease,) = engine.claim(session_key)
    emit(engine, "t")
    text = binding.token(engine.db, 1, "gen", ["MOT_template_generator"])
    calls = session_calls(engine, session_key, lease.unit_id)
    assert len(calls) > 15
    calls["fn_worker_register"] = "select stepwell.fn_worker_register('w', array['default'], 1)"
    answers = {}
    for role, (name, query) in product(binding.APPLICATION_ROLES, calls.items()):
        try:
            with binding.as_role(engine.db, role, text):
                engine.db.execute(query.encode())
            answers[role, name] = "accepted"
        except psycopg.Error as error:
            if error.sqlstate != "42501" and "the generator never executes" not in str(error):
                answers[role, name] = str(error)
    assert answers == {}
    assert engine.db.execute("select state_code from job_queue order by job_id").fetchall() == [
        ("in_progress",),
        ("ready",),
    ]


@pytest.mark.requirement("JW-03")
def test_whoever_may_emit_is_a_generator_whatever_the_role_and_the_token(engine: Engine):
    register(engine, "t", job("a"))
    engine.db.execute(
        "insert into permission (tenant_id, role_name, verb) values (1, 'planners', 'graph.emit')"
    )
    text = binding.token(engine.db, 1, "gen", ["planners"])
    narrow = binding.token(engine.db, 1, "gen", ["planners"], verbs=["read"])
    with binding.as_role(engine.db, "stepwell_api", text):
        assert engine.one("select stepwell.fn_mot_graph_emit(1, 't')")["count"] == 1
    for one in (text, narrow):
        with (
            pytest.raises(psycopg.Error, match="the generator never executes"),
            binding.as_role(engine.db, "stepwell_worker", one),
        ):
            engine.db.execute("select stepwell.fn_worker_register('w', array['default'], 1)")


def test_a_worker_executes_what_the_generator_emitted(engine: Engine):
    register(engine, "t", job("a"))
    emit(engine, "t")
    assert [lease.operation for lease in engine.claim(engine.worker())] == ["a"]


@pytest.mark.requirement("JW-09")
def test_content_is_changed_only_by_its_operations(engine: Engine):
    """A job that cuts or restages content has the functions fn_iu_op_*; no process writes behind them."""
    text = binding.token(engine.db, 1, "cutter", ["operator"])
    engine.db.execute("select fn_content_write(1, 'guide', 'abc', 'ada')")
    tables = ("information_unit", "information_unit_version", "cut_request_detail")
    writes = [
        query.format(table)
        for table in tables
        for query in (
            "insert into stepwell.{} default values",
            "update stepwell.{} set tenant_id = 1",
            "delete from stepwell.{}",
        )
    ]
    for role, query in product(binding.APPLICATION_ROLES, writes):
        with (
            pytest.raises(psycopg.errors.InsufficientPrivilege),
            binding.as_role(engine.db, role, text),
        ):
            engine.db.execute(query.encode())
    parts = '[{"code": "x", "body": "ab"}, {"code": "y", "body": "c"}]'
    with binding.as_role(engine.db, "stepwell_api", text):
        done = engine.one("select stepwell.fn_iu_op_split(1, 'guide', %s, 'cutter')", (parts,))
        assert done["state_code"] == "completed"
