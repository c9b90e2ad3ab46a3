"""`fn_actions_read` says of each call whether it is accepted now: each answer is compared with the call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.binding import as_role, token
from tests.sql.drive import Engine, human, operation, subworkflow
from tests.sql.people.asking import People, refused, unreadable
from tests.support.clock import Clock
from tests.support.deciding import deciding

PERSONS = ("ada", "ben", "cleo", "dan", "olga")
Situation = Callable[[Engine, People, Clock], int]


def _sign(engine: Engine, **more: Any) -> int:
    chain = [{"after": 60, "tell": "director"}]
    engine.publish("w", human("sign", role="office", escalation=chain, **more), operation("after"))
    return engine.unit(engine.start("w"), "sign")


def _ready(engine: Engine, people: People, clock: Clock) -> int:
    return _sign(engine)


def _claimed(engine: Engine, people: People, clock: Clock) -> int:
    unit = _sign(engine)
    people.claim(unit, "ada")
    return unit


def _overdue(engine: Engine, people: People, clock: Clock) -> int:
    unit = _sign(engine, deadline=60)
    people.claim(unit, "ada")
    clock.advance(seconds=3600)
    engine.timers()
    assert engine.state(unit) == "overdue"
    return unit


def _with_a_task(engine: Engine, people: People, clock: Clock) -> int:
    unit = _sign(engine, tasks=[{"id": "photo", "role": "warehouse"}])
    people.claim(unit, "ada")
    return unit


def _a_task(engine: Engine, people: People, clock: Clock) -> int:
    _with_a_task(engine, people, clock)
    found: int = engine.one("select unit_id from work_unit where scope = 'task'")
    return found


def _a_claimed_task(engine: Engine, people: People, clock: Clock) -> int:
    unit = _a_task(engine, people, clock)
    people.claim(unit, "cleo")
    return unit


def _waiting(engine: Engine, people: People, clock: Clock) -> int:
    unit = _claimed(engine, people, clock)
    people.wait(unit, "ada", ["waiting_external"])
    return unit


def _blocked(engine: Engine, people: People, clock: Clock) -> int:
    unit = _claimed(engine, people, clock)
    people.block(unit, "ada", "missing_iu")
    return unit


def _long_blocked(engine: Engine, people: People, clock: Clock) -> int:
    unit = _blocked(engine, people, clock)
    clock.advance(days=20)
    return unit


def _completed(engine: Engine, people: People, clock: Clock) -> int:
    unit = _claimed(engine, people, clock)
    people.complete(unit, "ada", {})
    return unit


def _may_be_reopened(engine: Engine, people: People, clock: Clock) -> int:
    unit = _completed(engine, people, clock)
    approval = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada')", (unit,))
    engine.one(deciding("approve", "ben"), (approval,))
    return unit


def _given_up(engine: Engine, people: People, clock: Clock) -> int:
    unit = _claimed(engine, people, clock)
    people.cannot_complete(unit, "ada", "mail:1")
    return unit


def _of_a_paused_run(engine: Engine, people: People, clock: Clock) -> int:
    unit = _sign(engine)
    engine.one("select fn_run_pause(1, %s, 'olga')", (unit >> 20,))
    return unit


def _of_a_worker(engine: Engine, people: People, clock: Clock) -> int:
    engine.publish("w", operation("only"))
    return engine.unit(engine.start("w"), "only")


def _failed(engine: Engine, people: People, clock: Clock) -> int:
    unit = _of_a_worker(engine, people, clock)
    session = engine.worker()
    (lease,) = engine.claim(session)
    engine.report(session, (lease, "failed", {"error": {"type": "E", "message": "no"}}))
    assert engine.state(unit) == "failed"
    return unit


def _dead(engine: Engine, people: People, clock: Clock) -> int:
    unit = _of_a_worker(engine, people, clock)
    session = engine.worker()
    engine.kill(session, *engine.claim(session))
    return unit


def _dead_and_requested(engine: Engine, people: People, clock: Clock) -> int:
    unit = _dead(engine, people, clock)
    engine.one("select fn_job_retry(1, %s, 'olga')", (unit,))
    return unit


def _a_job(engine: Engine, people: People, clock: Clock) -> int:
    (job_id,) = engine.enqueue("some")
    return job_id


def _held(make: Situation, kind: str = "workflow", value: str = "w") -> Situation:
    def situation(engine: Engine, people: People, clock: Clock) -> int:
        unit = make(engine, people, clock)
        engine.one("select fn_hold_open(1, %s, %s, 'an incident', 'olga')", (kind, value))
        return unit

    situation.__name__ = f"{make.__name__}_held_by_{kind}"
    return situation


def _run_of(make: Situation) -> Situation:
    def situation(engine: Engine, people: People, clock: Clock) -> int:
        return make(engine, people, clock) >> 20 << 20

    situation.__name__ = f"run{make.__name__}"
    return situation


def _cancelled_run(engine: Engine, people: People, clock: Clock) -> int:
    run = _sign(engine) >> 20
    approval = engine.one("select fn_approval_request(1, 'workflow_cancel', %s, 'ada')", (run << 20,))
    engine.one(deciding("approve", "ben"), (approval,))
    engine.one("select fn_run_cancel(1, %s, 'olga', 'no', %s)", (run, Jsonb({"approval_id": approval})))
    return run << 20


def _may_be_cancelled(engine: Engine, people: People, clock: Clock) -> int:
    run = _sign(engine) >> 20
    approval = engine.one("select fn_approval_request(1, 'workflow_cancel', %s, 'ada')", (run << 20,))
    engine.one(deciding("approve", "ben"), (approval,))
    return run << 20


def _failed_sub_run(engine: Engine, people: People, clock: Clock) -> int:
    engine.publish("inner", operation("only"))
    engine.publish("w", subworkflow("sub", "inner"))
    engine.start("w")
    session = engine.worker()
    engine.kill(session, *engine.claim(session))
    found: int = engine.one("select max(unit_id) from work_unit where scope = 'workflow_run'")
    return found


SITUATIONS: tuple[Situation, ...] = (
    _ready, _claimed, _overdue, _with_a_task, _a_task, _a_claimed_task, _waiting, _blocked, _long_blocked,
    _completed, _may_be_reopened, _given_up, _of_a_paused_run, _of_a_worker, _failed, _dead,
    _dead_and_requested, _a_job, _run_of(_ready), _run_of(_completed), _run_of(_of_a_paused_run),
    _run_of(_dead), _run_of(_dead_and_requested), _run_of(_given_up), _cancelled_run, _may_be_cancelled,
    _failed_sub_run, *(_held(make) for make in (_ready, _claimed, _a_claimed_task, _waiting, _long_blocked)),
    _held(_may_be_reopened), _held(_dead), _held(_ready, "person", "ada"), _held(_claimed, "person", "ada"),
)  # fmt: skip


def _call(
    engine: Engine, people: People, clock: Clock, action: str, unit: int, person: str, approval: Any
) -> Any:
    """The call with everything that it needs."""
    run = unit >> 20
    other = "dan" if person != "dan" else "ada"
    if engine.one("select scope from work_unit where unit_id = %s", (unit,)) == "task":
        other = "wil"
    if action in ("pause", "resume") and unit & 0xFFFFF == 0:
        return engine.one(f"select fn_run_{action}(1, %s, %s)", (run, person))
    if action == "signal":
        return engine.one("select accepted from fn_signal(1, %s, 'a.b', '{}', 'k', %s)", (run, person))
    if action == "label":
        labels = Jsonb({"a": "b"})
        return engine.one("select run_id from fn_run_label(1, %s::bigint[], %s, %s)", ([run], labels, person))
    if action in ("retry", "cancel"):
        is_run = engine.one("select scope = 'workflow_run' from work_unit where unit_id = %s", (unit,))
        if not is_run:
            return engine.one(f"select fn_job_{action}(1, %s, %s)", (unit, person))
        if action == "retry":
            return engine.one("select fn_run_retry(1, %s, %s)", (run, person))
        given = Jsonb({} if approval is None else {"approval_id": int(approval)})
        return engine.one("select fn_run_cancel(1, %s, %s, 'no', %s)", (run, person, given))
    soon = clock.now() + timedelta(hours=1)
    number = None if approval is None else int(approval)
    match action:
        case "assign":
            return people.assign(unit, other, person)
        case "complete":
            return people.complete(unit, person, {})
        case "escalate_block":
            return people.block_escalate(unit, person, "now", number)
        case "reopen":
            return people.reopen_for_correction(unit, person, "data_error", number)
    given_by = {
        "claim": (), "release": (), "escalate": (), "wait": (["waiting_external"],), "resume": ("mail:1",),
        "block": ("missing_iu",), "unblock": ("mail:1",), "delegate": (other,), "deadline_change": (soon,),
        "cannot_complete": ("mail:1",), "comment": ("well",),
    }  # fmt: skip
    name = {"deadline": "deadline_change"}.get(action, action)
    return getattr(people, name)(unit, person, *given_by[name])


@contextmanager
def _undone(engine: Engine) -> Iterator[None]:
    engine.db.execute("savepoint before")
    try:
        yield
    finally:
        engine.db.execute("rollback to savepoint before")


def _events(engine: Engine) -> int:
    found: int = engine.one("select count(*) from event_log")
    return found


def _actions(engine: Engine, unit: int, person: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = engine.one("select fn_actions_read(1, %s, %s)", (unit, person))
    return found


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda made: made.__name__.strip("_"))
def test_what_is_said_to_be_allowed_is_exactly_what_the_call_accepts(
    engine: Engine, people: People, clock: Clock, situation: Situation
):
    people.add("dan", "office")
    people.add("olga", "operator")
    people.add("wil", "warehouse")
    unit = situation(engine, people, clock)
    wrong = []
    with engine.db.transaction():
        for person in PERSONS:
            for found in _actions(engine, unit, person):
                granted = (found["approval"] or {}).get("granted")
                before, problem = _events(engine), None
                with _undone(engine):
                    try:
                        _call(engine, people, clock, found["action"], unit, person, granted)
                    except psycopg.Error as error:
                        problem = str(error.diag.message_primary)
                        engine.db.execute("rollback to savepoint before")
                    happened = _events(engine) > before
                if found["allowed"] != happened:
                    wrong.append((person, found["action"], found["reason"], problem))
                if not found["allowed"]:
                    assert found["reason"]["kind"] in ("rights", "state", "person", "approval"), found
                    assert unreadable(engine, found["reason"]["en"]) == []
    assert wrong == []


def test_a_run_whose_cancel_needs_an_approval_names_the_open_one(engine: Engine, people: People):
    people.add("olga", "operator")
    engine.db.execute(
        "update dot_config set config_value = 'true' where config_key like 'approval.required.%'"
    )
    run = _sign(engine) >> 20
    cancel = next(one for one in _actions(engine, run << 20, "ben") if one["action"] == "cancel")
    assert cancel["approval"] == {"action": "workflow_cancel", "granted": None, "open": None}
    assert (cancel["allowed"], cancel["reason"]["kind"]) == (False, "approval")
    approval = engine.one("select fn_approval_request(1, 'workflow_cancel', %s, 'ada')", (run << 20,))
    cancel = next(one for one in _actions(engine, run << 20, "ben") if one["action"] == "cancel")
    assert cancel["approval"]["open"] == str(approval)
    engine.one(deciding("approve", "ben"), (approval,))
    cancel = next(one for one in _actions(engine, run << 20, "olga") if one["action"] == "cancel")
    assert (cancel["allowed"], cancel["approval"]["granted"]) == (True, str(approval))


def test_a_token_narrowed_to_other_verbs_may_do_nothing(engine: Engine, people: People):
    unit = _sign(engine)
    for verbs, allowed in ((["read"], []), (["read", "step.work"], ["claim", "comment", "escalate"])):
        narrowed = token(engine.db, 1, "ada", ("office",), verbs=verbs)
        with as_role(engine.db, "stepwell_api", narrowed):
            found = _actions(engine, unit, "ada")
        assert sorted(one["action"] for one in found if one["allowed"]) == allowed
        assert {one["reason"]["kind"] for one in found if one["action"] == "cancel"} == {"rights"}
    with as_role(engine.db, "stepwell_api", token(engine.db, 1, "ada", ("office",))):  # noqa: SIM117
        with refused("SW007"):
            _actions(engine, unit, "ben")


def test_every_call_on_a_unit_has_a_label_in_two_languages(engine: Engine):
    rows = engine.db.execute(
        "select a.action from unit_action as a cross join (values ('en'), ('vi')) as l (lang)"
        " where not exists (select from i18n_text as t"
        " where t.text_key = 'action.' || a.action and t.lang = l.lang)"
    ).fetchall()
    assert rows == []
