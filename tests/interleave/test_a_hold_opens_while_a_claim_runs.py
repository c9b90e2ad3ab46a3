"""A hold and a claim at the same time: what the claim leased cannot act, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable

from psycopg.types.json import Jsonb

from tests.interleave.conftest import Session
from tests.sql.drive import Engine

OPEN = "select fn_hold_open(1, 'operation', 'op', 'period closed', 'cli:ops')"
RELEASE = "select fn_hold_release(1, %s, 100, 'open again', 'cli:ops')"
ACTION = {"connector": "sap", "operation": "post", "target": "t", "call": "c.o#1", "fields": {}}


def test_what_a_running_claim_leased_cannot_act_and_the_next_claim_gets_nothing(
    engine: Engine, sessions: Callable[[], Session]
):
    engine.enqueue("op", 5)
    worker = engine.worker()
    claiming, opening = sessions(), sessions()
    leases = claiming.claim(worker, 2)
    assert len(leases) == 2
    # The hold waits for nothing of the claim.
    hold = int(opening.one(OPEN)["hold_id"])
    opening.commit()
    claiming.commit()
    for lease in leases:
        answer = engine.one(
            "select fn_action_propose(%s, 1, %s, %s, %s)",
            (worker, lease.unit_id, lease.lease_no, Jsonb(ACTION)),
        )
        assert (answer["answer"], answer["hold_id"]) == ("held", hold)
    assert engine.claim(worker) == []
    assert engine.faults() == {}
    engine.complete(worker, *leases)
    engine.one(RELEASE, (hold,))
    assert len(engine.claim(worker)) == 3
    assert engine.faults() == {}


def test_a_claim_that_has_not_seen_the_release_leaves_nothing_behind(
    engine: Engine, sessions: Callable[[], Session]
):
    engine.enqueue("op", 1)
    worker = engine.worker()
    hold = int(engine.one(OPEN)["hold_id"])
    engine.enqueue("op", 2)
    claiming = sessions()
    # It puts two units beside the queue, and its transaction stays open while the hold is released.
    assert claiming.claim(worker) == []
    engine.one(RELEASE, (hold,))
    for _ in range(3):
        engine.one("select fn_holds_carry()")
    state = "select hold_state from v_incident_hold"
    assert engine.one(state) == "released"
    claiming.commit()
    for _ in range(3):
        engine.one("select fn_holds_carry()")
    assert engine.one(state) == "ended"
    assert engine.one("select has_hold from tenant where tenant_id = 1") is False
    assert len(engine.claim(worker)) == 3
    assert engine.faults() == {}


def test_two_people_who_open_the_same_hold_open_one(engine: Engine, sessions: Callable[[], Session]):
    engine.enqueue("op", 1)
    engine.db.execute("select fn_person_set(1, 'ops', '{operator}')")
    first, second = sessions(), sessions()
    one = first.one(OPEN)
    other = second.start_blocked(lambda: second.one(OPEN))
    first.commit()
    made = other.result()
    second.commit()
    assert (made["hold_id"], made["is_new"]) == (one["hold_id"], False)
    assert engine.one("select count(*) from incident_hold") == 1


def test_a_hold_that_is_opened_while_another_ends_is_seen_by_claims(
    engine: Engine, sessions: Callable[[], Session]
):
    engine.enqueue("op", 1)
    engine.enqueue("other", 1)
    hold = int(engine.one(OPEN)["hold_id"])
    engine.one(RELEASE, (hold,))
    engine.one("select fn_holds_carry()")
    opening, ending = sessions(), sessions()
    opening.one("select fn_hold_open(1, 'operation', 'other', 'r', 'cli:ops')")
    assert ending.one("select fn_holds_carry()") == 1
    ending.commit()
    opening.commit()
    engine.one("select fn_holds_carry()")
    assert engine.one("select has_hold from tenant where tenant_id = 1") is True
    assert [lease.operation for lease in engine.claim(engine.worker())] == ["op"]
