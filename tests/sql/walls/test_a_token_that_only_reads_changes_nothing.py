"""What the verbs of a token leave out stays closed, in every function, with all there that a call needs."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.sql.binding import bind, token
from tests.sql.drive import Engine
from tests.sql.redaction import test_no_parameter_keeps_a_secret as attack
from tests.sql.redaction.stages import STAGES
from tests.sql.walls import matrix
from tests.sql.walls.matrix import Function

given = attack.given
ROLES = ("admin", "operator", "office", "reviewer", "publisher")
# What whoever reads may write, and what another secret than the token allows.
ALLOWED = {
    "fn_event_reject_note": "an event that was refused, once an hour",
    "fn_events_ack": "how far a reader of events is",
    "fn_run_follow": "that somebody follows the run",
    "fn_runs_watch": "that somebody waits for the run",
    "fn_link_enter": "the text of a link",
    "fn_link_use": "the text of a link",
    "fn_sign_in": "the password",
    "fn_trigger_fire": "the signature of a trigger",
}
# What shows nothing of the tenant but the caller, the tenant itself and the mode.
OPEN = {
    "fn_account_read", "fn_action_limit", "fn_caller_read", "fn_mode_read", "fn_request_close",
    "fn_request_open",
    "fn_request_refused", "fn_session_bind", "fn_sessions_revoke", "fn_sign_in_salt", "fn_sign_out",
    "fn_step_inputs_read", "fn_tenant_find", "fn_tokens_page", "fn_verbs_read",
}  # fmt: skip


def changes(db: psycopg.Connection) -> dict[str, int]:
    """How many rows of each table this transaction has written."""
    db.execute("reset role")
    rows = db.execute(
        """select relname, n_tup_ins + n_tup_upd + n_tup_del from pg_stat_xact_user_tables
           where schemaname = 'stepwell'"""
    ).fetchall()
    db.execute("set local role stepwell_api")
    return dict(rows)


def called(
    engine: Engine, found: Function, given: dict[str, Any], text: str
) -> tuple[set[str], list[Any]] | None:
    """The tables that the call wrote, and what it returned; None if it was refused."""
    try:
        with engine.db.transaction(force_rollback=True):
            stage = STAGES[found.name](engine) if found.name in STAGES else {}
            stage |= {"p_actor": "ada"} if "p_actor" in stage else {}
            engine.db.execute("set local role stepwell_api")
            bind(engine.db, text)
            before = changes(engine.db)
            answer = attack.call(engine.db, found, given | {"p_actor": "ada"}, stage)
            after = changes(engine.db)
            return {name for name, count in after.items() if count > before.get(name, 0)}, answer
    except psycopg.Error:
        return None


def of_the_api(db: psycopg.Connection) -> list[Function]:
    return [
        found
        for found in matrix.functions(db)
        if found.name.startswith("fn_") and "stepwell_api" in found.roles
    ]


@pytest.mark.requirement("RT-12")
def test_a_token_that_only_reads_changes_nothing(engine: Engine, given: dict[str, Any]):
    text = token(engine.db, 1, "ada", ROLES, verbs=["read"])
    wide = {}
    for found in of_the_api(engine.db):
        done = called(engine, found, given, text)
        if done is not None and done[0]:
            wide[found.name] = done[0]
    assert wide.keys() == ALLOWED.keys(), wide


@pytest.mark.requirement("RT-12")
def test_a_token_without_read_is_shown_nothing(engine: Engine, given: dict[str, Any]):
    text = token(engine.db, 1, "ada", ROLES, verbs=["run.retry"])
    shown = {}
    for found in of_the_api(engine.db):
        done = called(engine, found, given, text)
        if found.is_definer and done is not None and not done[0]:
            answer = [row for row in done[1] if any(part not in (None, "", [], False, 0) for part in row)]
            if answer:
                shown[found.name] = answer
    assert shown.keys() - OPEN == set(), shown
