"""The command line registers, emits, shows and retries job graphs; a worker and its keeper do the rest."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest

from tests.acceptance.running import run as stepwell
from tests.acceptance.working import worker
from tests.support.roles import api
from tests.support.wait import until_row

APP = str(Path(__file__).with_name("graph_app.py"))
TEMPLATE = """
template_id: parcels
description: what happens to a parcel
params:
  graph: {type: string}
jobs:
  - {local_id: a, job_kind: mark, source_ref: $.input.graph}
  - {local_id: bad, job_kind: give_up}
  - {local_id: first, job_kind: mark, parents: [a, bad], join: any}
  - {local_id: never, job_kind: mark, parents: [bad]}
"""
OUTER = "{template_id: outer, params: {graph: {type: string}}, jobs: [{local_id: sub, template: parcels}]}"


@pytest.mark.requirement("JW-02")
@pytest.mark.requirement("JW-13")
def test_a_graph_is_emitted_executed_shown_and_retried(dsn: str, db: psycopg.Connection, tmp_path: Path):
    def run(*arguments: str, code: int = 0) -> str:
        done = stepwell("--database-url", api(dsn), "graphs", *arguments, environment={"COLUMNS": "200"})
        assert done.returncode == code, done.stdout + done.stderr
        return (done.stdout + done.stderr).strip()

    db.execute("create table public.effect (step text not null, unit_id bigint)")
    db.execute("update dot_config set config_value = '1' where config_key = 'graph.refresh_seconds'")
    file = tmp_path / "parcels.yaml"
    file.write_text(TEMPLATE)
    assert run("list") == "no job workflows"
    assert run("register", str(file)) == "template parcels is registered: version 1, jobs: 4"
    assert "what happens to a parcel" in run("templates")
    emitted = json.loads(run("emit", "parcels", "--params", '{"graph": "g"}', "--key", "k", "--json"))
    number = str(emitted["workflow_id"])
    assert (emitted["count"], emitted["is_new"]) == (4, True)
    again = run("emit", "parcels", "--params", '{"graph": "g"}', "--key", "k")
    assert again == f"job workflow {number} was emitted with this key before: 4 jobs"
    assert "params.body: this names data" in run("emit", "parcels", "--params", '{"body": "x"}', code=1)
    assert run("route", "noted", "note", "mark", "--field", "graph").startswith("route noted is set")
    assert "noted" in run("routes")
    with worker(dsn, tmp_path / "worker.log", app=APP):
        ended = "select status = 'partially_failed' from job_workflow"
        until_row(db, ended)
        listed = run("list", "--status", "partially_failed")
        assert "parcels" in listed
        assert "2/4" in listed
        shown = run("show", number)
        assert "any of a, bad" in shown
        assert f"stepwell graphs retry {number}" in shown
        assert "queued again" in run("retry", number, "--reason", "the cause is mended")
        until_row(db, "select count(*) = 2 from job_dead_letter")
        # The keeper enqueues the refresh, and the worker performs it.
        until_row(
            db,
            "select exists (select from job_queue"
            " where operation = 'job_workflow_refresh' and status = 'succeeded')",
        )
    assert run("refresh", number) == f"job workflow {number} is partially_failed"
    assert "does not exist" in run("show", "4711", code=1)
    file.write_text(OUTER)
    run("register", str(file))
    outer = json.loads(run("emit", "outer", "--params", '{"graph": "h"}', "--json"))["workflow_id"]
    assert f"emitted inside job workflow {outer}" in run("show", str(outer + 1))
    assert run("unroute", "noted") == "route noted is deleted"
