"""Export the evidence of a run: receives a client and a run, returns one file that can be verified offline.

The steps: seal the events of the run; write the contents; append an event with their digest to the log; seal
that event; add the proofs. So one block hash proves every byte of the bundle.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import dataclass
from typing import Any

from stepwell import storage
from stepwell.client import RUN_ENDS, Client
from stepwell.errors import Conflict, LimitExceeded
from stepwell.govern import bundle, verify
from stepwell.govern.report import render
from stepwell.govern.seal import WAIT_LIMIT_SECONDS, seal_until
from stepwell.govern.verify import SEAL_EVENT
from stepwell.store.calls import audit, evidence, registry
from stepwell.store.calls.audit import AuditReader, Position


@dataclass(frozen=True, slots=True)
class Exported:
    run_id: int
    url: str
    sha256: str
    size_bytes: int
    event_count: int
    head_block_no: int
    head_hash: str


async def export(
    client: Client,
    run_id: int,
    to: str | None = None,
    *,
    with_payloads: bool = False,
    limit_seconds: float = WAIT_LIMIT_SECONDS,
) -> Exported:
    """Export the bundle of an ended run and store it; the same run gives the same bytes."""
    last = await asyncio.to_thread(_last_event, client, run_id)
    await seal_until(client, last, limit_seconds)
    sealed = await asyncio.to_thread(_sealed_files, client, run_id, with_payloads)
    digest = verify.contents_digest(sealed)
    position = await client.perform(
        evidence.seal_contents(client.tenant_id, run_id, digest, with_payloads, client.actor)
    )
    await seal_until(client, position, limit_seconds)
    entries = await asyncio.to_thread(_with_proofs, client, run_id, sealed, position)
    data = verify.pack(entries)
    problems = verify.verify(data)
    if problems:
        raise Conflict(f"the evidence of run {run_id} cannot be verified: {problems[0]}",
                       hint="run 'stepwell audit verify'")  # fmt: skip
    sha256 = hashlib.sha256(data).hexdigest()
    url = await asyncio.to_thread(storage.save, to, f"evidence-run-{run_id}.zip", data)
    await client.perform(
        evidence.record_bundle(
            client.tenant_id, run_id, digest, sha256, len(data), storage.without_secrets(url)
        )
    )
    head = verify.read_lines(entries["chain.jsonl"])[-1]
    event_count = len(verify.read_lines(entries["events.jsonl"]))
    return Exported(run_id, url, sha256, len(data), event_count, head["block_no"], head["block_hash"])


def _last_event(client: Client, run_id: int) -> Position:
    with audit.reading(client.conninfo, client.tenant_id) as reader:
        found = evidence.read_run(reader, run_id)
        state = found["run"]["state_code"]
        if state not in RUN_ENDS:
            raise Conflict(
                f"run {run_id} is {state}; evidence can be exported only after its end",
                hint=f"accepted are runs that are {', '.join(RUN_ENDS)}",
            )
        events = _events(reader, run_id, _streams_of(found))
    if not events:
        raise Conflict(f"run {run_id} has no events: its months of the log were archived")
    return (events[-1]["tx"], events[-1]["event_id"])


def _sealed_files(client: Client, run_id: int, with_payloads: bool) -> dict[str, bytes]:
    with audit.reading(client.conninfo, client.tenant_id) as reader:
        chain = reader.chain()
        assert chain is not None, "a position was sealed"
        found = evidence.read_run(reader, run_id)
        stream_ids = _streams_of(found)
        events = [
            event
            for event in _events(reader, run_id, stream_ids)
            if event["event_type"] != SEAL_EVENT and (event["tx"], event["event_id"]) <= chain.last
        ]
        last: dict[int, Position] = {event["stream_id"]: (event["tx"], event["event_id"]) for event in events}
        streams = [
            {"stream_id": stream_id, "last_block_no": reader.block_of(last[stream_id]) or 0}
            for stream_id in stream_ids
            if stream_id in last
        ]
        blocks = list(reader.blocks(sorted({stream["last_block_no"] for stream in streams})))
    contents = bundle.contents(found, chain, streams, with_payloads)
    report = render(contents, events, chain, blocks, registry.read(client.conninfo))
    return contents.files() | {"report.html": report.encode()}


def _with_proofs(
    client: Client, run_id: int, sealed: dict[str, bytes], position: Position
) -> dict[str, bytes]:
    run = json.loads(sealed["run.json"])
    with audit.reading(client.conninfo, client.tenant_id) as reader:
        chain = reader.chain()
        assert chain is not None, "a position was sealed"
        stream_ids = [stream["stream_id"] for stream in run["streams"]]
        events = _events(reader, run_id, stream_ids)
        entries = sealed | bundle.proof_files(reader, chain, run, position, events)
    return entries | {"manifest.json": verify.manifest(entries)}


def _streams_of(found: dict[str, Any]) -> list[int]:
    """The streams of the run, of its approvals and of its receipts."""
    others = [approval["approval_id"] >> 20 for approval in found["approvals"]]
    others += [receipt["receipt_id"] >> 20 for receipt in found["receipts"]]
    return sorted({int(found["run"]["run_id"]), *others})


def _events(reader: AuditReader, run_id: int, stream_ids: list[int]) -> list[dict[str, Any]]:
    limit = evidence.event_limit(reader)
    events = reader.stream_events(stream_ids, limit + 1)
    if len(events) > limit:
        raise LimitExceeded(
            f"run {run_id} has more than {limit} events",
            hint="increase limits.evidence_events in dot_config",
        )
    return events
