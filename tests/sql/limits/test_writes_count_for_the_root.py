"""Writes are counted for the root of a run: no retry, item, sub-workflow or odd value makes one more."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from psycopg.types.json import Jsonb

import stepwell as sw
from tests.sql.drive import Engine, Lease, operation, subworkflow
from tests.sql.graphs.publishing import publish
from tests.sql.people.asking import refused
from tests.worker.acting import put_in_force, rule

DUE = datetime(2026, 1, 1, 3, tzinfo=UTC)
NEXT = datetime(2026, 1, 2, 3, tzinfo=UTC)
LATER = datetime(2030, 1, 1, tzinfo=UTC)
ACTION: dict[str, Any] = {"connector": "c", "operation": "o", "target": "t", "call": "x#1", "fields": {}}


@pytest.fixture(autouse=True)
def three_writes(engine: Engine) -> None:
    put_in_force(engine.db, rule("free", "allow"))
    engine.db.execute("update dot_config set config_value = '3' where config_key = 'limits.writes_per_run'")


def propose(engine: Engine, session: int, lease: Lease, target: str, **more: Any) -> str:
    action = ACTION | {"target": target, "call": f"{target}#1"} | more
    said = engine.one(
        "select fn_action_propose(%s, 1, %s, %s, %s)",
        (session, lease.unit_id, lease.lease_no, Jsonb(action)),
    )
    return str(said.get("reason_code") if said["answer"] == "deny" else said["answer"])


def four_in_one_step(engine: Engine, session: int) -> list[str]:
    engine.publish("w", operation("a"))
    engine.start("w")
    (lease,) = engine.claim(session)
    return [propose(engine, session, lease, str(at)) for at in range(4)]


def one_each_time_the_run_is_retried(engine: Engine, session: int) -> list[str]:
    engine.db.execute("select fn_person_set(1, 'ada')")
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    answers = []
    for at in range(4):
        (lease,) = engine.claim(session)
        answers.append(propose(engine, session, lease, str(at)))
        engine.kill(session, lease)
        engine.one("select fn_run_retry(1, %s, 'ada')", (run_id,))
    return answers


def one_in_each_item_of_a_map(engine: Engine, session: int) -> list[str]:
    publish(engine, sw.Map("$.input.items", sw.Operation("op", id="o"), id="m"))
    engine.start("w", {"items": [1, 2, 3, 4]})
    return [propose(engine, session, lease, str(lease.unit_id)) for lease in engine.claim(session)]


def one_in_each_sub_workflow(engine: Engine, session: int) -> list[str]:
    engine.publish("inner", operation("a"))
    engine.publish("outer", *(subworkflow(f"s{at}", "inner") for at in range(4)), edges=[])
    engine.start("outer")
    return [propose(engine, session, lease, str(lease.unit_id)) for lease in engine.claim(session)]


def one_in_each_sub_workflow_of_a_scheduled_run(engine: Engine, session: int) -> list[str]:
    engine.publish("inner", operation("a"))
    engine.publish("outer", *(subworkflow(f"s{at}", "inner") for at in range(4)), edges=[])
    engine.db.execute(
        "select fn_schedule_set(1, 's', 'outer', '0 3 * * *', 'UTC', '{}', 'all', 2, %s, 'ada')", (DUE,)
    )
    engine.db.execute("select fn_schedule_fire(1, 's', %s, %s::timestamptz[], %s)", (DUE, [DUE], LATER))
    return [propose(engine, session, lease, str(lease.unit_id)) for lease in engine.claim(session)]


def four_in_one_job(engine: Engine, session: int) -> list[str]:
    engine.enqueue("op")
    (lease,) = engine.claim(session)
    return [propose(engine, session, lease, str(at)) for at in range(4)]


def one_each_time_a_job_is_retried(engine: Engine, session: int) -> list[str]:
    engine.db.execute("select fn_person_set(1, 'ada')")
    (job_id,) = engine.enqueue("op")
    answers = []
    for at in range(4):
        (lease,) = engine.claim(session)
        answers.append(propose(engine, session, lease, str(at)))
        engine.kill(session, lease)
        engine.one("select fn_job_retry(1, %s, 'ada')", (job_id,))
    return answers


def one_each_time_a_schedule_fires(engine: Engine, session: int) -> list[str]:
    """Each is a run of its own; the fourth is denied within one of them."""
    engine.publish("w", operation("a"))
    engine.db.execute(
        "select fn_schedule_set(1, 's', 'w', '0 3 * * *', 'UTC', '{}', 'all', 2, %s, 'ada')", (DUE,)
    )
    engine.db.execute("select fn_schedule_fire(1, 's', %s, %s::timestamptz[], %s)", (DUE, [DUE, NEXT], LATER))
    first, second = engine.claim(session)
    assert [propose(engine, session, first, f"f{at}") for at in range(3)] == ["go"] * 3
    assert [propose(engine, session, first, "f3")] == ["writes_exhausted"]
    return [propose(engine, session, second, f"s{at}") for at in range(4)]


@pytest.mark.requirement("RT-04", "RT-06")
@pytest.mark.parametrize(
    "way",
    [
        four_in_one_step, one_each_time_the_run_is_retried, one_in_each_item_of_a_map,
        one_in_each_sub_workflow, one_in_each_sub_workflow_of_a_scheduled_run, four_in_one_job,
        one_each_time_a_job_is_retried, one_each_time_a_schedule_fires,
    ],
)  # fmt: skip
def test_the_fourth_of_three_writes_is_denied(engine: Engine, way: Callable[[Engine, int], list[str]]):
    assert way(engine, engine.worker()) == ["go", "go", "go", "writes_exhausted"]


@pytest.mark.requirement("RT-04")
@pytest.mark.parametrize(
    ("of_tenant", "of_workflow", "allowed"), [(2, None, 2), (1, 2, 2), (2, 1, 1), (None, 0, 0)]
)
def test_the_cap_of_a_workflow_replaces_that_of_its_tenant(
    engine: Engine, of_tenant: int | None, of_workflow: int | None, allowed: int
):
    engine.publish("w", operation("a"))
    name = "max_writes_per_run"
    engine.db.execute("select fn_tenant_set('default', %s)", (Jsonb({name: of_tenant}),))
    engine.db.execute("select fn_workflow_caps_set(1, 'w', %s)", (Jsonb({name: of_workflow}),))
    engine.start("w")
    session = engine.worker()
    (lease,) = engine.claim(session)
    answers = [propose(engine, session, lease, str(at)) for at in range(3)]
    assert answers == ["go"] * allowed + ["writes_exhausted"] * (3 - allowed)


@pytest.mark.requirement("RT-06")
@pytest.mark.parametrize("field", ["writes", "reversible"])
@pytest.mark.parametrize("odd", [None, "false", 0, [], {}])
def test_what_is_neither_true_nor_false_is_refused(engine: Engine, field: str, odd: Any):
    """A value that is not true was counted as no write."""
    engine.publish("w", operation("a"))
    engine.start("w")
    session = engine.worker()
    (lease,) = engine.claim(session)
    with refused("SW001", f"{field}: true or false is required"):
        propose(engine, session, lease, "t", **{field: odd})
