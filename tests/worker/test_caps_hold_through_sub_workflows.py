"""Writes and sub-runs are counted at the root: a sub-workflow does not begin at zero."""

from __future__ import annotations

import pytest

import stepwell as sw
from tests.worker.acting import put_in_force, rule, verdicts


@pytest.fixture
def nested(app):
    """A root whose Map starts a run for each item; each of these starts a run that writes."""

    @app.operation
    async def write(ctx: sw.Context, target: str, fail: str | None = None):
        return await ctx.act("ledger", "add", target, {"fail": fail})

    inner = {"target": "$.input.target", "fail": "$.input.fail"}
    app.publish(sw.Workflow("leaf", sw.Operation("write", inputs=inner)))
    app.publish(sw.Workflow("branch", sw.SubWorkflow("leaf", inputs=inner)))
    each = {"target": "$.item.target", "fail": "$.item.fail"}
    app.publish(sw.Workflow("tree", sw.Map("$.input.items", sw.SubWorkflow("branch", inputs=each))))

    async def start(*targets: str, fail: str | None = None):
        return await app.start("tree", {"items": [{"target": target, "fail": fail} for target in targets]})

    return start


@pytest.mark.requirement("RT-04", "RT-06")
def test_writes_of_sub_workflows_count_for_the_root(app, play, db, ledger, nested):
    put_in_force(db, rule("free", "allow"))
    db.execute("update tenant set max_writes_per_run = 3")

    async def scenario():
        async with sw.Worker(app):
            run = await nested(*(f"T{at}" for at in range(10)))
            await run.wait()

    play(scenario)
    assert len(ledger.keys()) == 3
    assert [row[1] for row in verdicts(db)].count("writes_exhausted") == 7
    counts = db.execute("select write_count from run_write_count order by unit_id").fetchall()
    assert counts[0] == (3,), "the root counts the writes of all runs below it"
    assert sum(count for (count,) in counts) == 3 * 3


def test_the_cap_of_a_sub_workflow_holds_for_itself(app, play, db, ledger, nested):
    put_in_force(db, rule("free", "allow"))
    db.execute("update tenant set max_writes_per_run = 3")

    async def scenario():
        async with sw.Worker(app):
            await (await nested("A")).wait()
            db.execute("update workflow_registry set max_writes_per_run = 0 where workflow_name = 'branch'")
            await (await nested("B")).wait()

    play(scenario)
    assert len(ledger.keys()) == 1
    # What was counted above the branch that refused does not count any more.
    assert db.execute("select sum(write_count) from run_write_count").fetchone() == (3,)


def test_a_write_that_did_not_happen_counts_for_no_run(app, play, db, ledger, nested):
    put_in_force(db, rule("free", "allow"))

    async def scenario():
        async with sw.Worker(app):
            await (await nested("A", fail="refused")).wait()

    play(scenario)
    assert db.execute("select write_count from run_write_count").fetchall() == [(0,)] * 3


def test_a_root_starts_no_more_runs_than_its_limit(app, play, db, ledger, nested):
    put_in_force(db, rule("free", "allow"))
    db.execute("update dot_config set config_value = '5' where config_key = 'limits.subruns_per_run'")

    async def scenario():
        async with sw.Worker(app):
            await (await nested(*(f"T{at}" for at in range(4)))).wait()

    play(scenario)
    assert db.execute("select count(*) from run_detail where parent_unit_id is not null").fetchone() == (5,)
    assert db.execute("select max(subrun_count) from run_progress").fetchone() == (5,)
    assert db.execute(
        "select distinct error ->> 'message' from unit_failure where failure_class = 'too_many_subruns'"
    ).fetchone() == ("workflow: the run at the top has started 5 sub-workflow runs; at most 5 are accepted",)
