"""Fixtures of the tests of seals and evidence.

`sample` is a database with one run and its bundles; `disarmed` is a sealed database to tamper with.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from stepwell.client import Client
from stepwell.govern.evidence import Exported, export
from tests.govern import tamper
from tests.govern.sample_records import make_records
from tests.govern.sample_run import make_sample_run
from tests.govern.sample_units import make_units
from tests.govern.sealing import append, check, seal
from tests.sql.drive import Engine
from tests.support.clock import Clock
from tests.support.databases import Databases, configure

BLOCK_EVENTS = 30
# The same statements verify thousands of cases.
PLANNED_ONCE = "-csearch_path=stepwell,public -cplan_cache_mode=force_generic_plan"


@dataclass(frozen=True)
class Sample:
    dsn: str
    run_id: int
    exported: Exported
    exported_with_payloads: Exported
    data: bytes
    data_with_payloads: bytes


def export_run(dsn: str, run_id: int, to: Path | str, *, with_payloads: bool = False) -> Exported:
    async def act() -> Exported:
        client = await Client.connect(dsn, actor="cli:ada")
        try:
            return await export(client, run_id, str(to), with_payloads=with_payloads, limit_seconds=90)
        finally:
            await client.close()

    # In another thread: while a browser is open, its driver runs an event loop in this one.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(act())).result()


@pytest.fixture(scope="module")
def sample(databases: Databases, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sample]:
    folder = tmp_path_factory.mktemp("bundles")
    with databases.fresh(template) as dsn:
        with psycopg.connect(dsn, autocommit=True, options="-csearch_path=stepwell,public") as db:
            run_id = make_sample_run(db)
        plain = export_run(dsn, run_id, folder)
        full = export_run(dsn, run_id, folder / "full.zip", with_payloads=True)
        yield Sample(dsn, run_id, plain, full, Path(plain.url).read_bytes(), Path(full.url).read_bytes())


@pytest.fixture
def tell(capfd: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Shows a line at once: the whole product of cases takes long, and who waits must see a finding."""

    def act(line: str) -> None:
        with capfd.disabled():
            sys.stderr.write(line + "\n")
            sys.stderr.flush()

    return act


@dataclass(frozen=True)
class Disarmed:
    """A sealed database without its constraints and triggers, and the lines of its anchor."""

    db: psycopg.Connection
    anchored: list[dict[str, Any]]


@pytest.fixture(scope="module")
def disarmed(databases: Databases, template: str) -> Iterator[Disarmed]:
    """What a superuser makes of a sealed database first; each case is rolled back."""
    with (
        databases.fresh(template) as dsn,
        psycopg.connect(dsn, autocommit=True, options=PLANNED_ONCE) as db,
    ):
        configure(db, "audit.block_events", str(BLOCK_EVENTS))
        run_id = make_sample_run(db)
        clock = Clock(dsn)
        make_units(db, clock)
        make_records(db)
        engine = Engine(db)
        engine.enqueue("job.send", 2)
        engine.drain(engine.worker())
        other = Engine(db, db.execute("select fn_tenant_set('other')").fetchall()[0][0])
        other.enqueue("job.send", 2)
        db.execute("select * from fn_evidence_seal(1, %s, %s, false, 'ada')", (run_id, "ab" * 32))
        db.execute("select fn_evidence_record(1, %s, %s, %s, 9, 'b.zip')", (run_id, "ab" * 32, "cd" * 32))
        # A log that lost its oldest months, as most do, excuses nothing of the present ones.
        append(db, 0, "log.archived", {"months": ["2001-01"], "event_count": 0})
        for tenant_id in (1, other.tenant_id):
            seal(db, tenant_id)
        rows = db.execute(
            "select c.chain_id::text, b.block_no, encode(b.block_hash, 'hex')"
            " from audit_block as b inner join audit_chain as c on b.tenant_id = c.tenant_id"
        ).fetchall()
        anchored = [{"chain_id": c, "block_no": no, "block_hash": found} for c, no, found in rows]
        clock.close()
        tamper.disarm(db)
        assert check(db, anchored=anchored).problems == []
        yield Disarmed(db, anchored)
