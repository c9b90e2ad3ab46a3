"""Without `payload.read` nobody sees a value that runs carry; without `read` nobody sees a row."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.govern.sample_run import CANARY, make_sample_run
from tests.sql.binding import as_role, token
from tests.sql.drive import Engine, human, operation
from tests.sql.walls import matrix
from tests.sql.walls.payloads import OPEN, PAYLOADS

ROLES = ("stepwell_api", "stepwell_reader")
# Nothing in the sample has these; the table or the view beneath is probed.
WITHOUT_ROWS = {"step_run_output_snapshot.output", "step_run_prior_audit.output", "evidence_file.data"}


@pytest.fixture
def filled(engine: Engine) -> int:
    """Every kind of payload, each with the canary."""
    db = engine.db
    run_id = make_sample_run(db)
    given = Jsonb({"text": CANARY})
    engine.publish("many", {"id": "all", "kind": "map", "over": "$.input.of"}, operation("a", scope=1))
    engine.start("many", {"of": [CANARY]})
    engine.publish("ask", human("sign", role="office", inputs={"text": "$.input.text"}))
    engine.start("ask", {"text": CANARY})
    db.execute("select fn_job_enqueue(1, 'free', array[%s])", (given,))
    db.execute(
        "select fn_schedule_set(1, 'nightly', 'ask', '0 3 * * *', 'UTC', %s, 'latest', 1, now(), 'ada')",
        (given,),
    )
    session = engine.worker()
    lease = next(each for each in engine.claim(session) if each.operation == "free")
    of_lease = (session, lease.unit_id, lease.lease_no, given)
    db.execute("select fn_checkpoint_save(%s, 1, %s, %s, 'c', %s)", of_lease)
    db.execute("select fn_event_type_register(1, 'noted', 'A note', null, 'ada')")
    db.execute("select fn_event_emit(%s, 1, %s, %s, 'noted', %s)", of_lease)
    return run_id


def json_columns(db: psycopg.Connection) -> set[str]:
    rows = db.execute(
        """select c.relname || '.' || a.attname from pg_class as c
           inner join pg_attribute as a on c.oid = a.attrelid and a.attnum > 0 and not a.attisdropped
           where c.relnamespace = 'stepwell'::regnamespace and not c.relispartition
               and format_type(a.atttypid, null) in ('json', 'jsonb', 'json[]', 'jsonb[]')
               and exists (select from unnest(stepwell._process_roles()) as r
                   where has_column_privilege(r, c.oid, a.attnum, 'select'))"""
    ).fetchall()
    return {name for (name,) in rows}


def payload_columns() -> list[tuple[str, str]]:
    return sorted((relation, column) for relation, columns in PAYLOADS.items() for column in columns)


def counts(db: psycopg.Connection) -> dict[str, int]:
    """How many values of each column of payloads can be seen."""
    found = {}
    for relation, column in payload_columns():
        query = f"select count({column}) from stepwell.{relation}"
        found[f"{relation}.{column}"] = db.execute(query.encode()).fetchone()[0]  # type: ignore[index]
    return found


def test_every_column_of_json_is_a_payload_or_has_a_reason(db: psycopg.Connection):
    hidden = {f"{relation}.{column}" for relation, column in payload_columns()} - {"evidence_file.data"}
    shown = {f"{relation}.{column}" for relation, columns in OPEN.items() for column in columns}
    assert hidden & shown == set()
    assert json_columns(db) - hidden - shown == set(), "payload, or open for a reason? see payloads.py"
    assert (hidden | shown) - json_columns(db) == set()


@pytest.mark.parametrize("role", ROLES)
def test_payloads_are_seen_with_the_verb_only(db: psycopg.Connection, filled: int, role: str):
    with as_role(db, role, token(db, 1, "opal", ["operator"])):
        seen = counts(db)
        assert {name for name, count in seen.items() if count == 0} <= WITHOUT_ROWS
        emitted = "select count(*) from stepwell.event_log where event_type = 'event.emitted'"
        assert db.execute(emitted).fetchone() == (1,)
    narrow = token(db, 1, "opal", ["operator"], verbs=["read"])
    for text in (token(db, 1, "clerk", ["stranger"]), narrow):
        with as_role(db, role, text):
            seen = counts(db)
            # A person who may decide sees what is asked; the narrow token does not decide.
            asked = {"v_approval.about", "v_approval_payload.about"} if text != narrow else set()
            assert {name for name, count in seen.items() if count} <= asked
            assert db.execute(emitted).fetchone() == (0,)
            assert db.execute("select count(*) > 2 from stepwell.workflow_run").fetchone() == (True,)
            assert db.execute("select count(*) > 0 from stepwell.v_action_receipt").fetchone() == (True,)


@pytest.mark.parametrize("role", ROLES)
def test_no_table_or_view_has_the_value_elsewhere(db: psycopg.Connection, filled: int, role: str):
    """Every column of every relation, as text: the canary is only in errors, which are redacted and open."""
    errors = {name for name, columns in OPEN.items() if any("error" in c or c == "failures" for c in columns)}
    errors |= {"workflow_step", "event_log", "vw_audit_event_timeline"}
    leaks = []
    with as_role(db, role, token(db, 1, "opal", ["operator"], verbs=["read"])):
        for found in matrix.relations(db):
            if role not in found.roles or found.name in errors:
                continue
            columns = db.execute(
                """select attname from pg_attribute where attrelid = %s::regclass and attnum > 0
                   and not attisdropped and has_column_privilege(attrelid, attnum, 'select')""",
                (f"stepwell.{found.name}",),
            ).fetchall()
            texts = " || ".join(f"coalesce({name}::text, '')" for (name,) in columns)
            query = f"select count(*) from stepwell.{found.name} where {texts} like '%{CANARY}%'"
            if db.execute(query.encode()).fetchone() != (0,):
                leaks.append(found.name)
        rows = db.execute(
            "select distinct event_type from stepwell.event_log where payload::text like %s", (f"%{CANARY}%",)
        ).fetchall()
    assert leaks == []
    # The log has reasons and errors as they were given, and no other value.
    assert {event_type for (event_type,) in rows} == {"step.failed"}


def test_a_person_sees_what_the_person_works_on_and_decides_about(db: psycopg.Connection, engine: Engine):
    engine.publish("ask", human("sign", role="office", inputs={"text": "$.input.text"}))
    run_id = engine.start("ask", {"text": CANARY})
    step = engine.unit(run_id, "sign")
    db.execute("select fn_person_set(1, 'ada', array['boss'])")
    db.execute("select fn_approval_request(1, 'reopen', %s, 'ada', p_role => 'office')", (step,))
    db.execute("update approval_detail set about = %s", (Jsonb({"text": CANARY}),))
    inputs = "select inputs from stepwell.v_inbox"
    about = "select about, shown_digest is not null from stepwell.v_approval"

    def seen(text: str) -> tuple[Any, Any]:
        with as_role(db, "stepwell_api", text):
            return db.execute(inputs).fetchone(), db.execute(about).fetchone()

    all_seen = (({"text": CANARY},), ({"text": CANARY}, True))
    assert seen(token(db, 1, "olga", ["office"])) == all_seen
    assert seen(token(db, 1, "olga", ["office"], verbs=["read"])) == ((None,), (None, False))
    assert seen(token(db, 1, "bert", ["garden"])) == ((None,), (None, False))
    # Once somebody is in charge, only that person sees the inputs.
    token(db, 1, "otto", ["office"])
    db.execute("select fn_step_claim(1, %s, 'otto')", (step,))
    assert seen(token(db, 1, "olga", ["office"])) == ((None,), all_seen[1])
    assert seen(token(db, 1, "otto", ["office"])) == all_seen


def test_who_started_a_run_gets_its_result(db: psycopg.Connection, engine: Engine):
    engine.publish("w", operation("a"))
    mine = token(db, 1, "shop", [])
    with db.transaction():
        db.execute("set local role stepwell_api")
        db.execute("select stepwell.fn_session_bind(%s)", (mine,))
        row = db.execute(
            "select run_id from stepwell.fn_run_start(1, 'w', array['{}'::jsonb], p_actor => 'shop')"
        ).fetchone()
    assert row is not None
    session = engine.worker()
    engine.report(session, *((lease, "completed", {"text": CANARY}) for lease in engine.claim(session)))

    def result(text: str) -> Any:
        with as_role(db, "stepwell_api", text):
            query = "select state_code, result is not null from stepwell.fn_runs_watch(1, array[%s::bigint])"
            return db.execute(query, row).fetchone()

    assert result(mine) == ("completed", True)
    assert result(token(db, 1, "clerk", [])) == ("completed", False)
    assert result(token(db, 1, "opal", ["operator"])) == ("completed", True)


@pytest.mark.parametrize("role", ROLES)
def test_a_token_without_read_sees_no_row(db: psycopg.Connection, filled: int, role: str):
    """Every table and view with a tenant."""
    readable = [each for each in matrix.relations(db) if role in each.roles and each.has_tenant]
    assert len(readable) > 60
    shown = []
    for verbs in (["run.start"], ["payload.read"], []):
        with as_role(db, role, token(db, 1, "opal", ["admin"], verbs=verbs or ["step.work"])):
            assert db.execute("select stepwell.bound_tenant()").fetchone() == (1,)
            for found in readable:
                query = f"select count(*) from stepwell.{found.name}"
                if db.execute(query.encode()).fetchone() != (0,):
                    shown.append((verbs, found.name))
    assert shown == []


def test_a_narrow_token_still_does_what_it_may(db: psycopg.Connection, engine: Engine):
    engine.publish("w", operation("a"))
    with as_role(db, "stepwell_api", token(db, 1, "shop", ["admin"], verbs=["run.start"])):
        made = db.execute(
            "select run_id from stepwell.fn_run_start(1, 'w', array['{}'::jsonb], p_actor => 'shop')"
        ).fetchone()
        assert made is not None
