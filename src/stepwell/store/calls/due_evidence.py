"""Make the bundle of a run that waits for one: receives the run, returns a reader and calls for a keeper.

A keeper reads no table. These functions give it one run that has ended and waits for its bundle.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from stepwell.machines.model import Registry
from stepwell.store.calls.audit import BrokenLeaves, Leaves, Position, Value
from stepwell.store.calls.audit_rights import Connection, snapshot
from stepwell.store.calls.audit_times import moment_text
from stepwell.store.calls.evidence import RunReader
from stepwell.store.connection.call import Call

_TABLES = {
    "audit_chain": "stepwell.fn_evidence_due_chain({tenant_id}, {run_id})",
    "audit_block": "stepwell.fn_evidence_due_blocks({tenant_id}, {run_id})",
    "audit_block_stream": "stepwell.fn_evidence_due_entries({tenant_id}, {run_id}, {block_no})",
    "event_log": "stepwell.fn_evidence_due_events({tenant_id}, {run_id})",
}


@dataclass(frozen=True, slots=True)
class Due:
    """An ended run that waits for its bundle."""

    tenant_id: int
    run_id: int


class DueReader(RunReader):
    """The same reads, through the functions that a keeper may call."""

    def table(self, name: str, **chosen: int) -> str:
        block_no = int(chosen["block_no"]) if "block_no" in chosen else "null"
        return _TABLES[name].format(tenant_id=int(self.tenant_id), run_id=int(self.run_id), block_no=block_no)

    def run(self) -> dict[str, Any]:
        return self._found

    def event_limit(self) -> int:
        return int(self._found["event_limit"])

    def registry(self) -> Registry:
        return Registry.from_document(self._found["registry"])

    def leaves(self, block_no: int) -> Leaves | BrokenLeaves | None:
        query = (
            "select l.leaf_hashes, l.txs, l.event_ids, l.unit_ids, l.event_types, l.value_hashes,"
            " l.ats::text[] from stepwell.fn_evidence_due_leaves(%s, %s, %s) as l"
        )
        return self._leaves(self.rows(query, self.tenant_id, self.run_id, block_no))

    def values(self, unit_ids: list[int]) -> list[Value]:
        rows = self.rows(
            f"select v.label, v.unit_id, {moment_text('v.at')}, v.content, v.facts"
            " from stepwell.fn_evidence_due_values(%s, %s, %s) as v"
            " order by v.unit_id, v.label collate \"C\"",
            self.tenant_id, self.run_id, unit_ids,
        )  # fmt: skip
        return [Value(*row) for row in rows]

    @cached_property
    def _found(self) -> dict[str, Any]:
        query = "select stepwell.fn_evidence_due_run(%s, %s)"
        found: dict[str, Any] = self.rows(query, self.tenant_id, self.run_id)[0][0]
        return found


@contextmanager
def reading(connection: Connection, due: Due) -> Iterator[DueReader]:
    with snapshot(connection):
        yield DueReader(connection, due.tenant_id, due.run_id)


def waiting(limit: int) -> Call[list[Due]]:
    return Call(
        "select tenant_id, run_id from stepwell.fn_evidence_due_find(%s)",
        (limit,),
        lambda rows: [Due(*row) for row in rows],
    )


def note(due: Due, error: str) -> Call[None]:
    """The bundle could not be made."""
    return Call(
        "select stepwell.fn_evidence_due_note(%s, %s, %s)",
        (due.tenant_id, due.run_id, error),
        lambda rows: None,
    )


def seal_contents(due: Due, digest: str) -> Call[Position]:
    """Append the event with the digest of the contents, once; return its position."""
    return Call(
        "select event_tx, event_id from stepwell.fn_evidence_due_seal(%s, %s, %s)",
        (due.tenant_id, due.run_id, digest),
        lambda rows: (rows[0][0], rows[0][1]),
    )


def store(
    due: Due, digest: str, sha256: str, size_bytes: int, url: str | None, data: bytes | None
) -> Call[None]:
    """The bundle was made. Without an address the database stores its bytes."""
    return Call(
        "select stepwell.fn_evidence_due_store(%s, %s, %s, %s, %s, %s, %s)",
        (due.tenant_id, due.run_id, digest, sha256, size_bytes, url, data),
        lambda rows: None,
    )
