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

# The address of a bundle whose bytes are in the database.
IN_DATABASE = "database"


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
    in_database: bool = False,
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
    entries = await asyncio.to_thread(_with_proofs, client, sealed, position)
    data = verify.pack(entries)
    findings = verify.verify(data)
    if findings:
        raise Conflict(f"the evidence of run {run_id} cannot be verified: {findings[0]}",
                       hint="run 'stepwell audit verify'")  # fmt: skip
    sha256 = hashlib.sha256(data).hexdigest()
    if in_database:
        url = IN_DATABASE
        await client.perform(evidence.store(client.tenant_id, run_id, digest, data))
    else:
        url = await asyncio.to_thread(storage.save, to, f"evidence-run-{run_id}.zip", data)
    await client.perform(
        evidence.record_bundle(
            client.tenant_id, run_id, digest, sha256, len(data), storage.without_secrets(url)
        )
    )
    head = verify.read_lines(entries["chain.jsonl"])[-1]
    event_count = len(verify.read_lines(entries["events.jsonl"]))
    return Exported(run_id, url, sha256, len(data), event_count, head["block_no"], head["block_hash"])


async def later(client: Client, block_no: int, block_hash: str) -> dict[str, Any]:
    """The newest header of the chain, and the proof that a block lies in its history."""
    return await asyncio.to_thread(_later, client, block_no, block_hash)


def _later(client: Client, block_no: int, block_hash: str) -> dict[str, Any]:
    with audit.reading(client.conninfo, client.tenant_id) as reader:
        chain = reader.chain()
        found = [] if chain is None else [block["block_hash"] for block in reader.blocks([block_no])]
        if chain is None or found != [block_hash]:
            raise Conflict(
                f"block {block_no} of this chain has another hash, or does not exist",
                hint="the bundle comes from another database or tenant, or the chain was made again",
            )
        if chain.block_count == block_no:
            raise Conflict(
                f"block {block_no} is the newest block",
                hint="seal a later event first: 'stepwell audit seal'",
            )
        return bundle.later_proof(reader, chain, block_no)


def _last_event(client: Client, run_id: int) -> Position:
    with audit.reading(client.conninfo, client.tenant_id) as reader:
        found = evidence.read_run(reader, run_id)
        state = found["run"]["state_code"]
        if state not in RUN_ENDS:
            raise Conflict(
                f"run {run_id} is {state}; evidence can be exported only after its end",
                hint=f"accepted are runs that are {', '.join(RUN_ENDS)}",
            )
        events = _events(reader, run_id, _streams_of(reader, found))
    if not events:
        raise Conflict(f"run {run_id} has no events: its months of the log were archived")
    return (events[-1]["tx"], events[-1]["event_id"])


def _sealed_files(client: Client, run_id: int, with_payloads: bool) -> dict[str, bytes]:
    with audit.reading(client.conninfo, client.tenant_id) as reader:
        chain = reader.chain()
        assert chain is not None, "a position was sealed"
        found = evidence.read_run(reader, run_id)
        stream_ids = _streams_of(reader, found)
        events = [
            event
            for event in _events(reader, run_id, stream_ids)
            if event["event_type"] != SEAL_EVENT and (event["tx"], event["event_id"]) <= chain.last
        ]
        last: dict[int, Position] = {event["stream_id"]: (event["tx"], event["event_id"]) for event in events}
        until = {stream_id: reader.block_of(position) or 0 for stream_id, position in sorted(last.items())}
        streams = [{"stream_id": stream_id, "last_block_no": until[stream_id]} for stream_id in until]
        shown = bundle.Proofs(reader, chain, run_id, until).shown(events, with_payloads)
        contents = bundle.contents(reader, chain, found, shown, streams, with_payloads)
        blocks = list(reader.blocks(sorted(set(until.values()))))
    report = render(contents, shown, found, chain, blocks, registry.read(client.conninfo))
    return contents.files() | {"report.html": report.encode()}


def _with_proofs(client: Client, sealed: dict[str, bytes], position: Position) -> dict[str, bytes]:
    run = json.loads(sealed["run.json"])
    run_id = int(run["run_id"])
    until = {stream["stream_id"]: stream["last_block_no"] for stream in run["streams"]}
    with audit.reading(client.conninfo, client.tenant_id) as reader:
        chain = reader.chain()
        head = reader.block_of(position)
        if chain is None or head is None:
            raise Conflict(
                f"the event {position[0]}/{position[1]} with the digest of the bundle is not sealed"
            )
        proofs = bundle.Proofs(reader, chain, run_id, {**until, run_id: head})
        shown = proofs.shown(_events(reader, run_id, sorted(until)), run["with_payloads"])
        entries = sealed | proofs.files(shown)
    return entries | {"manifest.json": verify.manifest(entries)}


def _streams_of(reader: AuditReader, found: dict[str, Any]) -> list[int]:
    """The streams of the run, and of the approvals and receipts that its events name or its tables have."""
    run_id = int(found["run"]["run_id"])
    named = verify.Story(run_id, _events(reader, run_id, [run_id])).named
    return sorted({run_id, *named, *found["streams"]})


def _events(reader: AuditReader, run_id: int, stream_ids: list[int]) -> list[dict[str, Any]]:
    limit = evidence.event_limit(reader)
    events = reader.stream_events(stream_ids, limit + 1)
    if len(events) > limit:
        raise LimitExceeded(
            f"run {run_id} has more than {limit} events",
            hint="increase limits.evidence_events in dot_config",
        )
    return events
