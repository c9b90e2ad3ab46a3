"""Every function that people may call, about a tenant with work: only the tenant itself is answered."""

from __future__ import annotations

import re

import psycopg

from tests.sql.binding import as_role, token
from tests.sql.drive import Engine
from tests.sql.walls import matrix
from tests.sql.walls.arguments import Arguments, arguments
from tests.sql.walls.expectations import DUTIES, FENCED, HARMLESS
from tests.sql.walls.matrix import Function
from tests.sql.walls.probing import MARK, Walls

# A moment of now, and a position of the log, which is that of the server: both move between two calls.
MOVING = re.compile(
    r'portal \d+|"?\b\d+:\d+:(?:\d+(?:,\d+)*)?"?'
    r"|\d{4}-\d\d-\d\d[ T][\d:.]+\+\d\d(:00)?|\d\d:\d\d:\d\d\.\d+"
)
ROLES = ("stepwell_api", "stepwell_reader")
# What these functions say about the tenant itself is what they say about no tenant, and why.
SAME = {
    "_step_is_own": "the step is for workers",
    "fn_content_labels": "the content has no label",
    "fn_events_after": "an open transaction of another test hides the events after its begin",
    "fn_events_find": "the same",
    "fn_events_read": "the same",
    "fn_governance_read": "the keeper has opened no problem yet",
    "fn_hold_evidence_compare": "the document that is given has no hold",
    "fn_policy_evaluate": "no policy is in force",
    "fn_run_expected_steps": "no run of the workflow has ended",
    "fn_run_milestones": "the workflow has no milestones",
    "fn_step_blocked_severity": "the step is not blocked",
    "fn_step_correction_preview": "the step has not ended",
    "fn_step_pic_resolves": "the step is for workers",
    "fn_summary_events": "the keeper has written no sentence yet",
}
# Of the reader, which takes no action and asks for no payload.
CLOSED_TO_READERS = {"fn_dead_letter_payload", "fn_runs_reach"}


def open_to_people(db: psycopg.Connection) -> list[Function]:
    return [f for f in matrix.functions(db) if f.roles & {*ROLES} and f.name not in {*FENCED, *DUTIES}]


def about_the_second(db: psycopg.Connection) -> Arguments:
    (run_id,) = db.execute("select max(run_id) from run_detail where tenant_id = 2").fetchone()  # type: ignore[misc]
    return arguments(db, 2, run_id)


def answers(walls: Walls, role: str, condition: str, calls: dict[Function, str]) -> dict[str, str]:
    with walls.under(role, condition):
        found = {f.name: str(walls.ask(query)) for f, query in calls.items() if role in f.roles}
    return {name: MOVING.sub("now", text) for name, text in found.items()}


def remove_the_second(db: psycopg.Connection) -> None:
    """Takes away every row of the second tenant, and the leases of workers, which are for several tenants."""
    db.execute("set local session_replication_role = replica")
    for found in matrix.relations(db):
        if found.has_tenant and found.is_table:
            db.execute(f"delete from stepwell.{found.name} where tenant_id = 2".encode())
    db.execute("delete from stepwell.worker_lease where 2 = any (tenant_ids)")


def test_the_tenant_itself_is_answered(db: psycopg.Connection, two: dict[int, Engine]):
    """Without this an empty answer of anybody else would mean nothing."""
    walls, about = Walls(db), about_the_second(db)
    public = [f for f in open_to_people(db) if f.takes_tenant and (f.is_definer or f.name.startswith("fn_"))]
    calls = {f: about.call(f) for f in public}
    for role in ROLES:
        itself, another = (answers(walls, role, condition, calls) for condition in ("other", "own"))
        silent = {name for name, text in itself.items() if text == another[name]}
        # A function that refuses another tenant may refuse the tenant itself for another reason.
        refusing = {f.name for f in public if f.is_definer and f.name not in HARMLESS}
        closed = CLOSED_TO_READERS if role == "stepwell_reader" else set()
        assert silent - refusing - {*SAME} == closed, role
        assert {name for name in silent & refusing if itself[name] != "error SW007"} == set(), role
        assert len(silent & refusing) < 6, silent & refusing


def test_nothing_is_learnt_about_another_tenant(db: psycopg.Connection, two: dict[int, Engine]):
    """What a function says about a tenant with work is what it says once every row of that tenant is gone.

    The functions without a tenant are called too: what runs as its caller reads only the rows of the caller.
    """
    walls, about = Walls(db), about_the_second(db)
    # The number of the transaction, which is another one for each call.
    calls = {f: about.call(f) for f in open_to_people(db) if f.name != "fn_request_close"}
    cells = [(role, condition) for role in ROLES for condition in ("unbound", "own", "copied")]
    before = {cell: answers(walls, *cell, calls) for cell in cells}
    with db.transaction(force_rollback=True):
        remove_the_second(db)
        after = {cell: answers(walls, *cell, calls) for cell in cells}
    # Who is called by a name of the tenant knows that name already.
    given = {f.name for f, query in calls.items() if MARK in query}
    told = [
        (cell, name, text, after[cell][name])
        for cell in cells
        for name, text in before[cell].items()
        if text != after[cell][name] or (MARK in text and name not in given)
    ]
    assert told == []
    assert len(calls) > 400


def test_only_who_may_read_counts_what_is_leased(db: psycopg.Connection, two: dict[int, Engine]):
    query = about_the_second(db).call(next(f for f in matrix.functions(db) if f.name == "_leased_count"))
    counted = {}
    for verbs in (["read"], ["run.start"]):
        text = token(db, 2, verbs=verbs)
        with as_role(db, "stepwell_api", text):
            counted[verbs[0]] = db.execute(query.encode()).fetchone()
    assert counted == {"read": ("1",), "run.start": ("0",)}
