"""The key of a worker's session: without it nobody claims, reports or asks in the name of the session.

The number of a session is in the log for everybody to read. The functions come from the catalog, so a new one
that takes a key needs a call here.
"""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, Lease, operation
from tests.worker.acting import put_in_force, rule

ACTION = Jsonb(
    {"connector": "c", "operation": "o", "target": "t", "fields": {}, "writes": False, "call": "1"}
)

# Function → its arguments after the key, for a unit that the session has leased.
CALLS: dict[str, str] = {
    "fn_worker_serves": "array['op']",
    "fn_worker_heartbeat": "array[1], array[%(unit)s], array[%(lease)s], 0",
    "fn_worker_close": "",
    "fn_worker_leases_read": "0",
    "fn_job_claim": "5",
    "fn_job_claim_each": "5",
    "fn_job_report": "array[1], array[%(unit)s], array[%(lease)s], array['completed'], array['{}'], 5",
    "fn_job_report_free": "array[1], array[%(unit)s], array[%(lease)s], array['completed'], array['{}']",
    "fn_job_report_set_aside": "1, %(unit)s, %(lease)s, 'XX000', 'why'",
    "fn_run_start_here": "5, 1, 'w', array['{}'::jsonb], p_actor => 'client'",
    "fn_run_label_here": "1, %(unit)s, %(lease)s, jsonb_build_object('customer', 'Acme')",
    "fn_checkpoint_save": "1, %(unit)s, %(lease)s, 'name', '1'",
    "fn_progress_save": "array[1], array[%(unit)s], array[%(lease)s], array[1.0], array[2.0], array['half']",
    "fn_event_emit": "1, %(unit)s, %(lease)s, 'told', '{}'",
    "fn_expression_evaluate": "1, %(unit)s, %(lease)s",
    "fn_job_workflows_refresh": "1, %(unit)s, %(lease)s",
    "fn_action_propose": "1, %(unit)s, %(lease)s, %(action)s",
    "fn_action_settle": "1, %(unit)s, %(lease)s, %(receipt)s, 'confirmed'",
    "fn_action_reversal": "1, %(unit)s, %(lease)s, %(receipt)s",
}
# Without a lease in its favour a call may answer instead of raising: nothing, zero, false or a refusal.
NOTHING = ([], [(0,)], [(False,)])
# With a key of its own another worker may do this for itself.
FOR_ITSELF = ("fn_worker_close", "fn_worker_serves", "fn_job_claim", "fn_job_claim_each", "fn_run_start_here")


@pytest.fixture
def leased(engine: Engine) -> tuple[Engine, int, Lease]:
    """A worker with a leased step, a receipt that it intends, and more work in the queue."""
    engine.publish("w", operation("op"))
    for _ in range(3):
        engine.start("w")
    session = engine.worker()
    (lease,) = engine.claim(session, 1)
    engine.db.execute("select fn_event_type_register(1, 'told', 'said', null)")
    put_in_force(engine.db, rule("free", "allow"))
    return engine, session, lease


def ask(engine: Engine, name: str, key: int, lease: Lease, receipt: int = 0) -> list[Any]:
    given = CALLS[name] % {
        "unit": f"{lease.unit_id}::bigint",
        "lease": lease.lease_no,
        "receipt": receipt,
        "action": "%s",
    }
    arguments = f"{key}::bigint" + (f", {given}" if given else "")
    parameters = (ACTION,) if "%s" in arguments else ()
    return engine.db.execute(f"select * from {name}({arguments})", parameters).fetchall()


def answer(engine: Engine, name: str, key: int, lease: Lease) -> tuple[str, str]:
    """What a call without the lease is told: its outcome, and the text of an error."""
    try:
        rows = ask(engine, name, key, lease)
    except psycopg.Error as error:
        return str(error.sqlstate), str(error)
    if rows in NOTHING:
        return "nothing", ""
    # A heartbeat lists the lease as lost; a report is refused.
    return ("lost" if rows[0][-1] == "lost" else str(rows[0][0])), ""


def state(engine: Engine) -> list[Any]:
    """All that a call in the name of a session could change."""
    return engine.db.execute(
        "select (select array_agg(u order by u.unit_id) from work_unit as u)::text,"
        " (select array_agg(s order by s.session_id) from worker_session as s)::text,"
        " (select count(*) from event_log where event_type <> 'event.rejected'),"
        " (select count(*) from worker_lease), (select count(*) from job_ready),"
        " (select count(*) from unit_checkpoint), (select count(*) from unit_progress),"
        " (select array_agg(l order by l.run_id, l.label_key) from run_label as l)::text,"
        " (select count(*) from governance_problem), (select count(*) from policy_verdict)"
    ).fetchall()


def test_every_function_of_a_session_takes_its_key(db: psycopg.Connection):
    found = db.execute(
        "select f.proname, f.proargnames[1] from pg_proc as f where f.pronamespace = 'stepwell'::regnamespace"
        " and f.proargnames && array['p_session_key', 'p_session_id'] and f.proname like 'fn\\_%'"
    ).fetchall()
    assert dict(found) == dict.fromkeys(CALLS, "p_session_key")


@pytest.mark.parametrize("name", sorted(CALLS))
def test_the_number_of_a_session_opens_nothing(name: str, leased: tuple[Engine, int, Lease]):
    engine, session, lease = leased
    number, other = engine.session_id(session), engine.worker("other")
    before = state(engine)
    for key in (number, session - 1, -session, 0):
        outcome, text = answer(engine, name, key, lease)
        assert outcome in ("SW005", "nothing", "refused")
        assert str(session) not in text
        assert state(engine) == before
    if name not in FOR_ITSELF:
        assert answer(engine, name, other, lease)[0] in ("SW005", "nothing", "refused", "lost")
    held = "select lease_session_id from work_unit where unit_id = %s"
    assert engine.one(held, (lease.unit_id,)) == number


def test_only_the_session_that_has_a_receipt_settles_it(leased: tuple[Engine, int, Lease]):
    engine, session, lease = leased
    proposed = ask(engine, "fn_action_propose", session, lease)[0][0]
    assert proposed["answer"] == "go"
    for key in (engine.worker("other"), engine.session_id(session)):
        with pytest.raises(psycopg.Error) as refused:
            ask(engine, "fn_action_settle", key, lease, proposed["receipt_id"])
        assert refused.value.sqlstate == "SW005"
    # The worker lost its session meanwhile; what happened has happened.
    engine.db.execute("select fn_worker_close(%s)", (session,))
    settled = ask(engine, "fn_action_settle", session, lease, proposed["receipt_id"])[0][0]
    assert settled["state"] == "confirmed"


def test_the_key_is_stored_nowhere(leased: tuple[Engine, int, Lease]):
    engine, session, lease = leased
    engine.complete(session, lease)
    keys = {engine.worker(f"w{no}") for no in range(100)}
    assert len(keys) == 100
    assert 0 < min(keys) < max(keys)
    assert max(keys) > 1 << 55
    tables = engine.db.execute(
        "select c.relname from pg_class as c where c.relnamespace = 'stepwell'::regnamespace"
        " and c.relkind in ('r', 'p') and not c.relispartition"
    ).fetchall()
    for (table,) in tables:
        found = engine.one(
            f"select count(*) from stepwell.{table} as t where t::text like %s", (f"%{session}%",)
        )
        assert found == 0, table
