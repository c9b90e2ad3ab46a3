"""A hold denies actions, also of work that was leased before; its evidence file proves itself."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from stepwell.govern import hold_evidence
from tests.sql.drive import Engine, Lease, human, operation
from tests.sql.holds.conftest import Holding
from tests.sql.people.asking import People
from tests.support.clock import Clock
from tests.worker.acting import put_in_force, rule


def propose(engine: Engine, session: int, lease: Lease, connector: str = "sap") -> Any:
    action = {"connector": connector, "operation": "post", "target": "t", "call": "c.o#1", "fields": {}}
    return engine.one(
        "select fn_action_propose(%s, 1, %s, %s, %s)", (session, lease.unit_id, lease.lease_no, Jsonb(action))
    )


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("operation", "post"),
        ("connector", "sap"),
        ("workflow", "w"),
        ("tenant", "default"),
        ("person", "ada"),
    ],
)
def test_work_that_is_leased_when_a_hold_opens_cannot_act(
    engine: Engine, people: People, holding: Holding, kind: str, value: str
):
    put_in_force(engine.db, rule("free", "allow"))
    engine.publish("w", operation("post"))
    engine.one("select run_id from fn_run_start(1, 'w', %s::jsonb[], null, p_actor => 'ada')", ([Jsonb({})],))
    session = engine.worker()
    (lease,) = engine.claim(session)
    hold = holding.open(kind, value, "period closed")
    answer = propose(engine, session, lease)
    assert (answer["answer"], answer["reason_code"], answer["hold_id"]) == ("held", "held", hold)
    assert "period closed" in answer["reason"]
    assert engine.one("select count(*) from action_receipt") == 0
    assert engine.events(lease.unit_id)[-1] == "action.judged"
    holding.release(hold)
    assert propose(engine, session, lease)["answer"] == "go"
    assert engine.faults() == {}


def test_a_hold_of_a_connector_stops_the_operations_that_acted_through_it(engine: Engine, holding: Holding):
    session = engine.worker()
    engine.enqueue("post")
    (lease,) = engine.claim(session)
    propose(engine, session, lease)
    engine.complete(session, lease)
    engine.enqueue("post", 2)
    engine.enqueue("other", 2)
    hold = holding.open("connector", "sap")
    leases = engine.claim(session)
    assert {found.operation for found in leases} == {"other"}
    # An operation that nobody knew is met when it acts, and stopped from then on.
    assert propose(engine, session, leases[0])["answer"] == "held"
    assert propose(engine, session, leases[1], "mail")["answer"] == "held"
    engine.enqueue("other")
    assert engine.claim(session) == []
    holding.release(hold)
    assert len(engine.claim(session)) == 3
    assert engine.faults() == {}


def evidence(engine: Engine, hold: int) -> dict[str, Any]:
    found: dict[str, Any] = engine.one("select fn_hold_evidence_read(1, %s)", (hold,))
    return found


def test_the_evidence_file_is_made_by_itself_and_verifies(
    engine: Engine, people: People, holding: Holding, clock: Clock
):
    engine.publish("w", human("sign", role="office", deadline=3600), operation("post"))
    unit = engine.unit(engine.start("w"), "sign")
    people.claim(unit, "ada")
    hold = holding.open("workflow", "w", "SAP period closed")
    so_far = evidence(engine, hold)
    assert so_far["hold"]["ended_at"] is None
    assert any("not sealed" in finding for finding in hold_evidence.findings(so_far))
    clock.advance(hours=2)
    holding.release(hold, 10)
    holding.release(hold)
    holding.end()
    engine.one("select block_no from fn_audit_seal(1)")
    assert engine.one("select has_evidence from v_incident_hold") is False
    holding.carry()
    assert engine.one("select has_evidence from v_incident_hold") is True
    made = evidence(engine, hold)
    assert hold_evidence.findings(made) == []
    assert [event["event_type"] for event in made["events"] if event["stream_id"] == hold] == [
        "hold.opened", "hold.graded", "hold.released", "hold.ended",
    ]  # fmt: skip
    (clock_row,) = made["clocks"]
    assert clock_row["unit_id"] == str(unit)
    assert float(clock_row["held_seconds"]) == pytest.approx(7200, abs=60)
    sealed = dict(engine.db.execute("select block_no, encode(block_hash, 'hex') from audit_block").fetchall())
    assert {no: sealed[no] for no in hold_evidence.block_hashes(made)} == hold_evidence.block_hashes(made)
    digest = engine.one("select payload ->> 'sha256' from event_log where event_type = 'hold.evidence_made'")
    assert digest == engine.one("select content_sha256 from incident_hold_evidence")
    # What was made stays as it is.
    engine.start("w")
    engine.one("select count(*) from fn_audit_seal(1)")
    assert evidence(engine, hold) == made


def forged(document: dict[str, Any], change: Any) -> list[str]:
    copied = copy.deepcopy(document)
    change(copied)
    return hold_evidence.findings(copied)


def test_a_changed_evidence_file_is_found(engine: Engine, people: People, holding: Holding, clock: Clock):
    engine.publish("w", human("sign", role="office", deadline=3600))
    people.claim(engine.unit(engine.start("w"), "sign"), "ada")
    hold = holding.open("workflow", "w")
    clock.advance(hours=1)
    holding.release(hold)
    holding.end()
    engine.one("select count(*) from fn_audit_seal(1)")
    made = evidence(engine, hold)
    assert hold_evidence.findings(made) == []

    def payload(document: dict[str, Any]) -> None:
        document["events"][0]["payload"] = document["events"][0]["payload"].replace(
            "period closed", "a good reason"
        )

    def reason(document: dict[str, Any]) -> None:
        document["hold"]["reason"] = "a good reason"

    def held(document: dict[str, Any]) -> None:
        document["clocks"][0]["held_seconds"] = 1

    def actor(document: dict[str, Any]) -> None:
        document["events"][0]["actor"] = "somebody"

    def leaf(document: dict[str, Any]) -> None:
        document["blocks"][0]["leaves"] = "00" + document["blocks"][0]["leaves"][2:]

    def header(document: dict[str, Any]) -> None:
        document["blocks"][0]["sealed_at"] = "2020-01-01T00:00:00.000000Z"

    def missing(document: dict[str, Any]) -> None:
        document["events"] = [one for one in document["events"] if one["event_type"] != "hold.released"]

    for change in (payload, reason, held, actor, leaf, header, missing):
        assert forged(made, change) != [], change
    assert hold_evidence.findings([]) != []
    assert hold_evidence.findings({"format": hold_evidence.FORMAT}) != []


LATER = "2031-01-01T00:00:00.000000Z"


def test_every_field_of_an_evidence_file_follows_from_its_events(
    engine: Engine, people: People, holding: Holding, clock: Clock
):
    """Who edits the rows of a hold before its file is made, or the file, is found."""
    engine.publish("w", human("sign", role="office", deadline=3600))
    people.claim(engine.unit(engine.start("w"), "sign"), "ada")
    hold = holding.open("workflow", "w")
    clock.advance(hours=1)
    holding.release(hold, 10)
    holding.release(hold)
    holding.end()
    engine.one("select count(*) from fn_audit_seal(1)")
    made = evidence(engine, hold)
    assert hold_evidence.findings(made) == []
    free = {"hold_id", "operations"}
    for part, fields in (("hold", made["hold"]), ("clocks", made["clocks"][0])):
        for name in sorted({*fields} - free):
            value = fields[name]
            other = LATER if name.endswith(("_at", "_from", "_to")) else "7" if isinstance(value, str) else 7

            def change(
                document: dict[str, Any], part: str = part, name: str = name, other: Any = other
            ) -> None:
                rows = document[part] if part == "clocks" else [document[part]]
                rows[0][name] = other

            assert forged(made, change) != [], f"{part}.{name}"
    for edit in (
        "update incident_hold set opened_by = 'the-ceo'",
        "update incident_hold set released_by = 'the-ceo'",
        "update incident_hold set opened_at = opened_at - interval '1 day'",
        "update incident_hold_clock set held_for = held_for + interval '1 hour'",
        "update incident_hold_clock set deadline_at = deadline_at + interval '1 hour'",
    ):
        with engine.db.transaction(force_rollback=True):
            engine.db.execute(edit.encode())
            assert hold_evidence.findings(evidence(engine, hold)) != [], edit
    added = {"verdict_id": "1", "unit_id": "1", "connector": "x", "operation": "y", "at": LATER}
    assert forged(made, lambda document: document["denials"].append(added)) != []


def compared(engine: Engine, document: dict[str, Any]) -> list[str]:
    found: list[str] = engine.one("select fn_hold_evidence_compare(1, %s)", (Jsonb(document),))
    return found


def test_what_is_left_out_of_an_evidence_file_is_found_by_its_digest(
    engine: Engine, people: People, holding: Holding, clock: Clock
):
    """A clock that is left out with its events leaves a file that agrees with itself, not with the log."""
    engine.publish("w", human("sign", role="office", deadline=3600))
    for _ in range(2):
        people.claim(engine.unit(engine.start("w"), "sign"), "ada")
    hold = holding.open("workflow", "w")
    assert compared(engine, evidence(engine, hold)) == []
    clock.advance(hours=1)
    holding.release(hold)
    holding.end()
    assert "no digest" in compared(engine, evidence(engine, hold))[0]
    engine.one("select count(*) from fn_audit_seal(1)")
    holding.carry()
    made = evidence(engine, hold)
    # As a file that was written with spaces and read again.
    assert compared(engine, json.loads(json.dumps(made, indent=1))) == []
    less = copy.deepcopy(made)
    left_out = less["clocks"].pop()
    numbers = {left_out["stopped_event_id"], left_out["moved_event_id"]}
    less["events"] = [event for event in less["events"] if str(event["event_id"]) not in numbers]
    assert len(less["events"]) == len(made["events"]) - 2
    assert hold_evidence.findings(less) == []
    (found,) = compared(engine, less)
    assert "clocks differs" in found
    assert "events differs" in found
    more = copy.deepcopy(made)
    more["clocks"].append(more["clocks"][0])
    assert any("fewer than the file lists" in one for one in hold_evidence.findings(more))
    # The stored file is no proof: who changes it is found by the digest in the log.
    engine.db.execute("update incident_hold_evidence set content = %s", (json.dumps(less),))
    assert "does not have the file any more" in compared(engine, less)[0]
    engine.db.execute("delete from incident_hold_evidence")
    assert "does not have the file any more" in compared(engine, made)[0]
