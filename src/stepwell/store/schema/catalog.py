"""Read a schema as text: receives a connection, returns entries, their snapshot (`render`) and their drift.

An entry is one table, constraint, index, … with its definition. The snapshot is committed as
`schema.snapshot.sql`: it shows reviewers what a migration changes, it is never run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import psycopg
from psycopg.rows import TupleRow

from stepwell.sql import support_text

HEADER = """\
-- The schema of stepwell, as the sum of its migrations and routines. Written by `stepwell db dump`.
-- A picture for review, compared in tests, never run. Bodies of views and functions are in routines/.
"""

Key = tuple[str, str]

# Settings that change how PostgreSQL prints a definition.
_PRINTING = {
    "search_path": "",
    "quote_all_identifiers": "off",
    "timezone": "UTC",
    "datestyle": "ISO, YMD",
    "intervalstyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "1",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """`fingerprint` is a hash of what `definition` leaves out: the body of a view or function."""

    definition: str
    fingerprint: str | None = None


@dataclass(frozen=True, slots=True)
class Drift:
    """One difference: `kind` and `name` of the object, and whether it is missing, changed or extra."""

    kind: str
    name: str
    problem: str
    expected: str | None = None
    found: str | None = None

    def __str__(self) -> str:
        return f"{self.problem} {self.kind} {self.name}"


def read(connection: psycopg.Connection[TupleRow]) -> dict[Key, Entry]:
    # Roll back: in a larger transaction the local settings would last longer than this block.
    with connection.transaction(force_rollback=True):
        for name, value in _PRINTING.items():
            connection.execute("select set_config(%s, %s, true)", (name, value))
        rows = connection.execute(support_text("catalog")).fetchall()
    return {(kind, name): Entry(definition, fingerprint) for kind, name, definition, fingerprint in rows}


def render(entries: Mapping[Key, Entry]) -> str:
    parts = [HEADER]
    parts += [f"-- {kind}: {name}\n{entry.definition}\n" for (kind, name), entry in entries.items()]
    return "\n".join(parts)


def parse(text: str) -> dict[Key, Entry]:
    """The entries of a snapshot, without fingerprints."""
    found: dict[Key, Entry] = {}
    for part in text.removeprefix(HEADER).split("\n\n"):
        head, _, definition = part.strip("\n").partition("\n")
        kind, separator, name = head.removeprefix("-- ").partition(": ")
        if separator:
            found[kind, name] = Entry(definition)
    return found


def compare(expected: Mapping[Key, Entry], found: Mapping[Key, Entry]) -> list[Drift]:
    """Every difference. Fingerprints are compared only if both sides have one."""
    drifts: list[Drift] = []
    for (kind, name), entry in expected.items():
        other = found.get((kind, name))
        if other is None:
            drifts.append(Drift(kind, name, "missing", expected=entry.definition))
        elif entry.definition != other.definition:
            drifts.append(Drift(kind, name, "changed", entry.definition, other.definition))
        elif None not in (entry.fingerprint, other.fingerprint) and entry.fingerprint != other.fingerprint:
            drifts.append(Drift(kind, name, "changed", "the body of this release", "another body"))
    for (kind, name), entry in found.items():
        if (kind, name) not in expected:
            drifts.append(Drift(kind, name, "extra", found=entry.definition))
    return drifts
