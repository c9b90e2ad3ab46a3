"""Seals and evidence on the command line: the output and the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest

from stepwell.config import user_name
from tests.govern.sealing import append, seal
from tests.sql.drive import Engine, operation, wait
from tests.support.clock import Clock
from tests.support.processes import stepwell
from tests.support.roles import api, as_process, bound_token


@pytest.fixture
def run_id(db: psycopg.Connection) -> int:
    engine = Engine(db)
    engine.publish("order.process", operation("a"))
    made = engine.start("order.process", {"card": "4111"})
    engine.drain(engine.worker())
    return made


def keeper(dsn: str) -> dict[str, str | None]:
    """Anchors are written with the role of a keeper."""
    return {"STEPWELL_KEEPER_URL": as_process(dsn, "keeper")}


def test_a_log_is_sealed_and_verified_and_a_change_is_found(
    dsn: str, db: psycopg.Connection, run_id: int, tmp_path: Path
):
    anchor = str(tmp_path / "seals.jsonl")
    database = ("--database-url", api(dsn))
    assert "nothing is sealed yet" in stepwell(*database, "audit", "verify").stdout
    seal(db)
    sealed = stepwell(*database, "audit", "seal", "--anchor", anchor, env=keeper(dsn))
    assert "1 block anchored" in sealed.stdout
    good = stepwell(*database, "audit", "verify", "--anchor", anchor)
    assert (good.returncode, good.stdout.startswith("✓ intact")) == (0, True)
    (block,) = json.loads(stepwell(*database, "audit", "blocks", "--json").stdout)
    assert block["block_hash"] in good.stdout
    assert "compared with the anchor: 1 block, signatures were not checked" in good.stdout
    assert "2 values, 0 approvals, 0 votes, 0 verdicts, 0 receipts, 2 units, 1 definition\n" in good.stdout
    known = stepwell(*database, "audit", "verify", "--head", block["block_hash"])
    assert known.returncode == 0
    assert "compared with --head: it is block 1 of 1\n" in known.stdout
    assert "could have made what comes after that block again" in known.stdout
    unknown = stepwell(*database, "audit", "verify", "--head", "00" * 32)
    assert (unknown.returncode, "compared with --head: no block has it" in unknown.stdout) == (1, True)
    assert "could have made the chain again" in stepwell(*database, "audit", "verify").stdout
    db.execute("set session_replication_role = replica")
    db.execute("update event_log set actor = 'eve' where event_type = 'workflow.completed'")
    bad = stepwell(*database, "audit", "verify", "--anchor", anchor)
    assert bad.returncode == 1
    assert f"(workflow.completed, unit {run_id << 20})" in bad.stdout
    (problem,) = json.loads(stepwell(*database, "audit", "verify", "--json").stdout)["problems"]
    assert problem["kind"] == "altered"


def test_verify_names_the_tenants_it_read_and_can_read_each_tenant(
    dsn: str, db: psycopg.Connection, tmp_path: Path
):
    """Without an option only the default tenant is read, and the output says which tenants were not read."""
    anchor = str(tmp_path / "seals.jsonl")
    # Only the owner reads every tenant.
    database = ("--database-url", dsn)
    made = [db.execute("select fn_tenant_set(%s, '{}')", (code,)).fetchone() for code in ("acme", "other")]
    for tenant_id in (1, *(row[0] for row in made)):
        engine = Engine(db, tenant_id)
        engine.publish("order.process", operation("a"))
        engine.start("order.process")
        seal(db, tenant_id)
    sealed = stepwell(*database, "audit", "seal", "--anchor", anchor, env=keeper(dsn))
    assert "3 blocks anchored" in sealed.stdout
    db.execute("set session_replication_role = replica")
    db.execute(
        "update event_log set actor = 'eve' where event_id = (select max(event_id) from event_log"
        " where tenant_id = (select tenant_id from tenant where tenant_code = 'acme'))"
    )
    good = stepwell(*database, "audit", "verify", "--anchor", anchor)
    assert good.returncode == 0, good.stdout
    assert good.stdout.startswith("✓ intact  tenant default · 1 block")
    assert "of 1 tenant (default); not read: 2 other tenants, --all-tenants reads them" in good.stdout
    assert stepwell(*database, "audit", "verify", "--tenant", "other", "--anchor", anchor).returncode == 0
    bad = stepwell(*database, "audit", "verify", "--tenant", "acme")
    assert bad.returncode == 1
    assert "✗ altered" in bad.stdout
    everything = stepwell(*database, "audit", "verify", "--all-tenants", "--anchor", anchor)
    assert everything.returncode == 1
    assert "of 3 tenants (default, acme, other)\n" in everything.stdout
    found = json.loads(stepwell(*database, "audit", "verify", "--all-tenants", "--json").stdout)["tenants"]
    assert {one["tenant"]: len(one["problems"]) for one in found} == {"default": 0, "acme": 1, "other": 0}
    unknown = stepwell(*database, "audit", "verify", "--tenant", "nobody")
    assert unknown.returncode != 0
    assert "tenant nobody does not exist" in unknown.stderr


def test_evidence_is_exported_and_checked(dsn: str, db: psycopg.Connection, run_id: int, tmp_path: Path):
    bundle = str(tmp_path / "b.zip")
    database = ("--database-url", api(dsn))
    assert "was not exported yet" in stepwell(*database, "evidence", "list", str(run_id)).stdout
    made = stepwell(*database, "evidence", "export", str(run_id), "--to", bundle, "--json")
    assert made.returncode == 0, made.stderr
    good = stepwell("evidence", "verify", bundle, "--head", json.loads(made.stdout)["head_hash"])
    assert (good.returncode, good.stdout.startswith(f"✓ verified  run {run_id} (order.process")) == (0, True)
    assert stepwell(*database, "evidence", "verify", bundle, "--recorded").returncode == 0
    (listed,) = json.loads(stepwell(*database, "evidence", "list", str(run_id), "--json").stdout)
    assert listed["bundle_sha256"] == json.loads(made.stdout)["sha256"]
    assert listed["bundle_sha256"] in stepwell(*database, "evidence", "list", str(run_id)).stdout
    db.execute("update evidence_bundle set bundle_sha256 = repeat('0', 64)")
    other = stepwell(*database, "evidence", "verify", bundle, "--recorded")
    assert (other.returncode, "no bundle of run" in other.stdout) == (1, True)
    Path(bundle).write_bytes(Path(bundle).read_bytes()[:-30])
    cut = stepwell("evidence", "verify", bundle)
    assert (cut.returncode, "[zip.bytes]" in cut.stdout) == (1, True)
    Path(bundle).write_bytes(Path(bundle).read_bytes()[:3000])
    cut = stepwell("evidence", "verify", bundle)
    assert (cut.returncode, cut.stdout.startswith("✗ truncated")) == (1, True)


def test_a_refusal_is_one_sentence(dsn: str, db: psycopg.Connection, tmp_path: Path):
    engine = Engine(db)
    engine.publish("w", wait("parcel", "came"))
    run_id = engine.start("w")
    refused = stepwell("--database-url", api(dsn), "evidence", "export", str(run_id), "--to", str(tmp_path))
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "evidence can be exported only after its end" in refused.stderr
    absent = stepwell("evidence", "verify", str(tmp_path / "none.zip"))
    assert (absent.returncode, "No such file" in absent.stderr) == (1, True)
    append(db, 5 << 20)
    seal(db)
    unreadable = stepwell(
        "--database-url", api(dsn), "audit", "verify", "--anchor", "https:" + "//example.org/x"
    )
    assert "a webhook cannot be read" in unreadable.stderr


def test_the_doctor_says_how_old_the_unsealed_events_are(dsn: str, db: psycopg.Connection, clock: Clock):
    def finding() -> dict[str, str]:
        # What concerns all tenants a keeper knows.
        env = {"STEPWELL_KEEPER_URL": as_process(dsn, "keeper")}
        found = json.loads(stepwell("--database-url", api(dsn), "doctor", "--json", env=env).stdout)
        return next(item for item in found if item["check"] == "seal")

    assert finding()["level"] == "ok"
    append(db, 5 << 20)
    clock.advance(hours=1)
    assert (finding()["level"], finding()["detail"]) == (
        "warning",
        "the oldest unsealed event is 60 minutes old",
    )
    seal(db)
    assert finding()["detail"].startswith("blocks: 1;")
    db.execute("insert into audit_anchor (tenant_id, anchor, last_error) values (1, 'x.jsonl', 'gone')")
    assert finding()["detail"] == "an anchor cannot be written: x.jsonl: gone"


def test_the_newest_events_are_listed_by_type_actor_and_time(dsn, db):
    engine = Engine(db)
    engine.publish("w", operation("a"))
    for _ in range(3):
        engine.start("w")

    def typed(*arguments: str, code: int = 0) -> str:
        done = stepwell(
            "audit",
            "events",
            *arguments,
            env={"STEPWELL_DATABASE_URL": api(dsn), "COLUMNS": "180"},
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout or done.stderr

    found = json.loads(typed("--json"))
    assert found["before"] is None
    positions = [(event["tx"], event["event_id"]) for event in found["events"]]
    assert positions == sorted(positions, reverse=True)
    assert len(positions) == db.execute("select count(*) from event_log").fetchone()[0]
    first = json.loads(typed("--limit", "2", "--json"))
    tx, event_id = first["before"]
    second = json.loads(typed("--limit", "500", "--before", f"{tx}/{event_id}", "--json"))
    assert first["events"] + second["events"] == found["events"]
    (published,) = json.loads(typed("--type", "workflow.published", "--json"))["events"]
    assert published["actor"] == "test"
    assert len(json.loads(typed("--by", "test", "--type", "workflow.started", "--json"))["events"]) == 3
    assert "workflow.started" in typed("--by", "test")
    assert typed("--by", "nobody") == "no events\n"
    assert typed("--until", "2020-01-01T00:00:00Z") == "no events\n"
    assert "is not a position" in typed("--before", "x", code=2)


@pytest.mark.parametrize("process", ["reader", "api"])
def test_an_auditor_verifies_with_a_token_and_not_as_the_owner(
    process: str, dsn: str, db: psycopg.Connection, run_id: int
):
    db.execute("select fn_development_leave(%s)", (f"cli:{user_name()}",))
    seal(db)

    def verify(token: str | None):
        given = {"STEPWELL_DATABASE_URL": as_process(dsn, process), "STEPWELL_TOKEN": token}
        return stepwell("audit", "verify", env=given)

    auditor = bound_token(dsn, "ada", "person", "reviewer")
    good = verify(auditor)
    assert (good.returncode, good.stdout.startswith("✓ intact")) == (0, True), good.stdout + good.stderr
    assert "bound to no tenant" in verify(None).stderr
    blind = verify(bound_token(dsn, "ben", "person", "clerk"))
    assert (blind.returncode, "payload.read" in blind.stderr) == (1, True), blind.stderr
    db.execute("set session_replication_role = replica")
    db.execute("update run_detail set input = input || '{\"more\": 1}' where run_id = %s", (run_id,))
    bad = verify(auditor)
    assert (bad.returncode, f"input:{run_id}" in bad.stdout) == (1, True), bad.stdout
