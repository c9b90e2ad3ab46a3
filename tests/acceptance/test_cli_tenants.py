"""Tenants on the command line: weights and caps of tenants and workflows, and the errors for wrong values."""

from __future__ import annotations

import psycopg

from tests.acceptance.running import run as stepwell
from tests.sql.drive import Engine, operation
from tests.support.roles import api


def test_caps_are_set_listed_and_removed(dsn: str, db: psycopg.Connection):
    Engine(db).publish("order.process", operation("a"))

    def run(*arguments: str, code: int = 0) -> str:
        # Tenants belong to the installation, and so to the owner; caps of a workflow to its tenant.
        address = api(dsn) if arguments[0] == "caps" else dsn
        done = stepwell("--database-url", address, "tenants", *arguments)
        assert done.returncode == code, done.stdout + done.stderr
        return (done.stdout + done.stderr).strip()

    assert (
        run("set", "acme", "--weight", "3", "--max-concurrency", "50") == "acme: weight 3, max_concurrency 50"
    )
    assert run("set", "acme", "--max-concurrency", "none") == "acme: weight 3"
    capped = run("caps", "order.process", "--max-runs-per-min", "100")
    assert capped == "order.process: max_runs_per_min 100"
    assert run("list").splitlines() == [
        "acme: weight 3",
        "default: weight 1",
        "  workflow order.process: max_runs_per_min 100",
    ]
    assert run("caps", "order.process", "--max-runs-per-min", "none") == "order.process: no caps"
    assert "workflow nothing is not published" in run("caps", "nothing", "--max-concurrency", "1", code=1)
    assert "give a whole number, or none" in run("set", "acme", "--max-concurrency", "many", code=2)
    assert "from 1 to 1000000" in run("set", "acme", "--max-concurrency", "0", code=1)
    assert "1 to 63 lowercase letters" in run("set", "No Name", code=1)
