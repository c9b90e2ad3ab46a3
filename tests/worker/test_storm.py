"""Random faults on real workers, by a seed: failing handlers, cut connections, stopped and silent workers."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import pytest

import stepwell as sw

RUNS = 25
ROUND_LIMIT = 400


def declare(app: sw.App, seed: int, done: Counter) -> None:
    @app.operation(retry=sw.Retry(max_attempts=4, initial="1s", max="10s"))
    async def random_outcome(ctx: sw.Context, n: int):
        """The outcome depends only on run, step and attempt, so that a repeated attempt has the same one."""
        chance = random.Random(f"{seed}:{n}:{ctx.step_id}:{ctx.attempt}").random()
        await ctx.step("mark", lambda: done.update([(n, ctx.step_id)]))
        if chance < 0.10:
            raise ConnectionError("by chance")
        if chance < 0.15:
            await ctx.sleep("1h")
        elif chance < 0.20 and ctx.task_type == "RUN":
            return sw.Waiting("nudge", timeout="30m")
        elif chance < 0.23:
            return sw.RetryLater(after="5s")
        elif chance < 0.24:
            return sw.Dead("by chance")
        return n

    @app.operation(retry=sw.Retry(max_attempts=4, initial="1s", max="10s"))
    def threaded(ctx: sw.Context, n: int):
        ctx.step_sync("mark", lambda: done.update([(n, ctx.step_id)]))
        return n

    def op(step: str, name: str = "random_outcome") -> sw.Operation:
        return sw.Operation(name, id=step)

    fan = sw.Parallel(
        *(op(f"fan{k}", "threaded" if k % 2 else "random_outcome") for k in range(5)), max_concurrency=2
    )
    app.publish(sw.Workflow("inner", sw.Sequential(op("inner-a"), op("inner-b"))))
    app.publish(sw.Workflow("storm", sw.Sequential(op("first"), fan, sw.SubWorkflow("inner"), op("last"))))


def cut_workers(db) -> None:
    db.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where datname = current_database() and application_name = 'stepwell worker'"
    )


@pytest.mark.requirement("JW-11", "LN-05")
@pytest.mark.parametrize("seed", [1, 2])
def test_every_run_ends_and_every_step_completes_at_most_once(app, play, db, turn, seed):
    done: Counter = Counter()
    declare(app, seed, done)
    dice = random.Random(seed)

    def open_count() -> int:
        return db.execute("select count(*) from run_detail where finished_at is null").fetchone()[0]

    async def scenario():
        await app.start_many("storm", [{"n": n} for n in range(RUNS)], keys=[str(n) for n in range(RUNS)])
        workers = [sw.Worker(app, slots=8, name=f"w{k}", grace_seconds=0.05) for k in range(2)]
        for worker in workers:
            await worker.__aenter__()
        for _ in range(ROUND_LIMIT):
            if open_count() == 0:
                break
            match dice.choice(["cut", "stop", "time", "time", "time", "silence"]):
                case "cut":
                    cut_workers(db)
                case "stop":
                    await workers.pop(0).stop()
                    workers.append(sw.Worker(app, slots=8, name="later", grace_seconds=0.05))
                    await workers[-1].__aenter__()
                case "silence":
                    turn.on(minutes=2, keep_sessions=False)
                case "time":
                    turn.on(minutes=20)
            for worker in workers:
                worker.hint()
            await asyncio.sleep(0)
            await asyncio.to_thread(db.execute, "select pg_sleep(0.02)")
        for worker in workers:
            await worker.stop()
        # The keeper recovers the lease of a claim that was not answered when its worker closed.
        turn.keep()

    play(scenario)
    assert open_count() == 0
    repeated = db.execute(
        "select unit_id, checkpoint_name from unit_checkpoint group by 1, 2 having count(*) > 1"
    ).fetchall()
    assert repeated == []
    completed = db.execute(
        "select unit_id from event_log where event_type = 'step.completed'"
        " group by unit_id having count(*) > 1"
    ).fetchall()
    assert completed == []
    problems_are_counted_as_they_are(db)


def problems_are_counted_as_they_are(db) -> None:
    """The kept counts of problems are those of a full recount; dead letters are those of the queue."""
    while db.execute("select fn_problems_watch()").fetchone()[0] > 0:
        pass
    recount = db.execute(
        "select category_code, count(*) from governance_problem where closed_at is null group by 1 order by 1"
    ).fetchall()
    assert (
        recount
        == db.execute(
            "select category_code, open_count from governance_count where open_count > 0 order by 1"
        ).fetchall()
    )
    shown = db.execute(
        "select category_code, subject_count from vw_governance_counts where subject_count > 0 order by 1"
    ).fetchall()
    assert recount == shown
    dead = db.execute("select count(*) from job_dead_letter where resolved_at is null").fetchone()[0]
    assert dict(recount).get("dead_letter", 0) == dead
    # The storm kills some: a recount of nothing would prove nothing.
    assert dead > 0
