"""Every text that any function takes is attacked: a secret in it is refused, removed, or data by design.

Functions, parameters, tables and columns come from the catalog: a new one is attacked without a change here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.binding import bind, token
from tests.sql.drive import Engine, human, operation
from tests.sql.redaction.stages import STAGES
from tests.sql.walls import matrix
from tests.sql.walls.matrix import Function
from tests.worker.acting import rule

CANARY = "c4n4ryc4n4ry"
# As a text, and inside a value of an ordinary name: both have the shape of a secret.
SAID = f'password="two words {CANARY}"'
TEXT_TYPES = ("text", "text[]", "jsonb", "jsonb[]")
# What people and programs give as data, or as a key that must stay as it is: docs/security.md.
DATA = {
    "run_detail.input", "job_detail.payload", "unit_output.output", "unit_checkpoint.checkpoint_value",
    "event_inbox.payload", "workflow_schedule.input", "information_unit_version.body",
    "approval_detail.request_key", "event_inbox.event_key", "job_detail.idempotency_key",
    "run_detail.trigger_ref", "transition_idempotency.idempotency_key", "concurrency_slot.slot_key",
    "work_unit.slot_key", "action_receipt.idempotency_key", "policy_verdict.idempotency_key",
    "cut_request_detail.request_key", "http_answer.idempotency_key",
    # The graph of a version is shown and executed as it was written.
    "workflow_version.graph", "workflow_version.title", "workflow_step_def.config", "graph_layout.drawing",
}  # fmt: skip
# The fields of events that name a key.
KEYS = "array['request_key', 'event_key', 'idempotency_key']"
# Of a cut these members are content.
SPEC = """(select string_agg((p.part - '{body,separator}'::text[])::text, ',')
    from jsonb_path_query(t.spec, '$.*[*]') as p (part))"""
# What is compared with a field is part of the rule.
EXPRESSIONS = ("match",)
# These act only for somebody who is bound.
BOUND = ("fn_view_save", "fn_views_read")


@pytest.fixture
def given(engine: Engine) -> dict[str, Any]:
    """A value for each parameter, by name; a parameter that is not here is null."""
    for name in ("ada", "ben"):
        engine.db.execute(
            "select fn_person_set(1, %s, array['office', 'reviewer', 'operator', 'admin'])", (name,)
        )
    engine.publish("w", operation("a"), human("sign", role="office"))
    engine.publish("s", human("sign", role="office"))
    run_id = engine.start("w")
    step_run = engine.start("s")
    step = engine.unit(step_run, "sign")
    engine.db.execute("select fn_step_claim(1, %s, 'ada')", (step,))
    session = engine.worker()
    engine.enqueue("a")
    lease = next(one for one in engine.claim(session) if one.unit_id & 0xFFFFF)
    asked = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada', 'why')", (run_id << 20,))
    shown = engine.one("select shown_digest from v_approval where approval_id = %s", (asked,))
    engine.db.execute("select fn_content_write(1, 'guide', 'text', 'ada')")
    engine.db.execute("select fn_workspace_set(1, 'nights')")
    engine.db.execute("select fn_event_type_register(1, 'told', 'x')")
    numbers = {
        "p_tenant_id": 1, "p_run_id": run_id, "p_run_ids": [run_id], "p_unit_id": step,
        "p_unit_ids": [lease.unit_id], "p_step_run_id": step, "p_job_id": lease.unit_id,
        "p_approval_id": asked, "p_subject_unit_id": run_id << 20, "p_session_key": session,
        "p_lease_no": lease.lease_no, "p_lease_nos": [lease.lease_no], "p_claim_limit": 1,
        "p_expires_seconds": 60, "p_is_shared": True, "p_shown": shown, "token": token(engine.db, 1),
    }  # fmt: skip
    texts = {
        "p_actor": "ada", "p_person": "ben", "p_person_name": "cleo", "p_name": "nightly",
        "p_principal_name": "ada", "p_kind": "person", "p_workflow_name": "w", "p_operation_name": "a",
        "p_reason": "why", "p_action": "reopen", "p_decision": "reject", "p_code": "guide", "p_body": "text",
        "p_event_type": "came", "p_page": "runs", "p_schedule_name": "nightly", "p_cron": "0 0 * * *",
        "p_tenant_code": "acme", "p_worker_name": "one", "p_reader": "me", "p_source": "x", "p_type": "told",
        "p_label": "laptop", "p_workspace": "nights", "p_duty": "schedule", "p_subject": "x",
        "p_error_code": "XX000", "p_error": "x", "p_slack_user_id": "U123", "p_columns": ["a"],
        "p_class_names": ["default"], "p_operation_names": ["a"],
    }  # fmt: skip
    empty = ("filter", "payload", "input", "settings", "output", "value")
    values = {f"p_{name}": Jsonb({}) for name in empty}
    lists = {"p_inputs": [Jsonb({})], "p_payloads": [Jsonb({})], "p_labels": Jsonb({"customer": "x"})}
    return numbers | texts | values | lists | {"p_operations": Jsonb([]), "p_rules": Jsonb([])}


# What these functions need beyond the names above, in the order of the list in the catalog.
MORE: dict[str, dict[str, Any]] = {
    "fn_anchor_written": {"p_anchor": "x"},
    "fn_approval_decide": {"p_actor": "ben"},
    "fn_change_once": {"p_call": "step_cancel", "p_key": "k"},
    "fn_calendar_set": {"p_calendar_name": "office", "p_time_zone": "UTC",
        "p_hours": Jsonb([{"weekday": 1, "opens": "09:00", "closes": "17:00"}])},
    "fn_content_permission_set": {"p_roles": ["office"]},
    "fn_evidence_seal": {"p_digest": "0" * 64, "p_with_payloads": False},
    "fn_governance_read": {"p_category": "overdue_step", "p_limit": 1},
    "fn_keeper_lead": {"p_holder": "me", "p_fence": 0, "p_seconds": 9},
    "fn_policy_propose": {"p_rules": Jsonb([rule("all", "allow")])},
    "fn_principal_change": {"p_name": "ben"},
    "fn_runs_list": {"p_limit": 1},
    "fn_runs_places": {"p_every": 1},
    "fn_runs_reach": {"p_act": "pause"},
    "fn_schedule_set": {"p_misfire": "skip", "p_time_zone": "UTC", "p_backfill_limit": 1,
        "p_next_at": "2100-01-01T00:00Z"},
    "fn_search": {"p_text": "x"},
    "fn_signal": {"p_event_key": "k"},
    "fn_slack_cards_take": {"p_channel": "C0AAAA"},
    "fn_slack_user_map": {"p_person_name": "ben"},
    "fn_step_block": {"p_reason": "other"},
    "fn_step_cannot_complete": {"p_evidence_ref": "x"},
    "fn_step_deadline_change": {"p_deadline_at": "2100-01-01T00:00Z"},
    "fn_step_permission_set": {"p_step_id": "a", "p_roles": ["office"]},
    "fn_step_wait": {"p_facets": ["waiting_human"]},
    "fn_trigger_set": {"p_settings": Jsonb({"workflow": "w", "as": "ada"})},
    "fn_worker_register": {"p_slot_count": 1},
    "fn_executor_freeze": {"p_executor": "default"},
    "fn_workflow_diff": {"p_workflow": "w", "p_from": 1, "p_to": 1},
    "fn_workflow_evidence_set": {"p_makes_evidence": True},
    "fn_workflow_running": {"p_workflow": "w", "p_version_no": 1},
}  # fmt: skip
UNDER_A_LEASE = ("fn_checkpoint_save", "fn_event_emit", "fn_run_label_here")


def poisoned(kind: str, plain: Any) -> list[Any]:
    """The secret as the whole value; in a JSON value that the call accepts also as one more member and in
    the place of each text."""
    whole = {
        "text": SAID, "text[]": [SAID], "jsonb": Jsonb({"note": SAID}), "jsonb[]": [Jsonb({"note": SAID})],
    }[kind]  # fmt: skip
    inside = list(hidden(plain.obj)) if isinstance(plain, Jsonb) else []
    return [whole, *(Jsonb(value) for value in inside)]


def hidden(value: Any) -> Iterator[Any]:
    if isinstance(value, str):
        yield SAID
    elif isinstance(value, dict):
        yield value | {"note": SAID}
        for key, member in value.items():
            if key in EXPRESSIONS:
                continue
            yield from ({**value, key: changed} for changed in hidden(member))
    elif isinstance(value, list):
        for at, member in enumerate(value):
            yield from ([*value[:at], changed, *value[at + 1 :]] for changed in hidden(member))


def staged(engine: Engine, found: Function) -> dict[str, Any]:
    """The values of parameters that belong to the stage of this function."""
    stage = STAGES.get(found.name)
    return stage(engine) if stage else {}


def call(
    db: psycopg.Connection, found: Function, given: dict[str, Any], stage: dict[str, Any], **more: Any
) -> list[Any]:
    kinds = dict(found.arguments)
    names = [name for name, _ in found.arguments[: found.required]]
    names += [name for name in {**stage, **more} if name not in names and name in kinds]
    given = given | MORE.get(found.name, {}) | stage
    if found.name in UNDER_A_LEASE:
        given = given | {"p_unit_id": given["p_unit_ids"][0]}
    values = [more.get(name, given.get(name)) for name in names]
    listed = ", ".join(f"{name} => %s::{kinds[name]}" for name in names)
    return db.execute(f"select * from stepwell.{found.name}({listed})".encode(), values).fetchall()


def kept(db: psycopg.Connection) -> set[str]:
    """Table and column of every text with the canary that this transaction wrote."""
    rows = db.execute(
        """select c.relname, a.attname from pg_stat_xact_user_tables as s
           inner join pg_class as c on s.relid = c.oid
           inner join pg_attribute as a on c.oid = a.attrelid and a.attnum > 0 and not a.attisdropped
           where s.schemaname = 'stepwell' and s.n_tup_ins + s.n_tup_upd > 0"""
    ).fetchall()
    found = set()
    for table, column in rows:
        value = f't."{column}"::text'
        if column == "payload" and table.startswith("event_log_"):
            # What a handler emits is data; a key stays as it is.
            value = f"(case t.event_type when 'event.emitted' then null else t.payload - {KEYS} end)::text"
        if (table, column) == ("cut_request_detail", "spec"):
            value = SPEC
        query = f'select exists (select from stepwell."{table}" as t where {value} like %s)'
        if db.execute(query.encode(), (f"%{CANARY}%",)).fetchone() == (True,):
            found.add(f"{'event_log' if table.startswith('event_log_') else table}.{column}")
    return found


def attack(
    engine: Engine, found: Function, given: dict[str, Any], name: str, kind: str
) -> tuple[set[str], int]:
    """The places where the secret was kept, and how many of the calls were accepted."""
    places: set[str] = set()
    accepted = at = 0
    values = [None]
    while at < len(values):
        try:
            with engine.db.transaction(force_rollback=True):
                stage = staged(engine, found)
                plain = (given | MORE.get(found.name, {}) | stage).get(name)
                values = poisoned(kind, plain)
                bind_if_needed(engine.db, found, given)
                call(engine.db, found, given, stage, **{name: values[at]})
                places |= kept(engine.db)
                accepted += 1
        except psycopg.Error:
            # Refused, so nothing is kept.
            pass
        at += 1
    return places, accepted


def bind_if_needed(db: psycopg.Connection, found: Function, given: dict[str, Any]) -> None:
    if found.name in BOUND:
        bind(db, given["token"])


def refusal(engine: Engine, found: Function, given: dict[str, Any]) -> str | None:
    """Why the function refuses a call without a secret; None if it accepts it."""
    try:
        with engine.db.transaction(force_rollback=True):
            stage = staged(engine, found)
            bind_if_needed(engine.db, found, given)
            call(engine.db, found, given, stage)
    except psycopg.Error as error:
        return f"{error.sqlstate} {error.diag.message_primary}"
    return None


@pytest.mark.timeout(600)
@pytest.mark.requirement("RT-12")
def test_no_parameter_of_any_function_keeps_a_secret(engine: Engine, given: dict[str, Any]):
    """A text that stays as it was given must be one of the columns that docs/security.md names as data."""
    lax: dict[str, set[str]] = {}
    tried, unproven = 0, {}
    for found in matrix.functions(engine.db):
        if not found.name.startswith("fn_") or not found.roles:
            continue
        texts = [(name, kind) for name, kind in found.arguments if kind in TEXT_TYPES]
        told = [(name, *attack(engine, found, given, name, kind)) for name, kind in texts]
        tried += len(told)
        if texts and (reason := refusal(engine, found, given)):
            unproven[found.name] = reason
        for name, places, _ in told:
            for place in places - DATA:
                lax.setdefault(place, set()).add(f"{found.name}.{name}")
    # A function that accepts no call at all would prove nothing.
    assert (lax, unproven) == ({}, {})
    assert tried > 250
