"""The digests of the seal are the work of the keeper: no claim, report or start computes one."""

from __future__ import annotations

import re

import psycopg
import pytest

DIGESTS = {"_value_digest", "_audit_values", "_audit_value_texts", "fn_audit_seal"}
HOT = (
    "fn_job_claim", "fn_job_report", "fn_run_start", "fn_job_enqueue", "fn_timers_fire",
    "fn_worker_heartbeat",
)  # fmt: skip
SOURCES = """
    select p.proname, string_agg(concat(p.prosrc, pg_get_function_sqlbody(p.oid)), ' ')
    from pg_proc as p where p.pronamespace = 'stepwell'::regnamespace group by p.proname
"""
# What the trigger of a table calls belongs to whoever writes the table.
TRIGGERS = """
    select c.relname, p.proname from pg_trigger as t
    inner join pg_class as c on t.tgrelid = c.oid inner join pg_proc as p on t.tgfoid = p.oid
    where p.pronamespace = 'stepwell'::regnamespace
"""


def reached(db: psycopg.Connection, name: str) -> set[str]:
    """Every routine that this one may call, by the names in their texts."""
    sources: dict[str, str] = dict(db.execute(SOURCES).fetchall())
    triggers: dict[str, set[str]] = {}
    for table, called in db.execute(TRIGGERS).fetchall():
        triggers.setdefault(table, set()).add(called)
    found: set[str] = set()
    open_names = [name]
    while open_names:
        one = open_names.pop()
        if one in found:
            continue
        found.add(one)
        text = sources[one]
        open_names += {word for word in re.findall(r"\b\w+(?=\s*\()", text) if word in sources}
        for table in re.findall(r"(?:insert into|update|delete from) (?:stepwell\.)?(\w+)", text):
            open_names += triggers.get(table, ())
    return found


@pytest.mark.parametrize("name", HOT)
def test_it_reaches_no_digest(db: psycopg.Connection, name: str):
    assert reached(db, name) & DIGESTS == set()


def test_who_acts_reaches_one(db: psycopg.Connection):
    """The search sees a digest where there is one: an effect and an approval carry those of their values."""
    assert "_value_digest" in reached(db, "fn_action_settle")
    assert "_value_digest" in reached(db, "fn_approval_request")
    assert "_audit_values" in reached(db, "fn_audit_seal")
