"""No role writes a table, sees rows of another tenant, or calls a function that belongs to another role."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.binding import bound
from tests.sql.drive import Engine, operation

ROLES = ["stepwell_api", "stepwell_keeper", "stepwell_reader", "stepwell_slack", "stepwell_worker"]
WORKERS_CALLS = [
    "fn_job_claim",
    "fn_job_report",
    "fn_worker_heartbeat",
    "fn_worker_leases_read",
    "fn_progress_save",
    "fn_expression_evaluate",
]
KEEPERS_CALLS = [
    "fn_keeper_lead",
    "fn_timers_fire",
    "fn_leases_recover",
    "fn_partitions_ensure",
    "fn_audit_due",
]
API_CALLS = [
    "fn_run_cancel",
    "fn_run_pause",
    "fn_state_transition_validate",
    "fn_run_retry",
    "fn_schedule_set",
]


@contextmanager
def acting_as(db: psycopg.Connection, role: str, tenant_id: int | None = None) -> Iterator[None]:
    """Inside the block the connection has the rights of the role and is bound to the tenant."""
    if tenant_id is not None:
        with bound(db, tenant_id, role):
            yield
        return
    with db.transaction(force_rollback=True):
        db.execute(f"set local role {role}")
        yield


@pytest.fixture
def two_tenants(engine: Engine) -> tuple[int, int]:
    """A run of tenant 1 and a run of tenant 2."""
    other = engine.one("insert into tenant (tenant_code) values ('other') returning tenant_id")
    runs = []
    for driver in (engine, Engine(engine.db, other)):
        driver.publish("w", operation("a"))
        runs.append(driver.start("w", {"secret": driver.tenant_id}))
    assert other == 2
    return runs[0], runs[1]


def tables(db: psycopg.Connection) -> list[str]:
    return [
        name
        for (name,) in db.execute(
            """select relname from pg_class where relnamespace = 'stepwell'::regnamespace
               and relkind in ('r', 'p') order by relname"""
        )
    ]


@pytest.mark.requirement("SM-04")
@pytest.mark.parametrize("role", ROLES)
def test_no_role_changes_a_state_directly(db: psycopg.Connection, two_tenants, role: str):
    with pytest.raises(psycopg.errors.InsufficientPrivilege), acting_as(db, role, 1):
        db.execute("update stepwell.work_unit set state_code = 'completed'")


@pytest.mark.parametrize("role", ROLES)
def test_no_role_writes_any_table(db: psycopg.Connection, role: str):
    writable = [
        (table, privilege)
        for table in tables(db)
        for privilege in ("insert", "update", "delete", "truncate")
        if db.execute(
            "select has_table_privilege(%s, %s, %s)", (role, f"stepwell.{table}", privilege)
        ).fetchone()
        == (True,)
    ]
    assert writable == []


@pytest.mark.parametrize("role", ["stepwell_api", "stepwell_reader"])
def test_a_role_bound_to_a_tenant_sees_that_tenant_only(db: psycopg.Connection, two_tenants, role: str):
    for tenant_id, run_id in enumerate(two_tenants, start=1):
        with acting_as(db, role, tenant_id):
            assert db.execute("select run_id, input from stepwell.workflow_run").fetchall() == [
                (run_id, {"secret": tenant_id})
            ]
            for view in (
                "step_run",
                "job_queue",
                "v_unit_dialect",
                "vw_audit_event_timeline",
                "v_queue_health",
            ):
                found = db.execute(f"select distinct tenant_id from stepwell.{view}").fetchall()
                assert found == [(tenant_id,)], view


@pytest.mark.parametrize("role", ["stepwell_api", "stepwell_reader"])
def test_a_role_bound_to_no_tenant_sees_no_rows(db: psycopg.Connection, two_tenants, role: str):
    with acting_as(db, role):
        assert db.execute("select count(*) from stepwell.workflow_run").fetchone() == (0,)
        assert db.execute("select count(*) from stepwell.event_log").fetchone() == (0,)


def test_every_table_with_a_tenant_has_row_level_security(db: psycopg.Connection):
    """This includes a table of a later migration: the routine finds it by its column tenant_id."""
    db.execute("create table stepwell.later (tenant_id int, note text)")
    db.execute("select fn_privileges_apply()")
    open_tables = db.execute(
        """select c.relname from pg_class c
           join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'
           where c.relnamespace = 'stepwell'::regnamespace and c.relkind in ('r', 'p')
               and not c.relispartition and (not c.relrowsecurity
                   or not exists (select from pg_policy p where p.polrelid = c.oid))"""
    ).fetchall()
    assert open_tables == []


def test_a_bound_role_reads_reasons_and_events_of_its_own_tenant_only(db: psycopg.Connection, two_tenants):
    with acting_as(db, "stepwell_reader", 1):
        step = (two_tenants[0] << 20) + 1
        assert db.execute("select code from stepwell.fn_why_not_running(%s)", (step,)).fetchone() == (
            "no_worker",
        )
        assert db.execute("select count(*) from stepwell.fn_events_read(2)").fetchone() == (0,)
    with pytest.raises(psycopg.Error) as caught, acting_as(db, "stepwell_reader", 1):
        db.execute("select * from stepwell.fn_why_not_running(%s, 2)", ((two_tenants[1] << 20) + 1,))
    assert caught.value.sqlstate == "SW002"


def test_a_worker_works_through_functions_only(db: psycopg.Connection, two_tenants):
    with acting_as(db, "stepwell_worker"):
        assert db.execute("select stepwell.fn_tenant_find('other')").fetchone() == (2,)
        (session,) = db.execute("select stepwell.fn_worker_register('w', array['default'], 10)").fetchone()  # type: ignore[misc]
        leases = db.execute(
            "select tenant_id, unit_id, lease_no from stepwell.fn_job_claim(%s, 10)", (session,)
        ).fetchall()
        assert len(leases) == 2
        answers = db.execute(
            "select row_kind, operation_name from stepwell.fn_job_report(%s, %s, %s, %s, %s, %s)",
            (session, *map(list, zip(*leases, strict=True)), ["completed"] * 2, ["1", "2"]),
        ).fetchall()
        assert answers == [("ended", "completed")] * 2
    with pytest.raises(psycopg.errors.InsufficientPrivilege), acting_as(db, "stepwell_worker"):
        db.execute("select * from stepwell.work_unit")


def test_the_api_starts_and_cancels_through_functions(db: psycopg.Connection, two_tenants):
    with acting_as(db, "stepwell_api", 1):
        (run_id, _) = db.execute(
            "select * from stepwell.fn_run_start(1, 'w', %s::jsonb[], p_actor => 'binder')", ([Jsonb({})],)
        ).fetchone()  # type: ignore[misc]
        assert db.execute("select stepwell.fn_run_cancel(1, %s, 'binder')", (run_id,)).fetchone() == (
            "cancelled",
        )


@pytest.mark.parametrize(
    "call",
    [
        "fn_run_start(2, 'w', array['{}'::jsonb])",
        "fn_job_enqueue(2, 'op', array['{}'::jsonb])",
        "fn_operation_register(2, '[]')",
        "fn_workflow_publish(2, '{}', 'ada')",
        "fn_signal(2, 1, 'x', '{}', 'k')",
        "fn_run_cancel(2, 2, 'cli:ada')",
        "fn_run_pause(2, 2, 'cli:ada')",
        "fn_run_resume(2, 2, 'cli:ada')",
        "fn_run_retry(2, 2, 'cli:ada')",
        "fn_job_cancel(2, 2097153, 'cli:ada')",
        "fn_job_retry(2, 2097153, 'cli:ada')",
        "fn_schedule_set(2, 's', 'w', '* * * * *', 'UTC', '{}', 'all', 1, now(), 'ada')",
        "fn_schedule_pause(2, 's', true)",
        "fn_schedule_delete(2, 's')",
        "fn_events_ack(2, 'r', 1, 1)",
        "fn_approval_decide(2, 1, 'approve', 'ada', 'x')",
        "fn_state_transition_validate(2097152, 'workflow_run', 'in_progress', 'cancelled', 'system', 'rpc',"
        " 'workflow_cancel', '{}', false, 2)",
    ],
)
def test_a_session_bound_to_a_tenant_cannot_act_for_another(db: psycopg.Connection, two_tenants, call: str):
    """Row level security does not bind these functions, so each of them checks the tenant."""
    with pytest.raises(psycopg.Error) as caught, acting_as(db, "stepwell_api", 1):
        db.execute(f"select stepwell.{call}")
    assert caught.value.sqlstate == "SW007"


@pytest.mark.parametrize(
    ("role", "may", "may_not"),
    [
        ("stepwell_worker", WORKERS_CALLS, [*API_CALLS, *KEEPERS_CALLS]),
        ("stepwell_keeper", KEEPERS_CALLS, [*API_CALLS, *WORKERS_CALLS]),
        ("stepwell_slack", ["fn_slack_cards_take"], [*API_CALLS, *WORKERS_CALLS, *KEEPERS_CALLS]),
        ("stepwell_api", API_CALLS, [*WORKERS_CALLS, *KEEPERS_CALLS]),
        (
            "stepwell_reader",
            ["fn_why_not_running", "fn_events_read"],
            [*API_CALLS, *WORKERS_CALLS, *KEEPERS_CALLS],
        ),
    ],
)
def test_each_role_can_call_only_its_own_functions(db: psycopg.Connection, role: str, may, may_not):
    callable_ones = {
        name
        for (name,) in db.execute(
            """select proname from pg_proc where pronamespace = 'stepwell'::regnamespace
               and has_function_privilege(%s, oid, 'execute')""",
            (role,),
        )
    }
    assert set(may) <= callable_ones
    assert not set(may_not) & callable_ones
    assert "_transition_apply" not in callable_ones
    assert "fn_privileges_apply" not in callable_ones


def test_a_database_user_without_a_role_can_call_nothing(db: psycopg.Connection, dsn: str, plain_role):
    with psycopg.connect(plain_role(dsn), autocommit=True) as stranger:
        for query in ("select stepwell.now()", "select stepwell.fn_timers_fire()", "table stepwell.tenant"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                stranger.execute(query)


def test_applying_again_changes_nothing(db: psycopg.Connection):
    query = """select coalesce(proname, relname), acl::text from (
                   select proname, null::name as relname, proacl as acl from pg_proc
                   where pronamespace = 'stepwell'::regnamespace
                   union all select null, relname, relacl from pg_class
                   where relnamespace = 'stepwell'::regnamespace) x order by 1, 2"""
    before = db.execute(query).fetchall()
    db.execute("select fn_privileges_apply()")
    assert db.execute(query).fetchall() == before
