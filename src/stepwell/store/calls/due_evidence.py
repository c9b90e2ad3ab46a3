"""Make the bundle of a run that waits for one: receives the run, returns a reader and calls for a keeper.

A keeper reads no table. These functions give it one run that has ended and waits for its bundle.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from stepwell.store.calls.audit import BrokenLeaves, Position, Value, cut, hexes
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

    def stream_events(self, stream_ids: list[int], limit: int) -> list[dict[str, Any]]:
        return [event for event in self._events_found if event["stream_id"] in stream_ids][:limit]

    def leaf_hashes(self, block_no: int) -> list[bytes] | BrokenLeaves | None:
        query = "select stepwell.fn_evidence_due_hashes(%s, %s, %s)"
        ((joined,),) = self.rows(query, self.tenant_id, self.run_id, block_no)
        return None if joined is None else cut(joined)

    def places(self, block_no: int) -> dict[Position, tuple[int, list[str]]]:
        """Only of the events of this bundle."""
        query = (
            "select p.tx, p.event_id, p.leaf_no, p.value_hashes"
            " from stepwell.fn_evidence_due_places(%s, %s, %s) as p"
        )
        return {
            (tx, event_id): (leaf_no, [] if joined is None else hexes(joined))
            for tx, event_id, leaf_no, joined in self.rows(query, self.tenant_id, self.run_id, block_no)
        }

    def values(self, unit_ids: list[int]) -> list[Value]:
        rows = self.rows(
            f"select v.label, v.unit_id, {moment_text('v.at')}, v.content, v.facts"
            " from stepwell.fn_evidence_due_values(%s, %s, %s) as v"
            " order by v.unit_id, v.label collate \"C\"",
            self.tenant_id, self.run_id, unit_ids,
        )  # fmt: skip
        return [Value(*row) for row in rows]

    @cached_property
    def _events_found(self) -> list[dict[str, Any]]:
        """The events of all streams of the bundle, which are read once for each snapshot."""
        return self._events("true", limit=None)

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
