"""Read the log for verification: receives a tenant, returns blocks, leaves, raw events and values.

Verification reads raw rows and does not trust functions of the database: a person who can change the log can
also change the functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.rows import TupleRow

from stepwell import json_text
from stepwell.sql import support_text
from stepwell.store.calls.audit_relations import by_table, needed_views
from stepwell.store.calls.audit_rights import Connection, connecting, snapshot
from stepwell.store.calls.audit_times import moment_text

PAGE_BLOCKS = 1000
# No number of a block is lower; a reader begins before everything that a table can hold.
BEFORE_ALL = -(1 << 63)

Position = tuple[int, int]


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
    peaks: list[bytes]
    sealed_at: str | None
    is_whole: bool = True

    def genesis(self, salt_sha256: str) -> dict[str, Any]:
        return {
            "chain_id": self.chain_id, "tenant_id": self.tenant_id, "salt_sha256": salt_sha256,
            "created_at": self.created_at, "genesis_hash": self.genesis_hash,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Leaves:
    """The stored leaves of a block, in order. `values` is None if no values were sealed then."""

    hashes: list[bytes]
    positions: list[Position]
    ats: list[str]
    unit_ids: list[int]
    event_types: list[str]
    values: list[list[str] | None] | None


@dataclass(frozen=True, slots=True)
class BrokenLeaves:
    """Stored leaves that cannot be read: columns of different length, or without a value."""

    detail: str


@dataclass(frozen=True, slots=True)
class Value:
    """A value beside the log, as the text that is hashed."""

    label: str
    unit_id: int
    at: str
    text: str
    facts: list[Any]


@dataclass(frozen=True, slots=True)
class UnitNow:
    """A unit after its last event; `state` is its state now, `has_run`: its run or job still exists."""

    unit_id: int
    last: Position
    state_last: Position | None
    last_state: str | None
    state: str | None
    exists: bool
    has_run: bool


@dataclass(frozen=True, slots=True)
class Archived:
    """What the log says of its archived months (YYYY-MM), and how many sealed events they had."""

    months: frozenset[str]
    event_count: int
    said_in: str = ""
    # False: the event that should say it says something else.
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class StreamEntry:
    stream_id: int
    block_no: int
    previous_block_no: int
    event_count: int
    entry_hash: bytes


class AuditReader:
    """Reads the audit tables of one tenant on one snapshot.

    `views` has the views that are read in place of a table with a column that the caller may not read.
    """

    def __init__(self, connection: Connection, tenant_id: int) -> None:
        self.connection = connection
        self.tenant_id = tenant_id
        self.views: tuple[str, ...] | None = None
        self.unreadable: list[str] = []

    def table(self, name: str, **chosen: int) -> str:
        """Where to read the rows of a table; `chosen` says which of them the query needs."""
        return f"stepwell.{name}"

    def rows(self, query: str, *parameters: Any) -> list[TupleRow]:
        return self.connection.execute(self._by_table(query).encode(), parameters or None).fetchall()

    def tenants(self) -> dict[str, int]:
        """The numbers of all tenants by name."""
        return dict(self.rows("select tenant_code, tenant_id from stepwell.tenant order by tenant_id"))

    def other_chains(self) -> set[str]:
        query = "select chain_id::text from stepwell.audit_chain where tenant_id <> %s"
        return {chain_id for (chain_id,) in self.rows(query, self.tenant_id)}

    def chain(self) -> Chain | None:
        found = self.rows(
            "select c.tenant_id, c.chain_id::text, c.salt, encode(c.genesis_hash, 'hex'),"
            f" {moment_text('c.created_at')}, c.block_count, encode(c.head_hash, 'hex'),"
            f" c.last_tx::text::bigint, c.last_event_id, c.history_peaks, {moment_text('c.sealed_at')}"
            f" from {self.table('audit_chain')} as c where c.tenant_id = %s",
            self.tenant_id,
        )
        if not found:
            return None
        tenant_id, chain_id, salt, genesis, created_at, count, head, tx, event_id, peaks, sealed_at = found[0]
        return Chain(
            tenant_id, chain_id, salt, genesis, created_at, count, head, (tx, event_id), peaks, sealed_at,
            is_whole=len(found) == 1 and None not in found[0][:10],
        )  # fmt: skip

    def blocks(self, numbers: list[int] | None = None) -> Iterator[dict[str, Any]]:
        """Headers in the order of their numbers: all of them, read page by page, or only `numbers`."""
        after = BEFORE_ALL
        while True:
            wanted = "b.block_no = any (%s)" if numbers is not None else "b.block_no > %s"
            rows = self.rows(
                "select b.block_no, b.first_tx::text::bigint, b.first_event_id, b.last_tx::text::bigint,"
                f" b.last_event_id, {moment_text('b.first_at')}, {moment_text('b.last_at')}, b.event_count,"
                " encode(b.event_root, 'hex'),"
                " b.stream_count, encode(b.stream_root, 'hex'), encode(b.history_root, 'hex'),"
                f" encode(b.previous_hash, 'hex'), {moment_text('b.sealed_at')}, encode(b.block_hash, 'hex')"
                f" from {self.table('audit_block')} as b where b.tenant_id = %s and {wanted}"
                f" order by b.block_no limit {PAGE_BLOCKS if numbers is None else len(numbers)}",
                self.tenant_id, after if numbers is None else numbers,
            )  # fmt: skip
            for row in rows:
                yield dict(zip(_HEADER, row, strict=True))
            if numbers is not None or len(rows) < PAGE_BLOCKS:
                return
            after = rows[-1][0]

    def block_of(self, position: Position) -> int | None:
        """The number of the block that contains a position; None if it is not sealed yet."""
        rows = self.rows(
            f"select b.block_no from {self.table('audit_block')} as b where b.tenant_id = %s"
            " and (b.last_tx, b.last_event_id) >= (%s::text::xid8, %s)"
            " order by b.last_tx, b.last_event_id limit 1",
            self.tenant_id, *position,
        )  # fmt: skip
        return rows[0][0] if rows else None

    def block_hashes(self, below: int) -> list[bytes]:
        rows = self.rows(
            f"select b.block_hash from {self.table('audit_block')} as b"
            " where b.tenant_id = %s and b.block_no < %s order by b.block_no",
            self.tenant_id, below,
        )  # fmt: skip
        return [row[0] for row in rows]

    def leaves(self, block_no: int) -> Leaves | BrokenLeaves | None:
        return self._leaves(self.support("audit_leaves", block_no=block_no))

    def leaf_hashes(self, block_no: int) -> list[bytes] | BrokenLeaves | None:
        found = self.leaves(block_no)
        return found.hashes if isinstance(found, Leaves) else found

    def places(self, block_no: int) -> dict[Position, tuple[int, list[str]]]:
        """Where the events of a block are, from 0, and the hashes of the values that they carry."""
        found = self.leaves(block_no)
        if not isinstance(found, Leaves):
            return {}
        return {
            position: (at, (found.values[at] if found.values is not None else None) or [])
            for at, position in enumerate(found.positions)
        }

    @staticmethod
    def _leaves(rows: list[TupleRow]) -> Leaves | BrokenLeaves | None:
        if not rows:
            return None
        if len(rows) > 1 or any(column is None for column in (*rows[0][:5], rows[0][6])):
            return BrokenLeaves("they are stored more than once, or without a column")
        joined, *columns = rows[0]
        hashes = cut(joined)
        txs, event_ids, unit_ids, event_types, values, ats = columns
        if any(len(column) != len(hashes) for column in columns if column is not None):
            return BrokenLeaves("their columns have different lengths")
        numbers, texts = (*txs, *event_ids, *unit_ids), (*event_types, *ats)
        if not (all(type(one) is int for one in numbers) and all(type(one) is str for one in texts)):
            return BrokenLeaves("a position, time, unit or type is missing")
        carried = None if values is None else [None if one is None else hexes(one) for one in values]
        positions = list(zip(txs, event_ids, strict=True))
        return Leaves(hashes, positions, ats, unit_ids, event_types, carried)

    def stream_entries(self, block_no: int) -> list[StreamEntry]:
        table = self.table("audit_block_stream", block_no=block_no)
        return self._entries(table, "s.block_no = %s order by s.run_id", block_no)

    def entries_of(self, stream_ids: list[int]) -> list[StreamEntry]:
        table = self.table("audit_block_stream")
        return self._entries(table, "s.run_id = any (%s) order by s.run_id, s.block_no", stream_ids)

    def _entries(self, table: str, condition: str, value: Any) -> list[StreamEntry]:
        rows = self.rows(
            "select s.run_id, s.block_no, s.previous_block_no, s.event_count, s.entry_hash"
            f" from {table} as s where s.tenant_id = %s and {condition}",
            self.tenant_id, value,
        )  # fmt: skip
        return [StreamEntry(*row) for row in rows]

    def events(self, after: Position | None, until: Position, limit: int) -> list[dict[str, Any]]:
        """Raw events after a position (None: before everything) and up to another, at most `limit`."""
        begins = "" if after is None else "(e.tx, e.event_id) > (%s::text::xid8, %s) and "
        return self._events(
            begins + "(e.tx, e.event_id) <= (%s::text::xid8, %s)", *(after or ()), *until, limit=limit
        )

    def stream_events(self, stream_ids: list[int], limit: int) -> list[dict[str, Any]]:
        return self._events("e.run_id = any (%s)", stream_ids, limit=limit)

    def _events(self, condition: str, *values: Any, limit: int | None) -> list[dict[str, Any]]:
        rows = self.rows(
            f"select e.tx::text::bigint, e.event_id, {moment_text('e.at')}, e.run_id, e.unit_id,"
            " e.request_id,"
            " e.event_type, e.from_state, e.to_state, e.actor_class, e.actor, e.audit_ref, e.trace_id,"
            f" e.correlation_id, e.payload::text from {self.table('event_log')} as e"
            f" where e.tenant_id = %s and {condition} order by e.tx, e.event_id limit %s",
            self.tenant_id, *values, limit,
        )  # fmt: skip
        return [dict(zip(_EVENT, row, strict=True)) for row in rows]

    def unsealed_count(self, chain: Chain) -> int:
        rows = self.rows(
            "select count(*) from stepwell.event_log as e where e.tenant_id = %s"
            " and (e.tx, e.event_id) > (%s::text::xid8, %s)",
            self.tenant_id, *chain.last,
        )  # fmt: skip
        return int(rows[0][0])

    def archived(self) -> Archived:
        """What the newest event about archived months says; nothing if there is none."""
        rows = self.rows(
            f"select e.payload, {moment_text('e.at')} from stepwell.event_log as e"
            " where e.tenant_id = %s and e.run_id = 0 and e.event_type = 'log.archived'"
            " order by e.tx desc, e.event_id desc limit 1",
            self.tenant_id,
        )
        if not rows:
            return Archived(frozenset(), 0)
        payload, at = rows[0]
        told = payload if isinstance(payload, dict) else {}
        months, count = told.get("months"), told.get("event_count")
        if (
            not isinstance(months, list)
            or not all(isinstance(one, str) for one in months)
            or type(count) is not int
        ):
            return Archived(frozenset(), 0, str(at)[:7], is_whole=False)
        return Archived(frozenset(months), count, str(at)[:7])

    def values(self, unit_ids: list[int]) -> list[Value]:
        """The values of units beside the log, ordered by unit and label."""
        return [Value(*row) for row in self.support("audit_values", unit_ids=unit_ids)]

    def units(self, stream_ids: list[int], since: Position) -> list[UnitNow]:
        """The units of streams that have an event at or after a position."""
        tx, event_id = since
        rows = self.support("audit_units", stream_ids=stream_ids, tx=tx, event_id=event_id)
        return [
            UnitNow(unit_id, (tx, event_id), None if state_tx is None else (state_tx, state_event_id), *more)
            for unit_id, tx, event_id, state_tx, state_event_id, *more in rows
        ]

    def told(self, *event_types: str) -> list[tuple[Position, str, str, str | None, Any]]:
        """Position, type, time, actor and payload of the events of no run that have one of these types."""
        rows = self.rows(
            f"select e.tx::text::bigint, e.event_id, e.event_type, {moment_text('e.at')}, e.actor, e.payload"
            " from stepwell.event_log as e where e.tenant_id = %s and e.run_id = 0"
            " and e.event_type = any (%s) order by e.event_id",
            self.tenant_id, list(event_types),
        )  # fmt: skip
        return [((tx, event_id), *more) for tx, event_id, *more in rows]

    def unknown(self, archived: Archived, limit: int) -> list[TupleRow]:
        """Kind and unit of rows beside the log whose unit has no event; not those of archived months."""
        return self.support("audit_unknown", archived=sorted(archived.months), limit=limit)

    def absent(self, limit: int) -> list[int]:
        """Steps whose run exists, and which have no row."""
        return [unit_id for (unit_id,) in self.support("audit_absent", limit=limit)]

    def begun(self, archived: Archived) -> set[int]:
        """The streams that began in archived months: their first events are no longer in the log."""
        if not archived.months:
            return set()
        return {stream for (stream,) in self.support("audit_begun", archived=sorted(archived.months))}

    def lives(self, ends: dict[str, list[str]], begun: set[int], limit: int) -> list[TupleRow]:
        """Units by kind and last state, and the changes that do not begin where the one before them ended."""
        told = json_text.encode(ends, "ends")
        return self.support("audit_lives", ends=told, begun=sorted(begun), limit=limit)

    def support(self, name: str, **values: Any) -> list[TupleRow]:
        """Rows of a query that reads inside payloads; a value that none can have is noted in `unreadable`."""
        given = {"tenant_id": self.tenant_id, **values}
        try:
            with self.connection.transaction():
                return self.connection.execute(self._by_table(support_text(name)).encode(), given).fetchall()
        except psycopg.DataError as error:
            self.unreadable.append(str(error).partition("\n")[0])
            return []

    def _by_table(self, text: str) -> str:
        if self.views is None:
            self.views = needed_views(self.connection)
        return by_table(text, self.views)

    def impossible_events(self, limit: int) -> list[TupleRow]:
        """Events of transactions that did not begin yet: nobody can have written them."""
        return self.rows(
            "select e.tx::text::bigint, e.event_id from stepwell.event_log as e where e.tenant_id = %s"
            " and e.tx >= pg_snapshot_xmax(pg_current_snapshot()) order by e.tx, e.event_id limit %s",
            self.tenant_id, limit,
        )  # fmt: skip

    def broken_streams(self, limit: int) -> list[TupleRow]:
        """Stream and block of the entries whose block before is not the one that they name."""
        return self.support("audit_broken_streams", limit=limit)

    def stream_blocks(self) -> set[int]:
        """The numbers of blocks that have entries of streams."""
        query = "select distinct s.block_no from stepwell.audit_block_stream as s where s.tenant_id = %s"
        return {block_no for (block_no,) in self.rows(query, self.tenant_id)}

    def leaf_blocks(self) -> set[int]:
        query = "select l.block_no from stepwell.audit_leaves as l where l.tenant_id = %s"
        return {block_no for (block_no,) in self.rows(query, self.tenant_id)}


@contextmanager
def reading(conninfo: str, tenant_id: int, token: str | None = None) -> Iterator[AuditReader]:
    with connecting(conninfo) as connection, snapshot(connection, token):
        yield AuditReader(connection, tenant_id)


def hexes(joined: bytes) -> list[str]:
    return [part.hex() for part in cut(joined)]


def cut(joined: bytes) -> list[bytes]:
    return [joined[at : at + 32] for at in range(0, len(joined), 32)]


_HEADER = (
    "block_no", "first_tx", "first_event_id", "last_tx", "last_event_id", "first_at", "last_at",
    "event_count", "event_root", "stream_count", "stream_root", "history_root", "previous_hash",
    "sealed_at", "block_hash",
)  # fmt: skip
_EVENT = (
    "tx", "event_id", "at", "stream_id", "unit_id", "request_id", "event_type", "from_state", "to_state",
    "actor_class", "actor", "audit_ref", "trace_id", "correlation_id", "payload",
)  # fmt: skip
