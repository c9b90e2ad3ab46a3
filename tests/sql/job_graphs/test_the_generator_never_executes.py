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
    """select fn_operation_register(1, '[{"name": "x", "executor": "MOT"}]')""",
]


@pytest.mark.requirement("JW-03")
def test_the_generator_registers_nowhere(engine: Engine):
    for call in REGISTERS:
        with pytest.raises(psycopg.Error) as caught, engine.db.transaction():
            engine.db.execute(call.encode())
        assert caught.value.sqlstate in ("SW001", "23514")


@pytest.mark.requirement("JW-03")
def test_who_is_bound_as_a_generator_gets_no_session_no_lease_and_no_heartbeat(engine: Engine):
    """By every role, also that of workers: the binding says who acts, and a generator does not execute."""
    register(engine, "t", job("a"))
    emit(engine, "t")
    session_key = engine.worker()
    text = binding.token(engine.db, 1, "gen", ["MOT_template_generator"])
    calls = [
        ("select stepwell.fn_worker_register('w', array['default'], 1)", ()),
        ("select stepwell.fn_job_claim(%s, 10)", (session_key,)),
        ("select stepwell.fn_job_claim_each(%s, 10)", (session_key,)),
        ("select stepwell.fn_worker_heartbeat(%s, '{}', '{}', '{}', 0)", (session_key,)),
        ("select stepwell.fn_worker_serves(%s, array['a'])", (session_key,)),
        (
            "select stepwell.fn_job_report(%s, '{1}', '{1}', '{1}', '{completed}', '{null}', 10)",
            (session_key,),
        ),
        ("select stepwell.fn_job_report(%s, '{1}', '{1}', '{1}', '{completed}', '{null}')", (session_key,)),
        (
            "select stepwell.fn_job_report_free(%s, '{1}', '{1}', '{1}', '{completed}', '{null}')",
            (session_key,),
        ),
        ("select stepwell.fn_run_start_here(%s, 1, 1, 'w', array['{}'::jsonb])", (session_key,)),
    ]
    accepted = []
    for role, (query, values) in product(binding.APPLICATION_ROLES, calls):
        try:
            with binding.as_role(engine.db, role, text):
                engine.db.execute(query.encode(), values)
            accepted.append((role, query))
        except psycopg.Error as error:
            if error.sqlstate not in ("42501", "SW007"):
                raise
    assert accepted == []
    assert engine.one("select state_code from job_queue") == "ready"


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
