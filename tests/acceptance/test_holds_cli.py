"""The command line previews, opens, lists, shows, releases and proves an incident hold."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg

from tests.acceptance.running import run as stepwell
from tests.sql.drive import Engine, human, operation
from tests.support.roles import api


def test_a_hold_from_its_preview_to_its_evidence(dsn: str, db: psycopg.Connection, tmp_path: Path):
    def run(*arguments: str, code: int = 0) -> str:
        done = stepwell("--database-url", api(dsn), "hold", *arguments, environment={"COLUMNS": "200"})
        assert done.returncode == code, done.stdout + done.stderr
        return (done.stdout + done.stderr).strip()

    engine = Engine(db)
    engine.db.execute("select fn_person_set(1, 'ada', array['operator'])")
    engine.enqueue("post", 3)
    engine.publish("w", human("sign", deadline=3600), operation("post"))
    engine.start("w")
    assert run("list") == "no holds"
    preview = run("open", "operation", "post", "--reason", "r", "--preview")
    assert preview.startswith("a hold on operation post would stop 1 steps in 1 runs and 3 jobs;")
    assert "operation pots does not exist" in run("open", "operation", "pots", "--reason", "r", code=1)
    made = json.loads(run("open", "operation", "post", "--reason", "SAP closed", "--as", "ada", "--json"))
    hold = made["hold_id"]
    assert f"hold {hold} on operation post is open since" in run(
        "open", "operation", "post", "--reason", "again", "--as", "ada"
    )
    assert engine.claim(engine.worker()) == []
    listed = run("list")
    assert "operation post" in listed
    assert "SAP closed" in listed
    graded = run("release", hold, "--share", "10", "--reason", "a canary", "--as", "ada")
    assert graded == f"hold {hold}: 10 of a hundred runs go on"
    assert "share: 10, 50 and 100 are accepted" in run(
        "release", hold, "--share", "11", "--reason", "r", "--as", "ada", code=1
    )
    done = run("release", hold, "--reason", "open again", "--as", "ada")
    assert done == f"hold {hold}: everything goes on"
    for _ in range(3):
        engine.one("select fn_holds_carry()")
    engine.one("select count(*) from fn_audit_seal(1)")
    engine.one("select fn_holds_carry()")
    assert "ended" in run("show", hold)
    assert json.loads(run("show", hold, "--json"))["hold_state"] == "ended"
    file = tmp_path / "hold.json"
    assert "complete" in run("evidence", hold, "--to", str(file))
    assert "the log has them" in run("verify", str(file))
    whole = stepwell("--database-url", dsn, "audit", "verify")
    assert whole.returncode == 0, whole.stdout + whole.stderr
    made = json.loads(file.read_text())
    other = tmp_path / "other.json"
    other.write_text(json.dumps({**made, "hold": {**made["hold"], "operations": ["another"]}}))
    assert "intact" in run("verify", str(other), "--offline")
    assert "it is not the file whose digest is in the log: hold differs" in run("verify", str(other), code=1)
    file.write_text(file.read_text().replace("SAP closed", "a good reason"))
    assert "its payload is not the sealed one" in run("verify", str(file), "--offline", code=1)
