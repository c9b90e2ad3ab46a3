"""Nobody can leave out the last events of an approval: the event that seals the bundle counts them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from stepwell.client import Client
from stepwell.errors import Conflict
from stepwell.govern import evidence
from stepwell.govern import verify as verifier
from stepwell.govern.bundle import Known
from stepwell.govern.evidence import export_by
from stepwell.store.calls import evidence as calls
from stepwell.store.calls.audit_rights import connecting
from stepwell.store.calls.evidence import RunReader
from tests.govern.both_verifiers import Both, both_verifiers
from tests.govern.sample_run import make_sample_run
from tests.govern.sealing import append, seal


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    with both_verifiers() as found:
        yield found


class Exporter:
    """Exports as a person does; before its first `late_count` bindings an approval has another event."""

    def __init__(
        self, client: Client, db: psycopg.Connection, reads: Any, run_id: int, late_count: int
    ) -> None:
        self.client, self.db, self.reads = client, db, reads
        self.run_id, self.late_count = run_id, late_count
        self.known = Known()
        self.data = b""

    @property
    def tenant_id(self) -> int:
        return self.client.tenant_id

    async def perform(self, call: Any) -> Any:
        return await self.client.perform(call)

    def reading(self) -> AbstractContextManager[RunReader]:
        return calls.reading(self.reads, self.tenant_id, self.run_id, None)

    async def bind(self, digest: str) -> Any:
        if self.late_count > 0:
            self.late_count -= 1
            late_vote(self.db, self.run_id)
        return await self.perform(calls.seal_contents(1, self.run_id, digest, False, "cli:ada"))

    async def store(self, digest: str, sha256: str, data: bytes) -> str:
        self.data = data
        return "here"


def contents_of(exporter: Exporter) -> dict[str, bytes]:
    files = evidence._sealed_files(exporter, False)
    assert isinstance(files, dict), "everything is sealed"
    return files


def late_vote(db: psycopg.Connection, run_id: int) -> None:
    query = "select min(approval_id) from approval_detail where subject_unit_id >> 20 = %s"
    (approval_id,) = db.execute(query, (run_id,)).fetchone() or (0,)
    append(db, approval_id, "approval.vote_recorded", {"voter": "eve", "decision": "rejected"}, actor="eve")


def exporting(dsn: str, db: psycopg.Connection, run_id: int, late_count: int) -> Exporter:
    async def act() -> Exporter:
        client = await Client.connect(dsn, actor="cli:ada")
        try:
            with connecting(dsn) as reads:
                exporter = Exporter(client, db, reads, run_id, late_count)
                await export_by(exporter, with_payloads=False, limit_seconds=90)
            return exporter
        finally:
            await client.close()

    return asyncio.run(act())


def test_an_event_meanwhile_is_exported_too(dsn: str, db: psycopg.Connection, both: Both):
    run_id = make_sample_run(db)
    data = exporting(dsn, db, run_id, late_count=1).data
    assert both.verify(data) == []
    assert b'\\"voter\\": \\"eve\\"' in data


def test_contents_that_never_have_the_last_event_are_refused(dsn: str, db: psycopg.Connection):
    run_id = make_sample_run(db)
    with pytest.raises(Conflict, match=r"cannot be verified: .*\[stream.count\]"):
        exporting(dsn, db, run_id, late_count=9)


def test_a_bundle_that_leaves_out_the_end_of_an_approval_is_found(
    dsn: str, db: psycopg.Connection, both: Both
):
    """The contents are those before the vote, with another report, so that the log seals them again."""
    run_id = make_sample_run(db)
    seal(db)

    async def forge(*, is_told: bool) -> bytes:
        client = await Client.connect(dsn, actor="cli:ada")
        try:
            with connecting(dsn) as reads:
                exporter = Exporter(client, db, reads, run_id, 0)
                files = contents_of(exporter) | {"report.html": b"<html></html>\n"}
                late_vote(db, run_id)
                position = await exporter.bind(verifier.contents_digest(files))
                if not is_told:
                    forget_counts(db, position)
                seal(db)
                return verifier.pack(evidence._with_proofs(exporter, files, position))
        finally:
            await client.close()

    found = both.verify(asyncio.run(forge(is_told=True)))
    assert [one.code for one in found] == ["stream.count"]
    found = both.verify(asyncio.run(forge(is_told=False)))
    assert [one.code for one in found] == ["stream.uncounted"]


def forget_counts(db: psycopg.Connection, position: tuple[int, int]) -> None:
    """An event as earlier releases wrote it."""
    with db.transaction():
        db.execute("set local session_replication_role = replica")
        db.execute("update event_log set payload = payload - 'streams' where event_id = %s", (position[1],))


@pytest.mark.parametrize("told", [[[1]], [1, 2], "all", [[1, 2, 3]], [["1", 2]], {"1": 2}, None])
def test_counts_of_another_form_prove_nothing(dsn: str, db: psycopg.Connection, both: Both, told: Any):
    run_id = make_sample_run(db)

    class Odd(Exporter):
        async def bind(self, digest: str) -> Any:
            position = await super().bind(digest)
            with self.db.transaction():
                self.db.execute("set local session_replication_role = replica")
                self.db.execute(
                    "update event_log set payload = payload || jsonb_build_object('streams', %s::jsonb)"
                    " where event_id = %s",
                    (Jsonb(told), position[1]),
                )
            return position

    async def act() -> bytes:
        client = await Client.connect(dsn, actor="cli:ada")
        try:
            with connecting(dsn) as reads:
                exporter = Odd(client, db, reads, run_id, 0)
                seal(db)
                files = contents_of(exporter)
                position = await exporter.bind(verifier.contents_digest(files))
                seal(db)
                return verifier.pack(evidence._with_proofs(exporter, files, position))
        finally:
            await client.close()

    assert [one.code for one in both.verify(asyncio.run(act()))] == ["stream.uncounted"]
