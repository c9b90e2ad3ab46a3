"""Install the routines of this release: receives SQL files in a transaction, returns the dropped routines.

Functions and views are `create or replace`, in the order of their paths; a file that needs a later file is
run again after it. Routines that an earlier release made and this one does not have are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow

from stepwell.errors import LOCKED_SQLSTATE, SchemaError
from stepwell.sql import support_text
from stepwell.store.connection.borrowed import Asking
from stepwell.store.schema import catalog
from stepwell.store.schema.sql_files import SqlFile, SqlFiles

# Undefined table, function, object or column: a later file may define it.
_DEFINED_LATER = frozenset({"42P01", "42883", "42704", "42703"})
# "create or replace" cannot change the columns of a view or the result of a function.
_SHAPE_CHANGED = frozenset({"42P16", "42P13"})
_BUSY = "another session has a lock on the table; end it or stop the workers, then try again"

_DEFINITION = re.compile(r"^create or replace (?:function|view) stepwell\.(\w+)", re.MULTILINE)
# What must exist when a file is applied: what a view reads, and what the head of a function names.
_NEEDING = re.compile(
    r"^create or replace view .*?;$|^create or replace function .*?^as \$\$", re.MULTILINE | re.DOTALL
)
_NAME = re.compile(r"\bstepwell\.(\w+)")

Connection = psycopg.Connection[TupleRow]
# (kind, name), kind being "function" or "view"
Key = tuple[str, str]


def apply_file(connection: Connection, file: SqlFile) -> None:
    """Run one file in the open transaction; an error names file and line."""
    try:
        connection.execute(file.text.encode())
    except psycopg.Error as error:
        raise _located(error, file) from error
    if connection.info.transaction_status is not TransactionStatus.INTRANS:
        raise SchemaError(
            f"{file.name} ends the transaction",
            hint="remove commit and rollback from the file: all migrations run in one transaction",
        )


def _located(error: psycopg.Error, file: SqlFile) -> SchemaError:
    diag = error.diag
    line = ""
    if diag.statement_position:
        line = f" line {file.text.count(chr(10), 0, int(diag.statement_position) - 1) + 1}"
    found = SchemaError(
        f"{file.folder}/{file.name}{line}: {diag.message_primary or error}",
        detail=diag.message_detail,
        hint=_BUSY if error.sqlstate == LOCKED_SQLSTATE else diag.message_hint,
    )
    found.sqlstate = error.sqlstate
    return found


def recorded(connection: Asking) -> tuple[str, frozenset[str]] | None:
    """Hash and object names of the installed routines; None if none were installed."""
    row = connection.execute(support_text("routines_recorded")).fetchone()
    return None if row is None else (row[0], frozenset(row[1]))


def replace(connection: Connection, files: SqlFiles) -> tuple[str, ...]:
    """Apply all routine files; return the names of the dropped routines."""
    in_force = recorded(connection)
    known = in_force[1] if in_force else frozenset()
    # Off, so that the order of the files does not matter; `_validate` checks the bodies at the end.
    connection.execute("set local check_function_bodies = off")
    before = _objects(connection)
    connection.execute("savepoint routines")
    try:
        _apply_in_any_order(connection, files.routines)
    except SchemaError as error:
        if error.sqlstate not in _SHAPE_CHANGED:
            raise
        connection.execute("rollback to savepoint routines")
        before = _drop_known(connection, before, known)
        _apply_in_any_order(connection, files.routines)
    made = {key for key, place in _objects(connection).items() if before.get(key) != place}
    vanished = sorted(key for key in before if key[1] in known and key not in made)
    # Views first: they may use the functions that are dropped.
    for kind, name in reversed(vanished):
        _drop(connection, kind, name)
    _validate(connection)
    # `create or replace` removes the settings of a function, so set them again.
    if connection.execute("select to_regproc('stepwell._plans_apply')").fetchone() != (None,):
        connection.execute("select stepwell._plans_apply()")
    connection.execute(
        support_text("routines_record"),
        (files.routines_sha256, _names(made, "function"), _names(made, "view")),
    )
    return tuple(name for _, name in vanished)


def _objects(connection: Connection) -> dict[Key, str]:
    """(kind, name) → place of the catalog row, which every `create or replace` changes."""
    rows = connection.execute(support_text("routine_objects")).fetchall()
    return {(kind, name): place for kind, name, place in rows}


def _names(keys: Iterable[Key], kind: str) -> list[str]:
    return sorted(name for found, name in keys if found == kind)


def in_order(files: Sequence[SqlFile]) -> list[SqlFile]:
    """Each file after the files whose functions and views it needs to be created; otherwise as given."""
    homes = {name: file for file in files for name in _DEFINITION.findall(file.text)}
    placed: dict[str, SqlFile] = {}

    def place(file: SqlFile, above: frozenset[str]) -> None:
        # In a circle one of the files must come first.
        if file.name in placed or file.name in above:
            return
        used = {name for part in _NEEDING.findall(file.text) for name in _NAME.findall(part)}
        for name in sorted(used):
            if (home := homes.get(name)) is not None:
                place(home, above | {file.name})
        placed[file.name] = file

    for file in files:
        place(file, frozenset())
    return list(placed.values())


def _apply_in_any_order(connection: Connection, files: Sequence[SqlFile]) -> None:
    # In this order no file fails, so that the log of the server has no error; the loop is for circles.
    waiting = in_order(files)
    while waiting:
        postponed: list[SqlFile] = []
        first_error: SchemaError | None = None
        for file in waiting:
            connection.execute("savepoint routine_file")
            try:
                apply_file(connection, file)
            except SchemaError as error:
                if error.sqlstate not in _DEFINED_LATER:
                    raise
                connection.execute("rollback to savepoint routine_file")
                first_error = first_error or error
                postponed.append(file)
            connection.execute("release savepoint routine_file")
        if first_error is not None and len(postponed) == len(waiting):
            raise first_error
        waiting = postponed


def _drop_known(connection: Connection, objects: dict[Key, str], known: frozenset[str]) -> dict[Key, str]:
    """Drop the routines because a result or column type changed. Raises SchemaError if a table uses one."""
    tables = _tables(connection)
    # Keep trigger functions: their result type never changes, and dropping one would drop its trigger.
    kept = {name for (name,) in connection.execute(support_text("routine_triggers")).fetchall()}
    for kind, name in sorted(objects, reverse=True):
        if name in known and name not in kept:
            _drop(connection, kind, name, behaviour="cascade")
    harmed = [drift for drift in catalog.compare(tables, _tables(connection)) if drift.problem != "extra"]
    if harmed:
        raise SchemaError(
            f"a routine changed its result or its columns, and {harmed[0].kind} {harmed[0].name} uses it",
            hint="give the changed routine a new name, and use the new name there in a migration",
        )
    return _objects(connection)


def _tables(connection: Connection) -> dict[catalog.Key, catalog.Entry]:
    # A policy uses a routine; fn_privileges_apply creates it again.
    derived = ("view", "function", "policy")
    entries = catalog.read(connection)
    views = {name for kind, name in entries if kind == "view"}
    # The file of a view creates its triggers again, too.
    return {
        (kind, name): entry
        for (kind, name), entry in entries.items()
        if kind not in derived and not (kind == "trigger" and name.rpartition(".")[0] in views)
    }


def _drop(connection: Connection, kind: str, name: str, *, behaviour: str = "restrict") -> None:
    # The names come from the catalog, quoted by format('%I').
    noun = "routine" if kind == "function" else kind
    connection.execute(f"drop {noun} if exists {name} {behaviour}".encode())


def _validate(connection: Connection) -> None:
    """Check every function body after all objects exist; the error names the function."""
    connection.execute("set local check_function_bodies = on")
    for name, query in connection.execute(support_text("routine_validators")).fetchall():
        try:
            connection.execute(query)
        except psycopg.Error as error:
            raise SchemaError(
                f"function {name} is wrong: {error.diag.message_primary}",
                detail=error.diag.context,
                hint=error.diag.message_hint,
            ) from error
