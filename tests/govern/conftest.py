"""Fixtures of the tests of seals and evidence: `sample` is a database with one run and its bundles."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from stepwell.client import Client
from stepwell.govern.evidence import Exported, export
from tests.govern.sample_run import make_sample_run
from tests.support.databases import Databases


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
