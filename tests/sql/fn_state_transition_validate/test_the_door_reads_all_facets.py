"""A person at the door and a worker may name several facets: the one with the lowest ordinal is primary."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from psycopg.types.json import Jsonb

import stepwell as sw
from stepwell.outcome import WaitFacet
from tests.sql.drive import Engine, human, operation

ASK = """
    select fn_state_transition_validate(
        %s, 'step', 'in_progress', 'waiting', 'pic_human', 'rpc', 'step_wait', %s)
"""


def facets(engine: Engine, unit_id: int) -> Any:
    query = "select waiting_facet, waiting_facets from step_run where step_run_id = %s"
    return engine.db.execute(query, (unit_id,)).fetchone()


@pytest.mark.requirement("SM-10")
def test_the_door_picks_the_primary_facet(engine: Engine):
    engine.publish("w", human("sign"))
    engine.person("ada")
    named = list(permutations(["waiting_time_gate", "waiting_dependency", "waiting_external"]))
    for order in named:
        unit_id = engine.unit(engine.start("w"), "sign")
        engine.one("select fn_step_claim(1, %s, 'ada')", (unit_id,))
        payload = {"waiting_facet": order[0], "waiting_facets": order[1:]}
        answer = engine.one(ASK, (unit_id, Jsonb({"audit_ref": "a", "payload": payload})))
        assert answer["ok"], answer
        primary, all_of_them = facets(engine, unit_id)
        assert primary == "waiting_dependency"
        assert all_of_them == ["waiting_dependency", "waiting_external", "waiting_time_gate"]
    unit_id = engine.unit(engine.start("w"), "sign")
    engine.one("select fn_step_claim(1, %s, 'ada')", (unit_id,))
    unknown = {"waiting_facet": "waiting_human", "waiting_facets": ["waiting_moon"]}
    answer = engine.one(ASK, (unit_id, Jsonb({"audit_ref": "a", "payload": unknown})))
    assert "transition_refused_by_guard:wait_facet_known" in answer["problems"]
    assert engine.state(unit_id) == "in_progress"


@pytest.mark.requirement("SM-10")
def test_a_worker_may_name_several_facets(engine: Engine):
    engine.publish("w", operation("call"))
    unit_id = engine.unit(engine.start("w"), "call")
    session = engine.worker()
    (lease,) = engine.claim(session)
    body = {"event": "paid", "facets": ["waiting_time_gate", "waiting_human"]}
    assert engine.report(session, (lease, "waiting", body)) == []
    assert facets(engine, unit_id) == ("waiting_human", ["waiting_human", "waiting_time_gate"])
    event = engine.one("select payload from event_log where event_type = 'step.waiting'")
    assert event["waiting_facet"] == "waiting_human"
    assert engine.faults() == {}


@pytest.mark.requirement("SM-10")
def test_python_knows_the_facets_of_the_registry_and_refuses_others(engine: Engine):
    query = (
        "select facet_code from state_facet_def where state_machine_id = 'step.1' and state_code = 'waiting'"
    )
    assert {code for (code,) in engine.db.execute(query)} == set(WaitFacet)
    assert sw.Waiting("paid", facets=["waiting_human"]).facets == ["waiting_human"]
    for wrong in (["waiting_moon"], "waiting_human"):
        with pytest.raises(sw.InvalidInput, match="facets: a list of waiting_dependency"):
            sw.Waiting("paid", facets=wrong)
