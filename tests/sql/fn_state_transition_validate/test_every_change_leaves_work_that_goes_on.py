"""Every declared change of a step or job, whatever the unit holds: claims, reports and timers work after it.

The changes come from the registry. The first one of a walk is each declared change in turn, the next ones
are drawn: so states that only the door reaches, as blocked, are left again too.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, human, operation
from tests.sql.transition_matrix import matrix

ASK = "select fn_state_transition_validate(%s, %s, %s, %s, %s, %s, %s, %s)"
# Their approvals, corrections and replays have calls of their own, which other tests cover.
OWN_CALLS = {"step_reopen_for_correction"}
# The engine leases and parks units of workers itself: nobody is in charge of one, no role asks as the others.
ENGINE = {"system", "mow_orchestrator", "executor_worker", "pic_human"}
RETRY = {"error": {"type": "E", "message": "again"}, "delay_seconds": 5}
KEYED = {"p_concurrency_key": "k", "p_max_concurrency": 1}
DEPTH = 3
Situation = Callable[[Engine, int], int]


def queued(engine: Engine, session: int) -> int:
    return engine.enqueue("op", **KEYED)[0]


def in_line(engine: Engine, session: int) -> int:
    return engine.enqueue("op", 2, **KEYED)[1]


def leased(engine: Engine, session: int) -> int:
    (job, _) = engine.enqueue("op", 2, **KEYED)
    engine.claim(session)
    return job


def retry_is_timed(engine: Engine, session: int) -> int:
    job = queued(engine, session)
    (lease,) = engine.claim(session)
    engine.report(session, (lease, "retry", RETRY))
    return job


def retry_is_queued(engine: Engine, session: int) -> int:
    job = retry_is_timed(engine, session)
    tick(engine, 6)
    return job


def scheduled(engine: Engine, session: int) -> int:
    later = engine.one("select stepwell.now() + interval '1 minute'")
    return engine.enqueue("op", p_process_after=later, **KEYED)[0]


def dead(engine: Engine, session: int) -> int:
    job = queued(engine, session)
    engine.kill(session, *engine.claim(session))
    return job


def in_a_run(engine: Engine, *steps: dict[str, Any]) -> int:
    engine.publish("w", *steps, operation("after"))
    return engine.unit(engine.start("w"), str(steps[0]["id"]))


def step_queued(engine: Engine, session: int) -> int:
    return in_a_run(engine, operation("a", timeout_seconds=60))


def step_leased(engine: Engine, session: int) -> int:
    step = step_queued(engine, session)
    engine.claim(session)
    return step


def step_waits(engine: Engine, session: int) -> int:
    step = step_queued(engine, session)
    (lease,) = engine.claim(session)
    engine.report(session, (lease, "waiting", {"event": "came", "seconds": 10}))
    return step


def step_retries(engine: Engine, session: int) -> int:
    step = step_queued(engine, session)
    (lease,) = engine.claim(session)
    engine.report(session, (lease, "retry", RETRY))
    return step


def step_pending(engine: Engine, session: int) -> int:
    step = step_queued(engine, session)
    return engine.unit(step >> 20, "after")


def step_of_somebody(engine: Engine, session: int) -> int:
    step = in_a_run(engine, human("sign", deadline_seconds=60))
    engine.db.execute("select fn_step_claim(1, %s, 'ada')", (step,))
    return step


def step_for_people(engine: Engine, session: int) -> int:
    return in_a_run(engine, human("sign", deadline_seconds=60))


SITUATIONS: list[Situation] = [
    queued, in_line, leased, retry_is_timed, retry_is_queued, scheduled, dead, step_queued, step_leased,
    step_waits, step_retries, step_pending, step_for_people, step_of_somebody,
]  # fmt: skip


def tick(engine: Engine, seconds: int) -> None:
    engine.db.execute("select fn_clock_move(stepwell.now() + make_interval(secs => %s))", (seconds,))
    engine.timers()


def declared(db: psycopg.Connection) -> dict[tuple[str, str], list[tuple[str, str, matrix.Rule]]]:
    """(machine, state) → (next state, actor, rule) of each change that is declared."""
    found: dict[tuple[str, str], list[tuple[str, str, matrix.Rule]]] = {}
    for machine in ("step.1", "job.1"):
        for (_, before, after, actor), rule in matrix.rules(db, machine).items():
            if rule.trigger_ref not in OWN_CALLS:
                found.setdefault((machine, before), []).append((after, actor, rule))
    return found


def ask(engine: Engine, unit_id: int, after: str, actor: str, rule: matrix.Rule) -> bool:
    """Whether the door made the change."""
    row = engine.db.execute(
        "select scope, state_code from work_unit where unit_id = %s", (unit_id,)
    ).fetchone()
    assert row is not None
    is_of_workers = engine.one(
        "select operation_id is not null from work_unit where unit_id = %s", (unit_id,)
    )
    if is_of_workers and after in ("in_progress", "waiting") and actor in ENGINE:
        return False
    if rule.guard in ("deadline_passed", "deadline_extended"):
        sign = "-" if rule.guard == "deadline_passed" else "+"
        engine.db.execute(
            "update work_unit set deadline_at = stepwell.now() + %s::interval where unit_id = %s",
            (f"{sign}1 hour", unit_id),
        )
    person = engine.one("select person_id from person where person_name = 'ada'")
    evidence = matrix.EVIDENCE | {"payload": matrix.PAYLOAD, "actor": "ada", "actor_id": person}
    verdict = engine.one(
        ASK, (unit_id, *row, after, actor, rule.trigger_kind, rule.trigger_ref or "whatever", Jsonb(evidence))
    )
    return bool(verdict["ok"])


def goes_on(engine: Engine, session: int, unit_id: int) -> dict[str, Any]:
    """What is wrong after claims, reports and timers of two hours; the changes are undone."""
    with engine.db.transaction(force_rollback=True):
        wrong: dict[str, Any] = engine.faults()
        for _ in range(3):
            leases = engine.claim(session)
            engine.complete(session, *leases, output={})
            tick(engine, 2400)
        (other,) = engine.enqueue("op", **KEYED)
        engine.complete(session, *engine.claim(session), output={})
        still = engine.one(
            "select lease_session_id is not null from work_unit where unit_id = %s", (unit_id,)
        )
        if not still and engine.state(other) != "completed":
            wrong["the next job of the key"] = engine.why(other)
        return wrong | {f"{name}, later": detail for name, detail in engine.faults().items()}


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda one: one.__name__)
def test_claims_reports_and_timers_work_after_every_change(engine: Engine, situation: Situation):
    engine.person("ada")
    rules = declared(engine.db)
    draw = random.Random(17)
    engine.db.execute("select fn_clock_stop(null)")
    session = engine.worker(lease_seconds=86400)
    found, made = [], 0
    unit_id = situation(engine, session)
    assert engine.faults() == {}

    def at(unit: int) -> list[tuple[str, str, matrix.Rule]]:
        row = engine.db.execute(
            "select state_machine_id, state_code from work_unit where unit_id = %s", (unit,)
        )
        return rules.get(row.fetchone(), [])  # type: ignore[arg-type]

    for first in at(unit_id):
        walk: list[tuple[str, ...]] = []
        with engine.db.transaction(force_rollback=True):
            change: tuple[str, str, matrix.Rule] | None = first
            while change is not None and len(walk) < DEPTH and ask(engine, unit_id, *change):
                made += 1
                walk.append((change[0], change[1], change[2].trigger_ref or ""))
                if wrong := goes_on(engine, session, unit_id):
                    found.append((walk, wrong))
                    break
                change = draw.choice(at(unit_id) or [None])  # type: ignore[list-item]
    assert found == []
    assert made > 0
