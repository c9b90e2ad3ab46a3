"""Export the evidence of a run: receives a client and a run, returns one file that can be verified offline.

The steps: seal the events of the run; write the contents; append an event with their digest to the log; seal
that event; add the proofs. So one block hash proves every byte of the bundle.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from stepwell import storage
from stepwell.client import RUN_ENDS, Client
from stepwell.errors import Conflict, LimitExceeded
from stepwell.govern import bundle, verify
from stepwell.govern.report import render
from stepwell.govern.seal import WAIT_LIMIT_SECONDS, Sealer, seal_until
from stepwell.govern.verify import SEAL_EVENT, Finding
from stepwell.store.calls import audit, evidence
from stepwell.store.calls.audit import Position
from stepwell.store.calls.audit_rights import Connection, connecting
from stepwell.store.calls.evidence import RunReader
from stepwell.store.connection.call import Call

T = TypeVar("T")
TRIES = 3


@dataclass(frozen=True, slots=True)
class Exported:
    run_id: int
    url: str
    sha256: str
    size_bytes: int
    event_count: int
    head_block_no: int
    head_hash: str


class Exporter(Sealer, Protocol):
    """Reads one run, binds contents to the log and stores the bundle, with the rights of whoever exports."""

    @property
    def run_id(self) -> int: ...

    @property
    def known(self) -> bundle.Known: ...

    def reading(self) -> AbstractContextManager[RunReader]: ...

    async def bind(self, digest: str) -> Position:
        """Append the event with the digest of the contents."""
        ...

    async def store(self, digest: str, sha256: str, data: bytes) -> str:
        """Store the bundle and record it; return its address."""
        ...


class _Person:
    """Exports with the rights of a client."""

    def __init__(
        self, client: Client, connection: Connection, run_id: int, to: str | None, with_payloads: bool
    ) -> None:
        self.client, self.connection = client, connection
        self.run_id, self.to, self.with_payloads = run_id, to, with_payloads
        self.known = bundle.Known()

    @property
    def tenant_id(self) -> int:
        return self.client.tenant_id

    async def perform(self, call: Call[T]) -> T:
        return await self.client.perform(call)

    def reading(self) -> AbstractContextManager[RunReader]:
        return evidence.reading(self.connection, self.tenant_id, self.run_id, self.client.token)

    async def bind(self, digest: str) -> Position:
        actor = self.client.actor
        return await self.perform(
            evidence.seal_contents(self.tenant_id, self.run_id, digest, self.with_payloads, actor)
        )

    async def store(self, digest: str, sha256: str, data: bytes) -> str:
        url = await asyncio.to_thread(storage.save, self.to, file_name(self.run_id), data)
        shown = storage.without_secrets(url)
        await self.perform(
            evidence.record_bundle(self.tenant_id, self.run_id, digest, sha256, len(data), shown)
        )
        return url


async def export(
    client: Client,
    run_id: int,
    to: str | None = None,
    *,
    with_payloads: bool = False,
    limit_seconds: float = WAIT_LIMIT_SECONDS,
) -> Exported:
    """Export the bundle of an ended run and store it; the same run gives the same bytes."""
    with connecting(client.conninfo) as connection:
        person = _Person(client, connection, run_id, to, with_payloads)
        return await export_by(person, with_payloads=with_payloads, limit_seconds=limit_seconds)


@dataclass(frozen=True, slots=True)
class Bound:
    """The contents of a bundle, and the event of the log that has their digest."""

    sealed: dict[str, bytes]
    digest: str
    position: Position


async def export_by(exporter: Exporter, *, with_payloads: bool, limit_seconds: float) -> Exported:
    """The same for a person and for a keeper."""
    finding = None
    for _ in range(TRIES):
        bound = await bind_contents(exporter, with_payloads, limit_seconds)
        exported = await complete(exporter, bound, limit_seconds)
        if isinstance(exported, Exported):
            return exported
        finding = exported
    raise _unverified(exporter, finding)


async def bind_contents(exporter: Exporter, with_payloads: bool, limit_seconds: float) -> Bound:
    """Make the contents of the events, which must be sealed, and append their digest to the log."""
    for _ in range(TRIES):
        sealed = await asyncio.to_thread(_sealed_files, exporter, with_payloads)
        if isinstance(sealed, dict):
            digest = verify.contents_digest(sealed)
            return Bound(sealed, digest, await exporter.bind(digest))
        await seal_until(exporter, sealed, _sealed_until(exporter), limit_seconds)
    raise Conflict(f"run {exporter.run_id} has new events all the time", hint="export its evidence again")


async def complete(exporter: Exporter, bound: Bound, limit_seconds: float) -> Exported | Finding:
    """Seal the digest, add the proofs, store the bundle; or a finding, if the contents must be made again."""
    await seal_until(exporter, bound.position, _sealed_until(exporter), limit_seconds)
    entries = await asyncio.to_thread(_with_proofs, exporter, bound.sealed, bound.position)
    data = verify.pack(entries)
    findings = verify.verify_files(entries)
    if {finding.code for finding in findings} == {"stream.count"}:
        return findings[0]  # an approval or receipt had another event meanwhile
    if findings:
        raise _unverified(exporter, findings[0])
    sha256 = hashlib.sha256(data).hexdigest()
    url = await exporter.store(bound.digest, sha256, data)
    head = verify.read_lines(entries["chain.jsonl"])[-1]
    event_count = entries["events.jsonl"].count(b"\n")
    return Exported(
        exporter.run_id, url, sha256, len(data), event_count, head["block_no"], head["block_hash"]
    )


def _unverified(exporter: Exporter, finding: Finding | None) -> Conflict:
    return Conflict(f"the evidence of run {exporter.run_id} cannot be verified: {finding}",
                    hint="run 'stepwell audit verify'")  # fmt: skip


def _sealed_until(exporter: Exporter) -> Callable[[], Position]:
    def read() -> Position:
        with exporter.reading() as reader:
            chain = reader.chain()
        return (0, 0) if chain is None else chain.last

    return read


def file_name(run_id: int) -> str:
    return f"evidence-run-{run_id}.zip"


async def later(client: Client, block_no: int, block_hash: str) -> dict[str, Any]:
    """The newest header of the chain, and the proof that a block lies in its history."""
    return await asyncio.to_thread(_later, client, block_no, block_hash)


def _later(client: Client, block_no: int, block_hash: str) -> dict[str, Any]:
    with audit.reading(client.conninfo, client.tenant_id, client.token) as reader:
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


def _sealed_files(exporter: Exporter, with_payloads: bool) -> dict[str, bytes] | Position:
    """The contents of the bundle; or the last event of the run, if it is not sealed yet."""
    run_id = exporter.run_id
    with exporter.reading() as reader:
        found = reader.run()
        state = found["run"]["state_code"]
        if state not in RUN_ENDS:
            raise Conflict(
                f"run {run_id} is {state}; evidence can be exported only after its end",
                hint=f"accepted are runs that are {', '.join(RUN_ENDS)}",
            )
        known = exporter.known
        known.event_limit = known.event_limit or reader.event_limit()
        every = _events(reader, _streams_of(reader, found, known.event_limit), known.event_limit)
        if not every:
            raise Conflict(f"run {run_id} has no events: its months of the log were archived")
        chain = reader.chain()
        if chain is None or _position(every[-1]) > chain.last:
            return _position(every[-1])
        events = [event for event in every if event["event_type"] != SEAL_EVENT]
        last: dict[int, Position] = {event["stream_id"]: _position(event) for event in events}
        until = {stream_id: reader.block_of(position) or 0 for stream_id, position in sorted(last.items())}
        streams = [{"stream_id": stream_id, "last_block_no": until[stream_id]} for stream_id in until]
        # With the events of earlier bundles that lie before the last event of the run: its blocks count them.
        shown = bundle.Proofs(reader, chain, run_id, until, known).shown(every, with_payloads)
        contents = bundle.contents(reader, chain, found, shown, streams, with_payloads)
        blocks = known.headers_of(reader, chain, until.values())
    report = render(contents, shown, found, chain, blocks)
    return contents.files() | {"report.html": report.encode()}


def _position(event: dict[str, Any]) -> Position:
    return (event["tx"], event["event_id"])


def _with_proofs(exporter: Exporter, sealed: dict[str, bytes], position: Position) -> dict[str, bytes]:
    run = json.loads(sealed["run.json"])
    run_id = exporter.run_id
    until = {stream["stream_id"]: stream["last_block_no"] for stream in run["streams"]}
    with exporter.reading() as reader:
        chain = reader.chain()
        head = reader.block_of(position)
        if chain is None or head is None:
            raise Conflict(
                f"the event {position[0]}/{position[1]} with the digest of the bundle is not sealed"
            )
        proofs = bundle.Proofs(reader, chain, run_id, {**until, run_id: head}, exporter.known)
        limit = exporter.known.event_limit or reader.event_limit()
        shown = proofs.shown(_events(reader, sorted(until), limit), run["with_payloads"])
        entries = sealed | proofs.files(shown)
    return entries | {"manifest.json": verify.manifest(entries)}


def _streams_of(reader: RunReader, found: dict[str, Any], limit: int) -> list[int]:
    """The streams of the run, and of the approvals and receipts that its events name or its tables have."""
    run_id = reader.run_id
    named = verify.Story(run_id, _events(reader, [run_id], limit)).named
    return sorted({run_id, *named, *found["streams"]})


def _events(reader: RunReader, stream_ids: list[int], limit: int) -> list[dict[str, Any]]:
    events = reader.stream_events(stream_ids, limit + 1)
    if len(events) > limit:
        raise LimitExceeded(
            f"run {reader.run_id} has more than {limit} events",
            hint="increase limits.evidence_events in dot_config",
        )
    return events
