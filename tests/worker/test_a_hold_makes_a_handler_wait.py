"""A real worker: a hold denies the action of a handler, which waits and acts after the release."""

from __future__ import annotations

import asyncio

import stepwell as sw
from tests.support.wait import until_async
from tests.worker.acting import put_in_force, receipts, rule, state_of, verdicts

OPEN = "select (stepwell.fn_hold_open(1, %s, %s, 'period closed', 'cli:ops') ->> 'hold_id')::bigint"
WHY = (
    "select w.code, strpos(w.sentence_en, 'period closed') > 0"
    " from work_unit as u, fn_why_not_running(u.unit_id) as w where u.scope = 'step'"
)
RELEASE = "select stepwell.fn_hold_release(1, %s, 100, 'open again', 'cli:ops')"


def test_a_handler_whose_action_is_held_waits_and_acts_after_the_release(app, play, db, clock, ledger, acts):
    put_in_force(db, rule("free", "allow"))

    async def scenario():
        (hold,) = db.execute(OPEN, ("connector", "ledger")).fetchone()
        async with sw.Worker(app, slots=1) as worker:
            run = await acts({"fields": {"amount": 9}})
            await until_async(lambda: state_of(db) == "waiting")
            await until_async(lambda: worker.busy_count == 0)
            assert ledger.keys() == []
            assert db.execute(WHY).fetchone() == ("hold", True)
            # Its time is over, and the unit stays held: nobody claims it.
            clock.advance(minutes=1)
            await until_async(lambda: db.execute("select count(*) from job_held").fetchone() == (1,))
            assert state_of(db) == "ready"
            db.execute(RELEASE, (hold,))
            assert (await asyncio.wait_for(run.result(), 60))[0]["amount"] == 9

    play(scenario)
    assert len(ledger.keys()) == 1
    assert len(receipts(db)) == 1
    assert [effect for effect, _, _ in verdicts(db)] == ["deny", "allow"]
    attempts = db.execute("select attempt_count from work_unit where scope = 'step'").fetchone()
    assert attempts == (0,), "a hold uses no attempt"
    assert db.execute("select count(*) from unit_failure").fetchone() == (0,)
