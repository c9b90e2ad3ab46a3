"""Sealing at a terminal: what is printed, and with which exit code."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest

from tests.govern.sealing import append, seal
from tests.sql.drive import Engine, operation
from tests.support.clock import Clock
from tests.support.processes import stepwell


@pytest.fixture
def run_id(db: psycopg.Connection) -> int:
    engine = Engine(db)
    engine.publish("order.process", operation("a"))
    made = engine.start("order.process", {"card": "4111"})
    engine.drain(engine.worker())
    return made


def test_a_log_is_sealed_checked_and_found_changed(
    dsn: str, db: psycopg.Connection, run_id: int, tmp_path: Path
):
    anchor = str(tmp_path / "seals.jsonl")
    database = ("--database-url", dsn)
    assert "nothing is sealed yet" in stepwell(*database, "audit", "verify").stdout
    seal(db)
    told = stepwell(*database, "audit", "seal", "--anchor", anchor)
    assert "1 block anchored" in told.stdout
    good = stepwell(*database, "audit", "verify", "--anchor", anchor)
    assert (good.returncode, good.stdout.startswith("✓ intact")) == (0, True)
    (block,) = json.loads(stepwell(*database, "audit", "blocks", "--json").stdout)
    assert block["block_hash"] in good.stdout
    assert stepwell(*database, "audit", "verify", "--head", block["block_hash"]).returncode == 0
    db.execute("set session_replication_role = replica")
    db.execute("update event_log set actor = 'eve' where event_type = 'workflow.completed'")
    bad = stepwell(*database, "audit", "verify", "--anchor", anchor)
    assert bad.returncode == 1
    assert f"(workflow.completed, unit {run_id << 20})" in bad.stdout
    (problem,) = json.loads(stepwell(*database, "audit", "verify", "--json").stdout)["problems"]
    assert problem["kind"] == "altered"


def test_the_doctor_says_how_far_behind_the_seal_is(dsn: str, db: psycopg.Connection, clock: Clock):
    def finding() -> dict[str, str]:
        found = json.loads(stepwell("--database-url", dsn, "doctor", "--json").stdout)
        return next(item for item in found if item["check"] == "seal")

    assert finding()["level"] == "ok"
    append(db, 5 << 20)
    clock.advance(hours=1)
    assert (finding()["level"], finding()["detail"]) == (
        "warning",
        "events of 60 minutes ago are not sealed yet",
    )
    seal(db)
    assert finding()["detail"].startswith("1 blocks")
    db.execute("insert into audit_anchor (tenant_id, anchor, last_error) values (1, 'x.jsonl', 'gone')")
    assert finding()["detail"] == "an anchor cannot be told: x.jsonl: gone"
