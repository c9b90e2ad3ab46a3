"""Checks function bodies with plpgsql_check: finds a PostgreSQL that has it, returns its findings."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from scripts.ensure_programs import HOW_CHECKER, find_checker

# A trigger function is checked for every table that calls it.
FUNCTIONS = """
    select p.oid, format('%s(%s)', p.proname, pg_get_function_identity_arguments(p.oid)),
        coalesce(t.tgrelid, 0)
    from pg_proc as p
    inner join pg_language as l on p.prolang = l.oid
    left join pg_trigger as t on p.oid = t.tgfoid and t.tgparentid = 0
    where p.pronamespace = 'stepwell'::regnamespace and l.lanname = 'plpgsql'
    order by 2, 3
"""
FINDINGS = """
    select c.lineno, c.level, c.message, c.detail
    from plpgsql_check_function_tb(%s, %s, fatal_errors => false, all_warnings => true) as c
"""


def bin_dir() -> Path:
    """The programs of a PostgreSQL with plpgsql_check; without one the test is skipped, but never in CI."""
    library = find_checker()
    if library is not None:
        return library.parent.parent / "bin"
    if os.environ.get("CI") == "true":
        pytest.fail(HOW_CHECKER)
    pytest.skip(HOW_CHECKER)


@dataclass(frozen=True, order=True)
class Finding:
    """`line` counts from the first line of the body; None for the function as a whole."""

    function: str
    text: str
    line: int | None


def findings(connection: psycopg.Connection, only: str | None = None) -> list[Finding]:
    """All findings of every level: errors, warnings, dead code, hidden casts, volatility."""
    return [
        Finding(name, f"{level}: {message}{f' ({detail})' if detail else ''}", line)
        for oid, name, table in connection.execute(FUNCTIONS).fetchall()
        if only in (None, name)
        for line, level, message, detail in connection.execute(FINDINGS, (oid, table)).fetchall()
    ]


def function_count(connection: psycopg.Connection) -> int:
    return len({name for _, name, _ in connection.execute(FUNCTIONS)})
