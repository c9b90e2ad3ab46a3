"""Seal the log and read it for verification: receives a tenant, returns blocks, leaves and raw events.

Verification reads raw rows and does not trust functions of the database: a person who can change the log can
also change the functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import psycopg
from psycopg.rows import TupleRow

from stepwell.errors import from_database
from stepwell.sql import support_text
from stepwell.store.connection.call import Call
from stepwell.store.connection.pool import named

CONNECT_LIMIT_SECONDS = 10
PAGE_BLOCKS = 1000

Position = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Due:
    """Tenants with unsealed events; `interval_seconds` 0 means that the keeper seals nothing."""

    interval_seconds: int
    tenant_ids: list[int]


@dataclass(frozen=True, slots=True)
class Sealed:
    """A new block. If `is_full`, there may be more events to seal immediately."""

    block_no: int
    event_count: int
    block_hash: str
    is_full: bool


@dataclass(frozen=True, slots=True)
class Chain:
    """The row of a chain: its genesis and its stored head."""

    tenant_id: int
    chain_id: str
    salt: bytes
    genesis_hash: str
    created_at: str
    block_count: int
    head_hash: str
    last: Position

    def genesis(self, salt_sha256: str) -> dict[str, Any]:
        return {
            "chain_id": self.chain_id, "tenant_id": self.tenant_id, "salt_sha256": salt_sha256,
            "created_at": self.created_at, "genesis_hash": self.genesis_hash,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Leaves:
    """The stored leaves of a block, in order."""

    hashes: list[bytes]
    positions: list[Position]
    ats: list[datetime]
    unit_ids: list[int]
    event_types: list[str]


@dataclass(frozen=True, slots=True)
class StreamEntry:
    stream_id: int
    block_no: int
    previous_block_no: int
    event_count: int
    entry_hash: bytes


def due(limit: int) -> Call[Due]:
    return Call(
        "select interval_seconds, tenant_ids from stepwell.fn_audit_due(%s)",
        (limit,),
        lambda rows: Due(*rows[0]),
    )


def seal(tenant_id: int) -> Call[Sealed | None]:
    """None if there is nothing new, or if an older transaction is still open and may add earlier events."""
    return Call(
        "select block_no, event_count, encode(block_hash, 'hex'), is_full from stepwell.fn_audit_seal(%s)",
        (tenant_id,),
        lambda rows: Sealed(*rows[0]) if rows else None,
    )


def anchor_backlog(tenant_id: int, anchor: str, limit: int) -> Call[list[dict[str, Any]]]:
    """Headers that were not written to the anchor yet, the oldest first."""
    return Call(
        "select stepwell.fn_anchor_backlog(%s, %s, %s)",
        (tenant_id, anchor, limit),
        lambda rows: rows[0][0] or [],
    )


def anchor_tenants(anchor: str) -> Call[list[int]]:
    return Call("select stepwell.fn_anchor_tenants(%s)", (anchor,), lambda rows: rows[0][0] or [])


def record_anchored(tenant_id: int, anchor: str, block_no: int | None, error: str | None) -> Call[None]:
    return Call(
        "select stepwell.fn_anchor_record(%s, %s, %s, %s)",
        (tenant_id, anchor, block_no, error),
        lambda rows: None,
    )


class AuditReader:
    """Reads the audit tables of one tenant on one snapshot."""

    def __init__(self, connection: psycopg.Connection[TupleRow], tenant_id: int) -> None:
        self.connection = connection
        self.tenant_id = tenant_id

    def rows(self, query: str, *parameters: Any) -> list[TupleRow]:
        return self.connection.execute(query.encode(), parameters or None).fetchall()

    def tenants(self) -> dict[str, int]:
        """The numbers of all tenants by name."""
        return dict(self.rows("select tenant_code, tenant_id from stepwell.tenant order by tenant_id"))

    def other_chains(self) -> set[str]:
        query = "select chain_id::text from stepwell.audit_chain where tenant_id <> %s"
        return {chain_id for (chain_id,) in self.rows(query, self.tenant_id)}

    def chain(self) -> Chain | None:
        found = self.rows(
            "select c.tenant_id, c.chain_id::text, c.salt, encode(c.genesis_hash, 'hex'), c.created_at,"
            " c.block_count, encode(c.head_hash, 'hex'), c.last_tx::text::bigint, c.last_event_id"
            " from stepwell.audit_chain as c where c.tenant_id = %s",
            self.tenant_id,
        )
        if not found:
            return None
        tenant_id, chain_id, salt, genesis, created_at, count, head, last_tx, last_event_id = found[0]
        return Chain(
            tenant_id, chain_id, salt, genesis, moment(created_at), count, head, (last_tx, last_event_id)
        )

    def blocks(self, numbers: list[int] | None = None) -> Iterator[dict[str, Any]]:
        """Headers in the order of their numbers: all of them, read page by page, or only `numbers`."""
        after = 0
        while True:
            wanted = "b.block_no = any (%s)" if numbers is not None else "b.block_no > %s"
            rows = self.rows(
                "select b.block_no, b.first_tx::text::bigint, b.first_event_id, b.last_tx::text::bigint,"
                " b.last_event_id, b.first_at, b.last_at, b.event_count, encode(b.event_root, 'hex'),"
                " b.stream_count, encode(b.stream_root, 'hex'), encode(b.history_root, 'hex'),"
                " encode(b.previous_hash, 'hex'), b.sealed_at, encode(b.block_hash, 'hex')"
                f" from stepwell.audit_block as b where b.tenant_id = %s and {wanted}"
                f" order by b.block_no limit {PAGE_BLOCKS if numbers is None else len(numbers)}",
                self.tenant_id, after if numbers is None else numbers,
            )  # fmt: skip
            for row in rows:
                yield _header(row)
            if numbers is not None or len(rows) < PAGE_BLOCKS:
                return
            after = rows[-1][0]

    def block_of(self, position: Position) -> int | None:
        """The number of the block that contains a position; None if it is not sealed yet."""
        rows = self.rows(
            "select b.block_no from stepwell.audit_block as b where b.tenant_id = %s"
            " and (b.last_tx, b.last_event_id) >= (%s::text::xid8, %s)"
            " order by b.last_tx, b.last_event_id limit 1",
            self.tenant_id, *position,
        )  # fmt: skip
        return rows[0][0] if rows else None

    def block_hashes(self, below: int) -> list[bytes]:
        rows = self.rows(
            "select b.block_hash from stepwell.audit_block as b"
            " where b.tenant_id = %s and b.block_no < %s order by b.block_no",
            self.tenant_id, below,
        )  # fmt: skip
        return [row[0] for row in rows]

    def leaves(self, block_no: int) -> Leaves | None:
        rows = self.rows(
            "select l.leaf_hashes, l.txs, l.event_ids, l.ats, l.unit_ids, l.event_types"
            " from stepwell.audit_leaves as l where l.tenant_id = %s and l.block_no = %s",
            self.tenant_id, block_no,
        )  # fmt: skip
        if not rows:
            return None
        hashes, txs, event_ids, ats, unit_ids, event_types = rows[0]
        cut = [hashes[at : at + 32] for at in range(0, len(hashes), 32)]
        return Leaves(cut, list(zip(txs, event_ids, strict=True)), ats, unit_ids, event_types)

    def stream_entries(self, block_no: int) -> list[StreamEntry]:
        return self._entries("s.block_no = %s order by s.run_id", block_no)

    def entries_of(self, stream_ids: list[int]) -> list[StreamEntry]:
        return self._entries("s.run_id = any (%s) order by s.run_id, s.block_no", stream_ids)

    def _entries(self, condition: str, value: Any) -> list[StreamEntry]:
        rows = self.rows(
            "select s.run_id, s.block_no, s.previous_block_no, s.event_count, s.entry_hash"
            f" from stepwell.audit_block_stream as s where s.tenant_id = %s and {condition}",
            self.tenant_id, value,
        )  # fmt: skip
        return [StreamEntry(*row) for row in rows]

    def events(self, after: Position, until: Position, limit: int) -> list[dict[str, Any]]:
        """Raw events between two positions, at most `limit`; the payload is the text that is hashed."""
        return self._events(
            "(e.tx, e.event_id) > (%s::text::xid8, %s) and (e.tx, e.event_id) <= (%s::text::xid8, %s)",
            *after, *until, limit=limit,
        )  # fmt: skip

    def stream_events(self, stream_ids: list[int], limit: int) -> list[dict[str, Any]]:
        return self._events("e.run_id = any (%s)", stream_ids, limit=limit)

    def _events(self, condition: str, *values: Any, limit: int) -> list[dict[str, Any]]:
        rows = self.rows(
            "select e.tx::text::bigint, e.event_id, e.at, e.run_id, e.unit_id, e.request_id, e.event_type,"
            " e.from_state, e.to_state, e.actor_class, e.actor, e.audit_ref, e.trace_id, e.correlation_id,"
            f" e.payload::text from stepwell.event_log as e where e.tenant_id = %s and {condition}"
            " order by e.tx, e.event_id limit %s",
            self.tenant_id, *values, limit,
        )  # fmt: skip
        return [_event(row) for row in rows]

    def unsealed_count(self, chain: Chain) -> int:
        rows = self.rows(
            "select count(*) from stepwell.event_log as e where e.tenant_id = %s"
            " and (e.tx, e.event_id) > (%s::text::xid8, %s)",
            self.tenant_id, *chain.last,
        )  # fmt: skip
        return int(rows[0][0])

    def archived_months(self) -> set[date]:
        return {row[0] for row in self.rows("select a.month from stepwell.audit_archived_month as a")}

    def existing_months(self) -> set[date]:
        return {row[0] for row in self.rows(support_text("log_months"))}


@contextmanager
def reading(conninfo: str, tenant_id: int) -> Iterator[AuditReader]:
    """A reader on one snapshot, so that it never sees a part of a new block."""
    try:
        with psycopg.connect(
            named(conninfo, "stepwell audit"), connect_timeout=CONNECT_LIMIT_SECONDS
        ) as connection:
            connection.execute("set transaction isolation level repeatable read read only")
            yield AuditReader(connection, tenant_id)
    except psycopg.Error as error:
        raise from_database(error) from error


def read_moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def moment(at: datetime) -> str:
    """The time in the format of the texts that the database hashes."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"


_HEADER = (
    "block_no", "first_tx", "first_event_id", "last_tx", "last_event_id", "first_at", "last_at",
    "event_count", "event_root", "stream_count", "stream_root", "history_root", "previous_hash",
    "sealed_at", "block_hash",
)  # fmt: skip
_EVENT = (
    "tx", "event_id", "at", "stream_id", "unit_id", "request_id", "event_type", "from_state", "to_state",
    "actor_class", "actor", "audit_ref", "trace_id", "correlation_id", "payload",
)  # fmt: skip


def _header(row: TupleRow) -> dict[str, Any]:
    made = dict(zip(_HEADER, row, strict=True))
    return made | {name: moment(made[name]) for name in ("first_at", "last_at", "sealed_at")}


def _event(row: TupleRow) -> dict[str, Any]:
    made = dict(zip(_EVENT, row, strict=True))
    return made | {"at": moment(made["at"])}
