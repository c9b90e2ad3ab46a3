"""Tampers with a sealed database in every way that its catalog allows: receives a connection, returns cases.

A case is one column or one row of a table that a proof speaks of, changed in one way, by an attacker who then
repairs as much of the seal as he can. Columns are read from the catalog: a new one is attacked by itself.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

import psycopg

# The tables that a proof speaks of, each with the column that makes a copied row another row.
TABLES = {
    "event_log": "event_id", "audit_chain": "tenant_id", "audit_block": "block_no",
    "audit_leaves": "block_no", "audit_block_stream": "run_id", "run_detail": "run_id",
    "job_detail": "job_id", "unit_output": "lease_no", "unit_failure": "lease_no",
    "step_input": "binding_no", "work_unit": "unit_id", "approval_detail": "approval_id",
    "approval_vote": "voter", "policy_verdict": "verdict_id", "action_receipt": "receipt_id",
    "workflow_registry": "workflow_id", "workflow_version": "version_id", "workflow_step_def": "step_no",
    "workflow_step_relations": "to_no", "workflow_branch": "branch_no", "workflow_group": "group_no",
    "policy_set": "policy_set_id", "policy_active": "tenant_id", "dlq_replay_request": "replay_request_id",
    "dlq_replay_plan": "plan_id", "evidence_bundle": "contents_digest", "task_comments": "comment_id",
    "step_run_prior_audit": "prior_audit_id", "step_run_correction_cycle": "cycle_no",
    "step_run_output_snapshot": "snapshot_id", "task_detail": "task_no",
}  # fmt: skip
SEAL = ("audit_chain", "audit_block", "audit_leaves", "audit_block_stream")
EDITS = {
    "int2": "{c} + 1", "int4": "{c} + 1", "int8": "{c} + 1", "bool": "not {c}", "text": "{c} || 'x'",
    "jsonb": """'{"forged": true}'::jsonb""", "timestamptz": "{c} + interval '1 second'",
    "interval": "{c} + interval '1 second'", "bytea": "sha256({c})", "uuid": "gen_random_uuid()",
    "xid8": "({c}::text::bigint + 1)::text::xid8", "_text": "array_append({c}, 'x')",
    "_int8": "array_append({c}[2:], {c}[1])", "_bytea": "array_append({c}, sha256('x'))",
    "_timestamptz": "array_append({c}[2:], {c}[1])", "_int4": "array_append({c}, 1)", "float4": "{c} + 1",
}  # fmt: skip
# What a column without a value gets.
FIRST = {
    "int2": "1", "int4": "1", "int8": "1", "bool": "true", "text": "'x'", "jsonb": """'{"forged": true}'""",
    "timestamptz": "now()", "interval": "interval '1 second'", "bytea": "sha256('x')",
    "_text": "array['x']", "_bytea": "array[sha256('x')]", "float4": "1", "_int4": "array[1]",
    "_int8": "array[1]",
}  # fmt: skip
MOVES = {
    "later": "{c} + interval '1 month'", "earlier": "{c} - interval '1 month'",
    "never": "'infinity'::timestamptz", "always": "'-infinity'::timestamptz",
}  # fmt: skip
KINDS = (
    "select distinct concat(scope, ' ', state_code) from stepwell.work_unit where tenant_id = 1 order by 1"
)
HERE = "(tableoid, ctid) = (%s, %s::tid)"
# Gives each of two rows the value of the other.
SWAP = (
    "update {t} as x set {c} = p.{c} from (select tableoid as part, ctid as place, {c} from {t}) as p"
    " where (x.tableoid, x.ctid, p.part, p.place) in ((%s, %s::tid, %s, %s::tid), (%s, %s::tid, %s, %s::tid))"
    " and x.{c} is distinct from p.{c}"
)
# The attacker repairs nothing; the leaves; the whole block; the block and all after it.
REPAIRS = ("nothing", "leaves", "block", "chain")


@dataclass(frozen=True)
class Case:
    """`kind` is the kind and state of the units whose rows are attacked; empty: any row."""

    table: str
    column: str
    way: str
    repair: str
    kind: str = ""

    def __str__(self) -> str:
        return (
            f"{self.way} {self.table}.{self.column}{self.kind and f' ({self.kind})'}, repairs {self.repair}"
        )


@dataclass(frozen=True)
class Column:
    table: str
    name: str
    type: str


def columns(db: psycopg.Connection, tables: Any = TABLES) -> list[Column]:
    rows = db.execute(
        "select c.relname, a.attname, coalesce(nullif(b.typname, '-'), t.typname) from pg_attribute as a"
        " inner join pg_class as c on a.attrelid = c.oid inner join pg_type as t on a.atttypid = t.oid"
        " left join pg_type as b on t.typbasetype = b.oid"
        " where c.relnamespace = 'stepwell'::regnamespace and c.relname = any (%s)"
        " and a.attnum > 0 and not a.attisdropped order by c.relname, a.attnum",
        (list(tables),),
    ).fetchall()
    return [Column(*row) for row in rows]


def cases(db: psycopg.Connection) -> list[Case]:
    """Every column in every way. A row of a unit means something else for each kind and state of units."""
    kinds = [kind for (kind,) in db.execute(KINDS).fetchall()]
    found = []
    for case in _cases(db):
        found.append(case)
        if case.table == "work_unit" and case.repair == REPAIRS[0]:
            found += [replace(case, kind=kind) for kind in kinds]
    return found


def _cases(db: psycopg.Connection) -> list[Case]:
    found = []
    for column in columns(db):
        ways = ["edit", "null"]
        # To swap the keys of two rows is to swap all their other columns, and each of those is attacked.
        if column.name != TABLES[column.table] or column.table in (*SEAL, "event_log"):
            ways.append("reorder")
        if column.type == "timestamptz":
            ways += MOVES
        if column.name == TABLES[column.table]:
            ways += ["delete", "insert", "duplicate"]
        for way in ways:
            repairs = REPAIRS if way == "edit" and column.table not in SEAL else REPAIRS[:1]
            found += [Case(column.table, column.name, way, repair) for repair in repairs]
    return found


def disarm(db: psycopg.Connection) -> None:
    """What a superuser does first: no triggers, no constraints, a place for events of any time."""
    db.execute("set session_replication_role = replica")
    db.execute("create table event_log_any partition of event_log default")
    rows = db.execute(
        "select t.relname, c.conname from pg_constraint as c inner join pg_class as t on c.conrelid = t.oid"
        " where t.relnamespace = 'stepwell'::regnamespace and t.relname = any (%s) and c.contype <> 'n'",
        (list(TABLES),),
    ).fetchall()
    for table, name in rows:
        _run(db, "alter table {t} drop constraint if exists {c} cascade", table, name)
    rows = db.execute(
        "select i.indexrelid::regclass::text from pg_index as i"
        " inner join pg_class as t on i.indrelid = t.oid where t.relnamespace = 'stepwell'::regnamespace"
        " and (t.relname = any (%s) or t.relname like 'event_log_%%') and i.indisunique",
        (list(TABLES),),
    ).fetchall()
    for (name,) in rows:
        db.execute(f"drop index {name}".encode())
    rows = db.execute(
        "select c.contypid::regtype::text, c.conname from pg_constraint as c"
        " where c.contypid <> 0 and c.connamespace = 'stepwell'::regnamespace"
    ).fetchall()
    for name, constraint in rows:
        db.execute(f"alter domain {name} drop constraint {constraint}".encode())
    for column in columns(db):
        _run(db, "alter table {t} alter column {c} drop identity if exists", column.table, column.name)
        _run(db, "alter table {t} alter column {c} drop not null", column.table, column.name)


def carry_out(db: psycopg.Connection, case: Case, rng: random.Random) -> bool:
    """Tamper with rows that the seed chooses; False when no row can be changed in this way."""
    column = next(one for one in columns(db, [case.table]) if one.name == case.column)
    rows = db.execute(
        _text(
            "select tableoid, ctid::text from {t} where tenant_id = 1"
            + (" and concat(scope, ' ', state_code) = %s" if case.kind else "")
            + " order by 1, 2",
            case.table,
            case.column,
        ),
        (case.kind,) if case.kind else None,
    ).fetchall()
    rng.shuffle(rows)
    for at, row in enumerate(rows):
        block_no = _block_of(db, case.table, row)
        if _change(db, case, column, row, rows[at + 1 :]):
            if case.repair != "nothing":
                repair(db, block_no, case.repair)
            return True
    return False


def _change(
    db: psycopg.Connection, case: Case, column: Column, row: tuple[Any, ...], others: list[tuple[Any, ...]]
) -> bool:
    if case.way == "delete":
        return _run(db, f"delete from {{t}} where {HERE}", case.table, case.column, *row) == 1
    if case.way in ("insert", "duplicate"):
        return _copy(db, case, column, row)
    if case.way == "reorder":
        return any(_run(db, SWAP, case.table, case.column, *row, *o, *o, *row) == 2 for o in others[:20])
    new = _changed(case.way, column)
    change = f"update {{t}} set {{c}} = {new} where {HERE} and ({new}) is distinct from {{c}}"
    return _run(db, change, case.table, case.column, *row) == 1


def _changed(way: str, column: Column) -> str:
    if way == "null":
        return "null"
    if way in MOVES:
        return MOVES[way]
    return f"case when {{c}} is null then {FIRST.get(column.type, 'null')} else {EDITS[column.type]} end"


def _copy(db: psycopg.Connection, case: Case, column: Column, row: tuple[Any, ...]) -> bool:
    names = [one.name for one in columns(db, [case.table])]
    new = _changed("edit", column) if case.way == "insert" else "{c}"
    values = ", ".join(new if name == case.column else f'"{name}"' for name in names)
    listed = ", ".join(f'"{name}"' for name in names)
    return _run(db, f"insert into {{t}} ({listed}) select {values} from {{t}} where {HERE}",
                case.table, case.column, *row) == 1  # fmt: skip


def _block_of(db: psycopg.Connection, table: str, row: tuple[Any, ...]) -> int:
    """The block that the attacker repairs: that of the event; for values, the first one."""
    if table != "event_log":
        return 1
    found = db.execute(
        "select min(b.block_no) from audit_block as b, (select tx, event_id from event_log"
        f" where {HERE}) as e where b.tenant_id = 1 and (b.last_tx, b.last_event_id) >= (e.tx, e.event_id)",
        row,
    ).fetchone()
    assert found is not None
    return int(found[0])


def repair(db: psycopg.Connection, block_no: int, how: str) -> None:
    """Seal again from a block on, with the functions of the database; then put back what is not repaired."""
    for table in SEAL:
        db.execute(
            f"create temp table old_{table} on commit drop as select * from {table} where tenant_id = 1"
        )
    rewind(db, block_no)
    while db.execute("select * from fn_audit_seal(1)").fetchall():
        if how == "block":
            break
    if how == "leaves":
        _put_back(db, "audit_block", 1)
    elif how == "block":
        for table in SEAL[1:]:
            _put_back(db, table, block_no + 1)
    if how != "chain":
        _put_back(db, "audit_chain", None)
    for table in SEAL:
        db.execute(f"drop table old_{table}")


def rewind(db: psycopg.Connection, block_no: int) -> None:
    """Cut the chain off before a block, as if it had never been sealed."""
    for table in SEAL[1:]:
        db.execute(f"delete from {table} where tenant_id = 1 and block_no >= %s", (block_no,))
    db.execute(
        "update audit_chain set block_count = 0, head_hash = genesis_hash, history_peaks = '{}',"
        " last_tx = '0', last_event_id = 0, sealed_at = null where tenant_id = 1"
    )
    for number in range(1, block_no):
        db.execute(
            "update audit_chain as c set block_count = b.block_no, head_hash = b.block_hash,"
            " history_peaks = _history_append(c.history_peaks, c.block_count, b.block_hash),"
            " last_tx = b.last_tx, last_event_id = b.last_event_id, sealed_at = b.sealed_at"
            " from audit_block as b where b.tenant_id = 1 and c.tenant_id = 1 and b.block_no = %s",
            (number,),
        )


def _put_back(db: psycopg.Connection, table: str, block_no: int | None) -> None:
    above = "" if block_no is None else f" and block_no >= {block_no}"
    db.execute(f"delete from {table} where tenant_id = 1{above}".encode())
    db.execute(f"insert into {table} select * from old_{table} where tenant_id = 1{above}".encode())


def _text(text: str, table: str, column: str) -> bytes:
    return text.replace("{t}", f'stepwell."{table}"').replace("{c}", f'"{column}"').encode()


def _run(db: psycopg.Connection, text: str, table: str, column: str, *values: Any) -> int:
    return db.execute(_text(text, table, column), values or None).rowcount
