"""Every table, view and function of the schema, for each role: nothing of another tenant is read or changed.

The objects come from the catalog. A new one is covered without an entry here, or the first test asks for one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.sql.binding import bind, token
from tests.sql.drive import Engine, human, operation
from tests.sql.walls import matrix
from tests.sql.walls.expectations import DUTIES, FENCED, GLOBAL, HARMLESS
from tests.sql.walls.matrix import Function

PAGE = Path(__file__).parents[3] / "docs" / "security-matrix.md"
MARK = "secret-of-2"
# So long that no random number of an installation contains it.
NOWHERE = 1_987_654_321
CONDITIONS = ("unbound", "own", "other", "copied", "invented")


@pytest.fixture
def two(engine: Engine) -> dict[int, Engine]:
    """Two tenants with the same work; the texts of the second one carry a mark."""
    engine.db.execute("insert into tenant (tenant_code) values ('other')")
    drivers = {1: engine, 2: Engine(engine.db, 2)}
    for tenant, driver in drivers.items():
        mark = MARK if tenant == 2 else "own"
        driver.publish("w", operation(f"op-{mark}"), human("sign", role="office"), edges=[])
        driver.db.execute("select fn_person_set(%s, %s, array['office'])", (tenant, f"ada {mark}"))
        run_id = driver.start("w", {"text": mark})
        driver.start("w", {"text": mark})
        driver.db.execute(
            "select fn_signal(%s, %s, 'e', %s::jsonb, 'k')", (tenant, run_id, f'{{"m": "{mark}"}}')
        )
        driver.db.execute(
            "select fn_approval_request(%s, 'reopen', %s, %s, %s)",
            (tenant, run_id << 20, f"ada {mark}", mark),
        )
        driver.db.execute(
            "select fn_job_enqueue(%s, 'free', array[%s::jsonb])", (tenant, f'{{"text": "{mark}"}}')
        )
        session = driver.worker()
        leases = driver.claim(session)
        driver.report(session, (leases[0], "completed", {"text": mark}))
    return drivers


class Walls:
    """A connection that takes each role and each condition in turn."""

    def __init__(self, db: psycopg.Connection) -> None:
        self.db = db
        self.tokens = {tenant: token(db, tenant) for tenant in (1, 2)}
        with db.transaction():
            bind(db, self.tokens[1])
            (self.copied,) = db.execute("select current_setting('stepwell.binding')").fetchone()  # type: ignore[misc]

    @contextmanager
    def under(self, role: str, condition: str) -> Iterator[None]:
        with self.db.transaction(force_rollback=True):
            self.db.execute(f"set local role {role}")
            if condition in ("own", "other"):
                bind(self.db, self.tokens[1 if condition == "own" else 2])
            elif condition != "unbound":
                setting = self.copied if condition == "copied" else "1:1:1:" + "0" * 64
                self.db.execute("select set_config('stepwell.binding', %s, true)", (setting,))
            yield

    def ask(self, query: str) -> Any:
        """The first value, or the code of the error."""
        try:
            with self.db.transaction(force_rollback=True):
                row = self.db.execute(query.encode()).fetchone()
            return None if row is None else row[0]
        except psycopg.Error as error:
            return f"error {error.sqlstate}"


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


def call(found: Function, tenant: int, run_id: int, **more: str) -> str:
    """A call about a tenant, with the numbers of a run of it; whatever else is required is null."""
    known = {
        "p_tenant_id": str(tenant),
        "p_tenant_ids": f"array[{tenant}]",
        "p_run_id": str(run_id),
        "p_run_ids": f"array[{run_id}]",
        "p_unit_id": str((run_id << 20) + 1),
        "p_unit_ids": f"array[{(run_id << 20) + 1}]",
        "p_limit": "10",
        **more,
    }
    given = [
        f"{f'{name} => ' if name else ''}{known.get(name, 'null')}::{kind}"
        for place, (name, kind) in enumerate(found.arguments)
        if place < found.required or name in known
    ]
    source = f"stepwell.{found.name}({', '.join(given)})"
    return f"select string_agg(x::text, ',') from {source} as x"


def test_a_function_refuses_every_tenant_but_the_bound_one(db: psycopg.Connection, two):
    walls = Walls(db)
    lax = []
    exempt = {*HARMLESS, *FENCED, *DUTIES}
    functions = [f for f in matrix.functions(db) if f.is_definer and f.takes_tenant and f.name not in exempt]
    acts_for_all = {"stepwell_keeper", "stepwell_slack", "stepwell_worker"}
    assert len(functions) > 50
    for role in matrix.roles(db):
        for condition in CONDITIONS:
            if condition == "unbound" and role in acts_for_all:
                continue
            with walls.under(role, condition):
                for found in functions:
                    if role in found.roles:
                        answer = walls.ask(call(found, 1 if condition == "other" else 2, 1))
                        if answer != "error SW007":
                            lax.append((role, condition, found.name, answer))
    assert lax == []


def test_nothing_is_learnt_about_another_tenant(db: psycopg.Connection, two):
    """What a function says about another tenant is what it says about one that does not exist."""
    walls = Walls(db)
    run_id = db.execute("select max(run_id) from run_detail where tenant_id = 2").fetchone()[0]  # type: ignore[index]
    functions = [
        f
        for f in matrix.functions(db)
        if {name for name, _ in f.arguments} & {"p_tenant_id", "p_tenant_ids"}
        and f.name not in {*FENCED, *DUTIES}
    ]
    told = []
    for role in ("stepwell_api", "stepwell_reader"):
        for condition in ("unbound", "own", "copied"):
            with walls.under(role, condition):
                for found in functions:
                    if role in found.roles:
                        about = [str(walls.ask(call(found, tenant, run_id))) for tenant in (2, NOWHERE)]
                        about = [re.sub(r"portal \d+", "portal", text) for text in about]
                        # A position of the log is that of the server: another test may move it in between.
                        about = [re.sub(r"\b\d+:\d+:[\d,]*", "position", text) for text in about]
                        if about[0] != about[1].replace(str(NOWHERE), "2") or MARK in about[0]:
                            told.append((role, condition, found.name, about))
    assert told == []


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
    for role in matrix.roles(db):
        for found in matrix.functions(db):
            given = {name for name, _ in found.arguments}
            names = given & naming or given & {"p_person"}
            if role in found.roles and found.is_definer and names and found.name not in FENCED:
                count += 1
                # The second step is for people.
                step = f"({run_id}::bigint << 20) + 2"
                posing = dict.fromkeys(names, "'ada own'")
                query = call(found, 1, run_id, p_unit_id=step, p_person="'ada own'", **posing)
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
