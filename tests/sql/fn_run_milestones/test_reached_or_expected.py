"""Milestones of a run: reached with their time, expected from past runs, skipped or missed."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from stepwell.errors import InvalidInput, from_database
from tests.sql.drive import Engine, Step, human, operation
from tests.support.clock import Clock

PAID: Step = operation("charge", milestone="Paid")
SIGNED: Step = human("sign", role="office", milestone="Signed")


@pytest.fixture
def order(engine: Engine) -> Engine:
    engine.db.execute("select fn_person_set(1, 'ada', array['office'])")
    engine.publish("order", PAID, SIGNED, operation("ship"))
    return engine


def milestones(engine: Engine, run_id: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = engine.one(
        "select fn_workflow_run_snapshot(1, %s) -> 'milestones'", (run_id,)
    )
    return found


def sign(engine: Engine, run_id: int) -> None:
    unit = engine.unit(run_id, "sign")
    engine.db.execute("select fn_step_claim(1, %s, 'ada')", (unit,))
    engine.db.execute("select fn_step_complete(1, %s, 'ada', '{}')", (unit,))


@pytest.mark.requirement("UI-17")
def test_a_milestone_is_reached_when_its_step_is_completed(order: Engine, clock: Clock):
    run_id = order.start("order")
    assert [(one["name"], one["state"]) for one in milestones(order, run_id)] == [
        ("Paid", "expected"),
        ("Signed", "expected"),
    ]
    clock.advance(hours=1)
    order.drain(order.worker())
    paid, signed = milestones(order, run_id)
    assert (paid["no"], paid["state"]) == (1, "reached")
    assert paid["reached_at"] == order.one(
        "select to_json(completed_at) from step_run where run_id = %s and step_id = 'charge'", (run_id,)
    )
    # No past run tells when somebody signs.
    assert (signed["state"], signed["reached_at"], signed["expected_at"]) == ("expected", None, None)


def test_the_time_of_one_to_come_is_what_half_of_the_past_runs_took(order: Engine, clock: Clock):
    for hours in (1, 2, 9):
        run_id = order.start("order")
        order.drain(order.worker())
        clock.advance(hours=hours)
        sign(order, run_id)
        order.drain(order.worker())
    run_id = order.start("order")
    begin = order.one("select created_at from run_detail where run_id = %s", (run_id,))

    def expected_hours() -> float:
        query = "select extract(epoch from (%s::timestamptz - %s)) / 3600"
        return round(float(order.one(query, (milestones(order, run_id)[1]["expected_at"], begin))), 2)

    assert expected_hours() == 2
    clock.advance(hours=3)
    # What half of them took has passed: then what nine of ten took.
    assert expected_hours() == pytest.approx(7.6)


def test_a_run_that_ended_without_it_missed_it_and_a_skipped_step_skips_it(engine: Engine):
    engine.person("ada")
    engine.publish(
        "choice",
        {"id": "if", "kind": "conditional", "test": "$.input.pay == true", "reads": []},
        operation("charge", milestone="Paid", branch=1),
        operation("send", milestone="Sent"),
        edges=[("if", "charge"), ("if", "send")],
        branches=[{"no": 1, "conditional": 1, "label": "then", "negated": False}],
    )
    run_id = engine.start("choice", {"pay": False})
    assert [one["state"] for one in milestones(engine, run_id)] == ["skipped", "expected"]
    engine.db.execute("select fn_run_cancel(1, %s, 'ada', 'no longer needed')", (run_id,))
    assert [one["state"] for one in milestones(engine, run_id)] == ["skipped", "missed"]


def test_the_past_knows_what_was_reached_until_then(order: Engine):
    run_id = order.start("order")
    first = order.one("select max(event_id) from event_log where run_id = %s", (run_id,))
    order.drain(order.worker())
    last = order.one("select max(event_id) from event_log where run_id = %s", (run_id,))

    def then(event_id: int) -> list[str]:
        query = "select fn_workflow_run_snapshot_at(1, %s, %s) -> 'milestones'"
        return [one["state"] for one in order.one(query, (run_id, event_id))]

    assert then(first) == ["expected", "expected"]
    assert then(last) == ["reached", "expected"]
    marks = order.one("select fn_run_density(1, %s) -> 'marks'", (run_id,))
    assert [mark["no"] for mark in marks if mark["kind"] == "milestone"] == [1]


def test_a_workflow_without_milestones_has_an_empty_list(engine: Engine):
    engine.publish("plain", operation("a"))
    assert milestones(engine, engine.start("plain")) == []


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([operation("a", milestone=5)], "step a, milestone: a text of 1 to 200 characters is accepted"),
        ([operation("a", milestone=" ")], "step a, milestone: a text"),
        ([operation("a", milestone="x" * 201)], "step a, milestone: a text"),
        ([PAID, operation("b", milestone="Paid")], "step b, milestone: Paid is already the milestone"),
        (
            [
                {"id": "m", "kind": "map", "over": "$.input.items", "milestone": "All"},
                operation("a", scope=1, milestone="One"),
            ],
            "step a, milestone: the body of a map runs once for each item",
        ),
    ],
)
def test_publishing_refuses_what_cannot_be_reached_once(engine: Engine, steps: list[Step], words: str):
    with pytest.raises(psycopg.Error) as refusal:
        engine.publish("w", *steps, edges=[])
    assert isinstance(from_database(refusal.value), InvalidInput)
    assert words in str(refusal.value)
