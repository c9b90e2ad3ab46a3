"""A snapshot of 2,000 steps is small enough for a phone."""

from __future__ import annotations

import gzip
import json

import httpx
import psycopg
import pytest

from stepwell.define import Human, Operation, Parallel, Sequential, Workflow, freeze
from tests.sql.drive import Engine

STEPS = 2_000
# What docs/live.md promises: the answer as it is sent, and what a page reads of it.
SENT_BYTES_LIMIT = 16_000
READ_BYTES_LIMIT = 100_000


@pytest.mark.requirement("UI-09")
def test_a_snapshot_of_2000_steps_is_small(api: httpx.Client, db: psycopg.Connection):
    """Half of the steps have ended, each at a time of its own; people are in charge of others."""
    engine = Engine(db)
    engine.person("ada")
    wide = [
        Parallel(*(Operation("work", id=f"s{a}x{b}", title=f"Work {b} of part {a}") for b in range(10)))
        for a in range(STEPS // 10 - 1)
    ]
    last = Parallel(*(Human(f"sign{b}", assignee="ada", deadline="4h") for b in range(10)))
    flow = Workflow("large", Sequential(*wide, last))
    db.execute("select fn_workflow_publish(1, %s, 'ada')", (freeze(flow).canonical.decode(),))
    run_id = engine.start("large")
    session = engine.worker()
    for _ in range(STEPS // 20):
        for lease in engine.claim(session):
            engine.complete(session, lease)
    asked = api.build_request("GET", f"/api/v1/runs/{run_id}/snapshot", headers={"Accept-Encoding": "gzip"})
    answer = api.send(asked, stream=True)
    sent = b"".join(answer.iter_raw())
    assert (answer.status_code, answer.headers["Content-Encoding"]) == (200, "gzip")
    read = gzip.decompress(sent)
    found = json.loads(read)
    assert len(found["steps"]["no"]) == STEPS
    assert sum(found["states"][one] == "completed" for one in found["steps"]["state"]) == STEPS // 2
    assert len(sent) <= SENT_BYTES_LIMIT
    assert len(read) <= READ_BYTES_LIMIT
