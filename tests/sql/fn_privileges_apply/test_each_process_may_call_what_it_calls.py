"""Each process may call the functions that its code calls, and nothing else.

The calls are found in the code of each process: it names the functions of the database in its own modules of
`store/calls`. What is granted is compared with them in both directions.
"""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest

import stepwell

ROOT = Path(stepwell.__file__).parent
CALLS = ROOT / "store" / "calls"
EVERY_PROCESS = {
    "now",
    "bound_tenant",
    "bound_principal",
    "read_tenant",
    "payload_tenant",
    "sees_all_steps",
    "hidden_steps",
    "hidden_contents",
    "unit_is_shown",
    "graph_is_shown",
    "version_graph",
    "version_hash",
    "fn_caller_read",
    "fn_demo_read",
    "fn_mode_read",
    "fn_session_bind",
    "fn_tenant_find",
    "fn_verbs_read",
    "fn_rights_missing",
}
# What the code of a process calls: whole modules, and calls of modules that several processes use.
WORKER = (
    "leases.py",
    "sessions.py",
    "publish.py:publish_workflow,register_operations,register_event_type",
    "receipts.py:propose,settle,reversal",
    # What a handler calls: start runs and jobs, send events.
    "runs.py:start_runs,signal",
    "jobs.py:enqueue_jobs",
    "graphs.py:refresh_graphs",
)
KEEPER = ("keep.py", "schedules.py:due_schedules,fire_schedule", "sealing.py", "due_evidence.py")
SLACK = ("slack.py:take_cards,note_card,accept_callback,user,decide",)
# `perform.py` calls these: for the time limit of a verdict, and after an event was rejected.
# The doctor asks the last ones as keeper.
MORE = {
    "worker": {"fn_action_limit", "fn_event_reject_note"},
    "keeper": {"fn_health_read", "fn_names_refused", "fn_integrity_look", "fn_sessions_in_the_way"},
}
# Only the owner of the schema calls these.
OWNERS = {
    "fn_clock_move",
    "fn_clock_real",
    "fn_clock_release",
    "fn_clock_stop",
    "fn_demo_begin",
    "fn_demo_leave",
    "fn_development_leave",
    "fn_privileges_apply",
    "fn_registry_refresh",
    "fn_tenant_set",
}


def called(places: tuple[str, ...]) -> set[str]:
    """The functions of the database that these modules name, or these functions of a module."""
    found: set[str] = set()
    for place in places:
        name, _, only = place.partition(":")
        text = (CALLS / name).read_text(encoding="utf-8")
        if only:
            parts = re.split(r"^(?=def |async def )", text, flags=re.MULTILINE)
            wanted = only.split(",")
            chosen = [
                part for part in parts if re.match(r"(async )?def (\w+)", part) and _name(part) in wanted
            ]
            assert len(chosen) == len(wanted), f"{name} has other calls than {only}"
            text = "".join(chosen)
        found |= set(re.findall(r"stepwell\.(fn_\w+)", text))
    return found


def _name(part: str) -> str:
    return part.removeprefix("async ").removeprefix("def ").partition("(")[0]


def granted(db: psycopg.Connection, role: str) -> set[str]:
    rows = db.execute(
        """select p.proname from pg_proc as p where p.pronamespace = 'stepwell'::regnamespace
           and has_function_privilege(%s, p.oid, 'execute')""",
        (role,),
    )
    return {name for (name,) in rows}


@pytest.mark.parametrize(("process", "places"), [("worker", WORKER), ("keeper", KEEPER), ("slack", SLACK)])
def test_a_process_may_call_what_it_calls_and_nothing_else(
    db: psycopg.Connection, process: str, places: tuple[str, ...]
):
    assert granted(db, f"stepwell_{process}") == called(places) | EVERY_PROCESS | MORE.get(process, set())


@pytest.mark.parametrize("process", ["keeper", "slack", "worker"])
def test_these_processes_read_no_table_but_the_release_and_the_clock(db: psycopg.Connection, process: str):
    rows = db.execute(
        """select c.relname from pg_class as c where c.relnamespace = 'stepwell'::regnamespace
           and c.relkind in ('r', 'p', 'v', 'm') and has_table_privilege(%s, c.oid, 'select')""",
        (f"stepwell_{process}",),
    )
    assert {name for (name,) in rows} == {"clock_shift", "schema_migration", "schema_routine"}


def test_every_public_function_belongs_to_a_process_or_to_the_owner(db: psycopg.Connection):
    """A new function is closed until _function_rights opens it, or the list of the owner names it."""
    public = {
        name
        for (name,) in db.execute(
            r"""select proname from pg_proc where pronamespace = 'stepwell'::regnamespace
                and proname like 'fn\_%' and prorettype <> 'trigger'::regtype"""
        )
    }
    processes = ("api", "keeper", "reader", "slack", "worker")
    opened = set().union(*(granted(db, f"stepwell_{process}") for process in processes))
    assert public - opened == OWNERS
    listed = {name for (name,) in db.execute("select function_name from _function_rights()")}
    known = {
        name
        for (name,) in db.execute("select proname from pg_proc where pronamespace = 'stepwell'::regnamespace")
    }
    assert listed <= known


def test_what_changes_something_runs_as_the_owner_with_a_fixed_search_path(db: psycopg.Connection):
    rows = db.execute(
        """select p.proname from pg_proc as p
           inner join _function_rights() as r on p.proname = r.function_name
           where p.pronamespace = 'stepwell'::regnamespace and p.proname <> 'now'
               and (not p.prosecdef
                   or not coalesce(p.proconfig, '{}') @> array['search_path=stepwell, pg_temp'])"""
    ).fetchall()
    assert rows == []
