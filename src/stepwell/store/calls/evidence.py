"""Read and record the evidence of runs: receives a reader or plain values, returns rows and calls."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stepwell.store.calls.audit import AuditReader, Position
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


@dataclass(frozen=True, slots=True)
class Due:
    """An ended run that waits for its bundle."""

    tenant_id: int
    tenant_code: str
    run_id: int


def due(limit: int) -> Call[list[Due]]:
    return Call(
        "select tenant_id, tenant_code, run_id from stepwell.fn_evidence_due(%s)",
        (limit,),
        lambda rows: [Due(*row) for row in rows],
    )


def note(tenant_id: int, run_id: int, error: str | None = None) -> Call[None]:
    """The bundle was made, or why not."""
    return Call("select stepwell.fn_evidence_note(%s, %s, %s)", (tenant_id, run_id, error), lambda rows: None)


def store(tenant_id: int, run_id: int, digest: str, data: bytes) -> Call[None]:
    return Call(
        "select stepwell.fn_evidence_store(%s, %s, %s, %s)",
        (tenant_id, run_id, digest, data),
        lambda rows: None,
    )


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


def read_run(reader: AuditReader, run_id: int) -> dict[str, Any]:
    """The evidence of a run without its events, on the reader's snapshot."""
    found: dict[str, Any] = reader.rows(
        "select stepwell.fn_evidence_read(%s, %s)", reader.tenant_id, run_id
    )[0][0]  # fmt: skip
    return found


def event_limit(reader: AuditReader) -> int:
    return int(reader.rows("select stepwell._limit('limits.evidence_events')")[0][0])


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
