"""Read and record the evidence of runs: receives a reader or plain values, returns rows and calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stepwell.store.calls.audit import AuditReader, Position
from stepwell.store.calls.audit_rights import Connection, snapshot
from stepwell.store.connection.call import Call


@dataclass(frozen=True, slots=True)
class Recorded:
    """An exported bundle: its hash and size, and where it was stored last."""

    run_id: int
    contents_digest: str
    with_payloads: bool
    requested_by: str
    requested_at: datetime
    bundle_sha256: str | None
    size_bytes: int | None
    stored_url: str | None


def stored(tenant_id: int, run_id: int) -> Call[bytes | None]:
    """The bytes of the newest bundle that the database has of a run."""
    return Call(
        "select f.data from stepwell.evidence_file as f where f.tenant_id = %s and f.run_id = %s"
        " order by f.stored_at desc limit 1",
        (tenant_id, run_id),
        lambda rows: bytes(rows[0][0]) if rows else None,
    )


def switch(tenant_id: int, workflow: str, makes_evidence: bool) -> Call[None]:
    return Call(
        "select stepwell.fn_workflow_evidence_set(%s, %s, %s)",
        (tenant_id, workflow, makes_evidence),
        lambda rows: None,
    )


class RunReader(AuditReader):
    """Reads what the bundle of one run needs, on one snapshot."""

    def __init__(self, connection: Connection, tenant_id: int, run_id: int) -> None:
        super().__init__(connection, tenant_id)
        self.run_id = run_id

    def run(self) -> dict[str, Any]:
        """The evidence of the run without its events."""
        query = "select stepwell.fn_evidence_read(%s, %s)"
        found: dict[str, Any] = self.rows(query, self.tenant_id, self.run_id)[0][0]
        return found

    def event_limit(self) -> int:
        return int(self.rows("select stepwell._limit('limits.evidence_events')")[0][0])


@contextmanager
def reading(connection: Connection, tenant_id: int, run_id: int, token: str | None) -> Iterator[RunReader]:
    with snapshot(connection, token):
        yield RunReader(connection, tenant_id, run_id)


def seal_contents(
    tenant_id: int, run_id: int, digest: str, with_payloads: bool, actor: str
) -> Call[Position]:
    """Append the event with the digest of the contents, once; return its position."""
    return Call(
        "select event_tx, event_id from stepwell.fn_evidence_seal(%s, %s, %s, %s, %s)",
        (tenant_id, run_id, digest, with_payloads, actor),
        lambda rows: (rows[0][0], rows[0][1]),
    )


def record_bundle(
    tenant_id: int, run_id: int, digest: str, sha256: str, size_bytes: int, url: str | None
) -> Call[None]:
    return Call(
        "select stepwell.fn_evidence_record(%s, %s, %s, %s, %s, %s)",
        (tenant_id, run_id, digest, sha256, size_bytes, url),
        lambda rows: None,
    )


def recorded_bundles(tenant_id: int, run_id: int) -> Call[list[Recorded]]:
    return Call(
        "select b.run_id, b.contents_digest, b.with_payloads, b.requested_by, b.requested_at,"
        " b.bundle_sha256, b.size_bytes, b.stored_url from stepwell.evidence_bundle as b"
        " where b.tenant_id = %s and b.run_id = %s order by b.requested_at",
        (tenant_id, run_id),
        lambda rows: [Recorded(*row) for row in rows],
    )


def request_bundle(tenant_id: int, run_id: int) -> Call[None]:
    """A keeper makes the bundle of an ended run."""
    return Call("select stepwell.fn_evidence_request(%s, %s)", (tenant_id, run_id), lambda rows: None)


def is_head(tenant_id: int, block_no: int, block_hash: str) -> Call[bool]:
    """Whether the chain has this block."""
    return Call(
        "select b.block_no from stepwell.audit_block as b"
        " where b.tenant_id = %s and b.block_no = %s and encode(b.block_hash, 'hex') = %s",
        (tenant_id, block_no, block_hash),
        bool,
    )


def is_recorded(tenant_id: int, sha256: str) -> Call[bool]:
    """Whether a bundle with these bytes was exported."""
    return Call(
        "select b.run_id from stepwell.evidence_bundle as b"
        " where b.tenant_id = %s and b.bundle_sha256 = %s limit 1",
        (tenant_id, sha256),
        bool,
    )
