"""The evidence of a run over HTTP: asked for, made by a keeper, downloaded and verified."""

from __future__ import annotations

import hashlib
from typing import Any

import httpx
import psycopg
import pytest

from stepwell.govern.verify import pack, unpack
from tests.sql.drive import Engine, operation
from tests.worker.test_evidence_by_itself import keep

ZIP = {"Content-Type": "application/zip"}


@pytest.fixture
def bundle(api: httpx.Client, db: psycopg.Connection, dsn: str) -> tuple[int, bytes]:
    """The number of a run, and its bundle as it was downloaded."""
    engine = Engine(db)
    engine.publish("line", operation("a"), operation("b"))
    run_id = engine.start("line", {"note": "first"})
    engine.drain(engine.worker())
    assert api.post(f"/api/v1/runs/{run_id}/evidence").status_code == 202
    keep(db, dsn)
    answer = api.get(f"/api/v1/runs/{run_id}/evidence/bundle")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/zip"), answer.text
    assert answer.headers["Content-Disposition"] == f'attachment; filename="evidence-run-{run_id}.zip"'
    return run_id, answer.content


def verified(api: httpx.Client, data: bytes) -> Any:
    answer = api.post("/api/v1/evidence/verify", content=data, headers=ZIP)
    assert answer.status_code == 200, answer.text
    assert answer.json()["sha256"] == hashlib.sha256(data).hexdigest()
    return answer.json()


def test_a_bundle_is_asked_for_made_downloaded_and_verified(api: httpx.Client, bundle: tuple[int, bytes]):
    run_id, data = bundle
    (listed,) = api.get(f"/api/v1/runs/{run_id}/evidence").json()
    assert (listed["bundle_sha256"], listed["size_bytes"]) == (hashlib.sha256(data).hexdigest(), len(data))
    assert (listed["stored_url"], listed["requested_by"]) == ("database", "engine")
    found = verified(api, data)
    assert (found["findings"], found["is_recorded"]) == ([], True)


def test_one_byte_that_changed_is_found(api: httpx.Client, bundle: tuple[int, bytes]):
    _, data = bundle
    files = unpack(data)
    assert files is not None
    for name in ("events.jsonl", "manifest.json"):
        content = bytearray(files[name])
        at = content.rindex(b"line") if b"line" in content else len(content) // 2
        content[at] ^= 1
        found = verified(api, pack({**files, name: bytes(content)}))
        assert (found["is_recorded"], found["findings"] != []) == (False, True), name
    middle = bytearray(data)
    middle[len(middle) // 2] ^= 1
    found = verified(api, bytes(middle))
    assert (found["is_recorded"], found["findings"] != []) == (False, True)


def test_an_intact_bundle_of_another_database_is_not_recorded(
    api: httpx.Client, db: psycopg.Connection, bundle: tuple[int, bytes]
):
    run_id, data = bundle
    db.execute("update evidence_bundle set bundle_sha256 = repeat('0', 64) where run_id = %s", (run_id,))
    found = verified(api, data)
    assert (found["findings"], found["is_recorded"]) == ([], False)
