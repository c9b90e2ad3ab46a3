"""A person who repeats part of a run while the own decision about it waits is behind it, and is refused."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from tests.interleave.conftest import LIMIT_SECONDS, Session
from tests.sql.drive import Engine, human, operation
from tests.support.deciding import deciding
from tests.worker.acting import put_in_force, rule

ACTION = '{"connector": "c", "operation": "o", "target": "t", "fields": {}, "call": "c.o#1", "writes": true}'
REOPEN = "select fn_step_reopen_for_correction(1, %s, 'ben', 'data_error', %s, 'leave')"


@pytest.fixture
def waiting(engine: Engine) -> tuple[int, int]:
    """(run, approval): a step waits for the approval of its action, one is dead, one is done by a person."""
    engine.person("ada", "cleo")
    engine.db.execute("select fn_person_set(1, 'ben', array['reviewer'])")
    put_in_force(engine.db, rule("ask", "needs_approval"))
    engine.publish(
        "w", operation("act"), operation("die"), human("sign"), human("after"), edges=[("sign", "after")]
    )
    run_id = engine.start("w")
    session = engine.worker()
    act, die = engine.claim(session)
    approval_id: int = engine.one(
        "select fn_action_propose(%s, 1, %s, %s, %s::jsonb)", (session, act.unit_id, act.lease_no, ACTION)
    )["approval_id"]
    body = {"event": f"approval.decided.{approval_id}", "facet": "waiting_human", "approval_id": approval_id}
    engine.report(session, (act, "waiting", body))
    engine.kill(session, die)
    sign = engine.unit(run_id, "sign")
    engine.one("select fn_step_claim(1, %s, 'cleo')", (sign,))
    engine.one("select fn_step_complete(1, %s, 'cleo', '{}')", (sign,))
    assert engine.states(run_id)["act"] == "waiting"
    return run_id, approval_id


def retry(engine: Engine, run_id: int) -> tuple[str, tuple[int, ...]]:
    return "select fn_job_retry(1, %s, 'ben', 'once more')", (engine.unit(run_id, "die"),)


def correct(engine: Engine, run_id: int) -> tuple[str, tuple[int, ...]]:
    sign = engine.unit(run_id, "sign")
    reopening: int = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada')", (sign,))
    assert engine.one(deciding("approve", "cleo"), (reopening,)) == "approved"
    return REOPEN, (sign, reopening)


@pytest.mark.requirement("RT-06")
@pytest.mark.parametrize("repeat", [retry, correct])
def test_a_decision_that_waited_for_the_own_repeat_is_refused(
    engine: Engine,
    sessions: Callable[[], Session],
    waiting: tuple[int, int],
    repeat: Callable[..., tuple[str, tuple[int, ...]]],
):
    run_id, approval_id = waiting
    query, values = repeat(engine, run_id)
    first, second = sessions(), sessions()
    first.one(query, values)
    decision = second.start_blocked(lambda: second.one(deciding("approve", "ben"), (approval_id,)))
    first.commit()
    with pytest.raises(
        psycopg.Error, match="repeated what an approval is about cannot decide it: ben"
    ) as refused:
        decision.result(LIMIT_SECONDS)
    assert refused.value.sqlstate == "SW007"
    second.rollback()
    assert engine.one("select count(*) from approval_vote where approval_id = %s", (approval_id,)) == 0
    assert engine.states(run_id)["act"] == "waiting"
    assert engine.one(deciding("approve", "cleo"), (approval_id,)) == "approved"
    assert engine.faults() == {}


@pytest.mark.requirement("RT-06")
def test_a_vote_does_not_count_after_its_voter_repeats(engine: Engine, waiting: tuple[int, int]):
    """The quorum is counted again with each vote: by then the first voter is behind the run."""
    run_id, _ = waiting
    asked: int = engine.one(
        "select fn_approval_request(1, 'reopen', %s, 'ada', p_quorum => 2)", (run_id << 20,)
    )
    assert engine.one(deciding("approve", "ben"), (asked,)) == "requested"
    query, values = retry(engine, run_id)
    engine.one(query, values)
    assert engine.one(deciding("approve", "cleo"), (asked,)) == "requested"
    engine.person("dora")
    assert engine.one(deciding("approve", "dora"), (asked,)) == "approved"
