"""A misspelt name at the command line is answered with the name that was probably meant."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psycopg
import pytest

from stepwell.client import Client
from stepwell.errors import NotFound
from tests.support.processes import stepwell
from tests.support.roles import api

YAML = """\
workflow: order.process
steps:
  - charge
  - human: sign-off
    role: office
"""
SHOP = """\
import stepwell as sw

app = sw.App()

@app.operation
def charge() -> int:
    return 1

app.publish(sw.Workflow("shop.order", sw.Operation("charge")))
app.publish(sw.Workflow("shop.return", sw.Operation("charge")))
"""


@pytest.fixture
def run(dsn: str, tmp_path: Path):
    (tmp_path / "order.yaml").write_text(YAML)
    (tmp_path / "shop.py").write_text(SHOP)

    def typed(*arguments: str):
        return stepwell(*arguments, env={"STEPWELL_DATABASE_URL": api(dsn)}, cwd=tmp_path)

    for arguments in (
        ("publish", "order.yaml"),
        ("start", "order.process", "--key", "A-1001"),
        ("user", "add", "ada", "--role", "office"),
        ("schedule", "set", "nightly", "order.process", "--cron", "0 3 * * *"),
    ):
        done = typed(*arguments)
        assert done.returncode == 0, done.stderr
    return typed


def test_the_name_that_was_meant_is_named(run):
    for arguments, meant in (
        (("start", "order.proces"), "Did you mean order.process?"),
        (("runs", "list", "--workflow", "order.prcess"), "Did you mean order.process?"),
        (("workflows", "show", "ordre.process"), "Did you mean order.process?"),
        (("tenants", "caps", "ordr.process", "--max-runs-per-min", "5"), "Did you mean order.process?"),
        (("signal", "order.process/A-1010", "paid"), "Did you mean A-1001?"),
        (("step", "claim", "1/signoff", "--as", "ada"), "Did you mean sign-off?"),
        (("inbox", "--as", "aad"), "Did you mean ada?"),
        (("schedule", "pause", "nightley"), "Did you mean nightly?"),
        (("schedule", "show", "nighlty"), "Did you mean nightly?"),
        (("runs", "list", "--state", "complete"), 'did you mean "completed"?'),
        (("machine", "show", "stepp"), 'did you mean "step"?'),
        (("rusn", "list"), "Did you mean 'runs'?"),
        (("runs", "list", "--stat", "x"), "Did you mean --state?"),
    ):
        done = run(*arguments)
        assert done.returncode in (1, 2), arguments
        assert meant in done.stderr, (arguments, done.stderr)
        assert len(done.stderr.splitlines()) == 1, done.stderr


def test_a_name_that_is_near_to_nothing_gets_no_guess(run):
    done = run("start", "zebra")
    assert done.stderr == "stepwell: workflow zebra is not published.\n"


def test_a_tenant_is_suggested_too(dsn: str, db: psycopg.Connection):
    async def connect() -> None:
        client = await Client.connect(dsn, tenant="defualt", is_command=True)
        await client.close()

    with pytest.raises(NotFound) as caught:
        asyncio.run(connect())
    assert caught.value.sentence() == "tenant defualt does not exist. Did you mean default?"
    assert caught.value.hint == "did you mean default?"


def test_publish_warns_of_an_operation_that_nobody_has_registered(run, tmp_path: Path):
    (tmp_path / "late.yaml").write_text("workflow: late\nsteps: [charg, reserve]\n")
    done = run("publish", "--app", "shop.py", "late.yaml")
    assert done.returncode == 0
    assert "late: published as version 1" in done.stdout
    assert done.stderr.splitlines() == [
        '  warning: no app has registered the operation charg (did you mean "charge"?); its step waits',
        "  warning: no app has registered the operation reserve; its step waits",
    ]
    # Nothing is missing in what the app itself declares, and a program is told the names.
    assert run("publish", "--app", "shop.py").stderr == ""
    assert (
        '"unregistered": [\n      "charg",\n      "reserve"\n    ]'
        in run("publish", "late.yaml", "--json").stdout
    )


def test_the_published_workflows_are_listed_and_shown(run, tmp_path: Path):
    (tmp_path / "order.yaml").write_text(YAML + "  - wait: paid\n")
    assert run("publish", "order.yaml").returncode == 0
    listed = run("workflows", "list").stdout
    assert [word for word in ("order.process", "2", "3") if word not in listed] == []
    shown = run("workflows", "show", "order.process").stdout
    assert shown.startswith("order.process version 2\n")
    assert [line.split() for line in shown.splitlines()[3:]] == [
        ["charge", "operation", "charge"],
        ["sign-off", "human", "office", "charge"],
        ["paid", "wait", "paid", "sign-off"],
    ]
    assert "paid" not in run("workflows", "show", "order.process", "--version", "1").stdout
    assert (
        "has no version 7: it has 1, 2." in run("workflows", "show", "order.process", "--version", "7").stderr
    )
    versions = run("workflows", "versions", "order.process").stdout.splitlines()
    assert [line.split()[0] for line in versions] == ["version", "2", "1"]
    assert '"input_schema": null' in run("workflows", "versions", "order.process", "--json").stdout
