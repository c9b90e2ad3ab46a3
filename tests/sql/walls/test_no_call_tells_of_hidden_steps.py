"""Every function that people may call, about units that are hidden from the caller: none tells of them."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.binding import as_role, token
from tests.sql.drive import Engine
from tests.sql.walls import matrix
from tests.sql.walls.arguments import Arguments, known_values
from tests.sql.walls.expectations import DUTIES, FENCED
from tests.sql.walls.hidden import MARK, hidden_units, hide, history

# They say what the caller gives, of no tenant and no step.
ECHOES = {"fn_name_fold"}


@pytest.fixture
def run_id(engine: Engine) -> int:
    return history(engine)


def roles_without(db: psycopg.Connection, verb: str) -> list[str]:
    """All roles that come with the engine and lack this verb."""
    rows = db.execute(
        """select role_name from permission where tenant_id = 0 and role_name <> 'everybody'
           group by role_name having not bool_or(verb = %s) order by role_name""",
        (verb,),
    ).fetchall()
    return [name for (name,) in rows]


def told(db: psycopg.Connection, query: str) -> str:
    """The answer, or the words of the refusal."""
    try:
        with db.transaction(force_rollback=True):
            row = db.execute(query.encode()).fetchone()
    except psycopg.Error as error:
        diag = error.diag
        return f"{diag.message_primary} {diag.message_hint} {diag.message_detail}"
    return str(row and row[0])


def test_no_call_tells_of_a_hidden_step(db: psycopg.Connection, engine: Engine, run_id: int):
    hide(db)
    calls = [
        f
        for f in matrix.functions(db)
        if "stepwell_api" in f.roles and f.name not in {*FENCED, *DUTIES, *ECHOES}
    ]
    units = hidden_units(db, run_id)
    assert len(units) >= 8
    given = {"p_actor": "'clerk'", "p_text": f"'{MARK}'"}
    about = Arguments(known_values(db, 1, run_id, given))
    queries = [
        (function.name, query)
        for function in calls
        for query in asked(about, function, units)
        # What the caller names, the caller knows.
        if MARK not in query or function.name == "fn_search"
    ]
    assert len(queries) > 600
    with as_role(db, "stepwell_api", token(db, 1, "clerk", roles_without(db, "step.read_all"))):
        assert [(name, query) for name, query in queries if MARK in told(db, query)] == []
    # Whoever sees the steps hears of them from many of these functions.
    with as_role(db, "stepwell_api", token(db, 1, "clerk", ["admin"])):
        assert len({name for name, query in queries if MARK in told(db, query)}) > 15


def asked(about: Arguments, function: matrix.Function, units: list[int]) -> list[str]:
    """The function called about each of these units, or once if it is about none."""
    names = {"p_unit_id", "p_unit_ids", "p_step_run_id", "p_subject_unit_id", "p_approval_id"}
    of_units = not names.isdisjoint(name for name, _ in function.arguments)
    return [
        about.call(function, **{n: f"'{{{unit}}}'" if n.endswith("s") else str(unit) for n in names})
        for unit in (units if of_units else units[:1])
    ]


def test_each_role_of_the_engine_sees_the_step_only_with_the_verb(
    db: psycopg.Connection, engine: Engine, run_id: int
):
    hide(db)
    names = [
        name for (name,) in db.execute("select distinct role_name from permission order by 1").fetchall()
    ]
    blind = roles_without(db, "step.read_all")
    assert len(names) > 5
    for name in names:
        text = token(db, 1, f"only-{name}", [] if name == "everybody" else [name])
        with as_role(db, "stepwell_api", text):
            if db.execute("select read_tenant() is null").fetchone() == (True,):
                continue
            (found,) = db.execute("select fn_workflow_run_snapshot(1, %s)", (run_id,)).fetchone()  # type: ignore[misc]
            shown = db.execute(
                "select count(*) from work_unit where unit_id = any (%s)", (hidden_units(db, run_id),)
            ).fetchone()
        is_blind = name in blind or name == "everybody"
        assert (MARK in str(found)) is not is_blind, name
        assert (shown == (0,)) is is_blind, name
