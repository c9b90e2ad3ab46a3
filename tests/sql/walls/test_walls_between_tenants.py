"""Every table, view and function of the schema, for each role: nothing of another tenant is read or changed.

The objects come from the catalog. A new one is covered without an entry here, or the first test asks for one.
"""

from __future__ import annotations

import os
from pathlib import Path

import psycopg
import pytest

from tests.sql.walls import matrix
from tests.sql.walls.arguments import arguments
from tests.sql.walls.expectations import DUTIES, FENCED, GLOBAL, HARMLESS
from tests.sql.walls.probing import CONDITIONS, MARK, Walls

PAGE = Path(__file__).parents[3] / "docs" / "security-matrix.md"


def test_every_object_has_a_rule(db: psycopg.Connection):
    """A table, a view or a function that nothing explains must be walled, or be listed with its reason."""
    relations, functions = matrix.relations(db), matrix.functions(db)
    assert [r.name for r in relations if matrix.rule_of_relation(r) is None] == []
    assert [f.name for f in functions if matrix.rule_of_function(f) is None] == []
    assert set(GLOBAL) <= {r.name for r in relations if not r.has_tenant}
    listed = {*HARMLESS, *FENCED, *DUTIES}
    assert listed <= {f.name for f in functions if f.is_definer and f.roles}
    # Only workers and keepers act without a binding.
    for found in functions:
        allowed = {"stepwell_worker"} if found.name in FENCED else {"stepwell_keeper"}
        assert found.name not in {*FENCED, *DUTIES} or found.roles <= allowed, found.name


def test_the_page_shows_the_matrix(db: psycopg.Connection):
    text = matrix.page(db)
    if os.environ.get("STEPWELL_WRITE_MATRIX"):
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text, "run make docs"


def test_no_role_reads_a_row_of_another_tenant(db: psycopg.Connection, two):
    walls = Walls(db)
    leaks, seen = [], set()
    for role in matrix.roles(db):
        readable = [found for found in matrix.relations(db) if role in found.roles]
        for condition in CONDITIONS:
            allowed = {"own": {1}, "other": {2}}.get(condition, set())
            with walls.under(role, condition):
                for found in readable:
                    if found.has_tenant:
                        tenants = walls.ask(
                            "select coalesce(array_agg(distinct tenant_id), '{}')"
                            f" from stepwell.{found.name}"
                        )
                        # Tenant 0 has the verbs of the roles that every tenant has.
                        shared = {0} if found.name == "permission" and allowed else set()
                        ok = isinstance(tenants, list) and set(tenants) <= allowed | shared
                        seen |= {found.name} if ok and tenants else set()
                    else:
                        tenants = walls.ask(f"select string_agg(r::text, '') from stepwell.{found.name} as r")
                        ok = found.name in ("handler", "worker_session") or MARK not in str(tenants)
                    if not ok:
                        leaks.append((role, condition, found.name, tenants))
    assert leaks == []
    # The test reads something: most tables and views had rows of the bound tenant.
    assert len(seen) > 30


def test_no_role_writes_a_table(db: psycopg.Connection):
    rows = db.execute(
        """select r, c.relname from unnest(stepwell._process_roles()) as r, pg_class as c
           where c.relnamespace = 'stepwell'::regnamespace and c.relkind in ('r', 'p', 'v', 'S')
               and case when c.relkind = 'S' then has_sequence_privilege(r, c.oid, 'usage, update')
                   else has_table_privilege(r, c.oid, 'insert, update, delete, truncate') end"""
    ).fetchall()
    assert rows == []


def test_a_function_refuses_every_tenant_but_the_bound_one(db: psycopg.Connection, two):
    walls = Walls(db)
    lax = []
    exempt = {*HARMLESS, *FENCED, *DUTIES}
    functions = [f for f in matrix.functions(db) if f.is_definer and f.takes_tenant and f.name not in exempt]
    acts_for_all = {"stepwell_keeper", "stepwell_slack", "stepwell_worker"}
    assert len(functions) > 50
    numbers = dict(db.execute("select tenant_id, max(run_id) from run_detail group by tenant_id").fetchall())
    about = {tenant: arguments(db, tenant, run_id) for tenant, run_id in numbers.items()}
    for role in matrix.roles(db):
        for condition in CONDITIONS:
            if condition == "unbound" and role in acts_for_all:
                continue
            with walls.under(role, condition):
                for found in functions:
                    if role in found.roles:
                        answer = walls.ask(about[1 if condition == "other" else 2].call(found))
                        if answer != "error SW007":
                            lax.append((role, condition, found.name, answer))
    assert lax == []


@pytest.mark.parametrize("role", ["stepwell_api", "stepwell_reader"])
def test_who_connects_finds_only_the_bound_tenant(db: psycopg.Connection, two, role: str):
    walls = Walls(db)
    for name in ("fn_tenant_find", "fn_caller_read"):
        asked = {
            code: f"select x::text from stepwell.{name}('{code}') as x"
            for code in ("default", "other", "none")
        }
        for condition in ("unbound", "copied", "invented"):
            with walls.under(role, condition):
                assert {walls.ask(query) for query in asked.values()} == {"error SW007"}
        with walls.under(role, "own"):
            assert walls.ask(asked["default"]) in ("1", "(1,binder)")
            assert walls.ask(asked["other"]) == walls.ask(asked["none"]) == "error SW007"


def test_no_function_lets_a_bound_caller_name_somebody_else(db: psycopg.Connection, two):
    """Every function that takes a name of who acts, whoever may call it."""
    walls = Walls(db)
    naming = {"p_actor", "p_decided_by", "p_started_by", "p_requested_by", "p_acting"}
    lax, count = [], 0
    run_id = db.execute("select min(run_id) from run_detail where tenant_id = 1").fetchone()[0]  # type: ignore[index]
    about = arguments(db, 1, run_id)
    for role in matrix.roles(db):
        for found in matrix.functions(db):
            given = {name for name, _ in found.arguments}
            names = given & naming or given & {"p_person"}
            if role in found.roles and found.is_definer and names and found.name not in FENCED:
                count += 1
                # The second step is for people.
                step = f"({run_id}::bigint << 20) + 2"
                posing = dict.fromkeys({*names, "p_person"} & given, "'ada own'")
                query = about.call(found, **{"p_unit_id": step} if "p_unit_id" in given else {}, **posing)
                with walls.under(role, "own"):
                    answer = walls.ask(query)
                if answer != "error SW007":
                    lax.append((role, found.name, answer))
    assert lax == []
    assert count > 30


@pytest.mark.parametrize(
    "claimed", ["engine", "mow_orchestrator", "worker", "executor_worker", "system", "keeper"]
)
def test_no_role_invents_a_class_of_actor(db: psycopg.Connection, two, claimed: str):
    walls = Walls(db)
    step = (db.execute("select min(run_id) from run_detail where tenant_id = 1").fetchone()[0] << 20) + 1  # type: ignore[index]
    taking = [
        f for f in matrix.functions(db) if "p_actor_class" in dict(f.arguments) and f.is_definer and f.roles
    ]
    assert [found.name for found in taking] == ["fn_state_transition_validate"]
    for role in taking[0].roles:
        for condition in CONDITIONS:
            with walls.under(role, condition):
                query = (
                    f"select stepwell.fn_state_transition_validate({step}, 'step', 'ready',"
                    f" 'in_progress', '{claimed}', 'rpc', 'step_claim', '{{}}', false, 1)"
                )
                assert walls.ask(query) == "error SW007"
