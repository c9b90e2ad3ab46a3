"""A refusal is a sentence for people: it names the unit and what would help, and is never only a code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from stepwell.errors import Refused, from_database
from tests.sql.drive import Engine, human, operation
from tests.sql.people.asking import People, refused, unreadable
from tests.support.deciding import deciding

NOBODY = (9 << 20) + 7
LATER = datetime(2099, 1, 1, tzinfo=UTC)

# The calls of people on a step or task: the name after fn_step_ → the arguments.
CALLS: dict[str, tuple[Any, ...]] = {
    "claim": ("{actor}",),
    "release": ("{actor}", "why"),
    "assign": ("ada", "{actor}"),
    "delegate": ("{actor}", "dan"),
    "complete": ("{actor}", {"amount": 1}),
    "cannot_complete": ("{actor}", "mail:1"),
    "wait": ("{actor}", ["waiting_human"]),
    "resume": ("{actor}", "mail:1"),
    "block": ("{actor}", "missing_iu"),
    "unblock": ("{actor}", "mail:1"),
    "block_escalate": ("{actor}",),
    "escalate": ("{actor}",),
    "deadline_change": ("{actor}", LATER),
    "reopen_for_correction": ("{actor}", "wrong_output", NOBODY),
}


@pytest.fixture
def units(engine: Engine, people: People) -> dict[str, int]:
    """A human step in each state that a person can cause, and units that are no work of people."""
    people.add("dan", "office")
    form = {"type": "object", "required": ["amount"], "properties": {"amount": {"type": "number"}}}
    tasks = [{"id": "photo", "title": "Take a photo"}]
    engine.publish("w", human("sign", role="office", form=form, tasks=tasks))
    engine.publish("machines", operation("pack"))

    def sign(*calls: tuple[str, Any]) -> int:
        unit = engine.unit(engine.start("w"), "sign")
        for name, arguments in calls:
            getattr(people, name)(unit, "ada", *arguments)
        return unit

    ready = sign()
    found = {
        "ready": ready,
        "task": engine.one("select min(unit_id) from task_detail where step_run_id = %s", (ready,)),
        "in_progress": sign(("claim", ())),
        "waiting": sign(("claim", ()), ("wait", (["waiting_human"],))),
        "blocked": sign(("claim", ()), ("block", ("missing_iu",))),
        "cannot_complete": sign(("claim", ()), ("cannot_complete", ("mail:1",))),
        "worker": engine.unit(engine.start("machines"), "pack"),
        "job": engine.enqueue("mail.send")[0],
        "nobody": NOBODY,
    }
    paused, cancelled = sign(), sign()
    engine.one("select fn_run_pause(1, %s, 'cli:ben')", (paused >> 20,))
    engine.one("select fn_run_cancel(1, %s, 'cli:ben')", (cancelled >> 20,))
    return found | {"paused": paused, "cancelled": cancelled}


def refusal_of(engine: Engine, act: Callable[[], Any]) -> Iterator[psycopg.Error]:
    """The error of one call, if it is refused; the call is rolled back in any case."""
    try:
        with engine.db.transaction() as undo:
            act()
            raise psycopg.Rollback(undo)
    except psycopg.Error as error:
        yield error


def walk(engine: Engine, people: People, units: dict[str, int]) -> Iterator[tuple[str, psycopg.Error]]:
    for unit in units.values():
        for name, arguments in CALLS.items():
            for actor in ("ada", "ben", "cleo", "zed"):
                values = [actor if value == "{actor}" else value for value in arguments]
                for error in refusal_of(engine, lambda n=name, u=unit, v=values: getattr(people, n)(u, *v)):
                    yield f"{name} by {actor}", error
        for query in (
            "select fn_run_cancel(1, %s >> 20, 'cli:ben')",
            "select fn_run_pause(1, %s >> 20, 'cli:ben')",
            "select fn_run_resume(1, %s >> 20, 'cli:ben')",
            "select fn_run_retry(1, %s >> 20, 'cli:ben')",
            "select fn_job_cancel(1, %s, 'cli:ben')",
            "select fn_job_retry(1, %s, 'cli:ben')",
            "select * from fn_signal(1, %s >> 20, 'paid', '{}', null)",
            "select fn_approval_request(1, 'reopen', %s, 'ada')",
            deciding("approve", "ben"),
            "select fn_approval_withdraw(1, %s, 'ben')",
            "select fn_receipt_settle(1, %s, 'confirmed', 'ben', 'seen')",
            "select fn_receipt_reverse(1, %s, 'ben')",
            "select * from fn_why_not_running(%s, 1)",
        ):
            for error in refusal_of(engine, lambda q=query, u=unit: engine.db.execute(q, (u,))):
                yield query, error


def test_a_person_can_understand_every_refusal_of_a_call(
    engine: Engine, people: People, units: dict[str, int]
):
    approval = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada')", (units["ready"],))
    engine.one(deciding("approve", "ben"), (approval,))
    everything = list(walk(engine, people, units | {"approval": approval}))
    assert [
        f"{what}: {error}" for what, error in everything if (error.sqlstate or "")[:2] not in ("SW", "40")
    ] == []
    assert {f"{what}: {text}" for what, error in everything for text in unreadable(engine, error)} == set()
    codes = {code for _, error in everything for code in from_database(error).codes}
    assert {
        "actor_is_pic",
        "actor_oversees",
        "actor_is_responsible",
        "actor_takes_part",
        "reopen_approved",
    } <= {code.removeprefix("transition_refused_by_guard:") for code in codes}
    assert any(code.startswith("no_transition:") for code in codes)


def test_a_person_can_understand_every_refusal_of_a_transition(
    engine: Engine, people: People, units: dict[str, int]
):
    """Every unit × every state of its machine × every class of actor, as a dry run that the core refuses."""
    rows = engine.db.execute(
        """select l.lang, v.verdict -> 'problems', _refusal_sentence(u, s.state_code, array(
                select jsonb_array_elements_text(v.verdict -> 'problems')), '{"actor": "zed"}', l.lang)
        from work_unit as u
        inner join state_def as s on u.state_machine_id = s.state_machine_id
        cross join (select distinct actor_class from transition_rule) as a
        cross join (values ('en'), ('vi')) as l (lang)
        cross join lateral (select fn_state_transition_validate(u.unit_id, u.scope, u.state_code,
            s.state_code, a.actor_class, 'rpc', 'nothing', '{"actor": "zed"}', true, 1) as verdict) as v
        where u.unit_id = any (%s) and not (v.verdict ->> 'ok')::boolean""",
        (list(units.values()),),
    ).fetchall()
    assert len(rows) > 500
    bad = {text for _, _, text in rows if unreadable(engine, text)}
    assert bad == set()
    kinds = {problem.split(":")[0] for _, problems, _ in rows for problem in problems}
    assert {"no_transition", "trigger_must_be", "audit_ref_required", "transition_refused_by_guard"} <= kinds


def test_the_sentence_names_who_may_do_it_and_who_called(
    engine: Engine, people: People, units: dict[str, int]
):
    unit = units["in_progress"]
    with pytest.raises(psycopg.Error) as caught:
        people.complete(unit, "ben", {"amount": 1})
    error = from_database(caught.value)
    assert isinstance(error, Refused)
    assert error.message == (
        f"step 'sign' of run {unit >> 20}: only the person in charge (ada) can do this; you are ben"
    )
    assert error.codes == ("transition_refused_by_guard:actor_is_pic",)
    assert error.detail is None
    assert error.translations == {
        "vi": f"bước 'sign' của lượt chạy {unit >> 20}:"
        " chỉ người phụ trách (ada) được làm việc này; bạn là ben"
    }
    assert error.sentence().endswith("you are ben.")


def test_a_task_is_named_with_its_step_and_run(engine: Engine, people: People, units: dict[str, int]):
    task = units["task"]
    assert (
        engine.one("select _title_of(1, %s)", (task,)) == f"task 'photo' of step 'sign' of run {task >> 20}"
    )
    assert f"task 'photo' of step 'sign' of run {task >> 20}" in engine.why(task)[1]
    with refused("SW004", f"task 'photo' of step 'sign' of run {task >> 20}", "nobody is in charge of it"):
        people.complete(task, "ada")


def test_a_refused_state_change_names_both_states(engine: Engine, people: People, units: dict[str, int]):
    with refused("SW004", "cannot become in progress: it is cannot complete"):
        people.resume(units["cannot_complete"], "ben", "mail:1")


def test_the_refusal_of_a_custom_guard_uses_its_text(engine: Engine, people: People, units: dict[str, int]):
    engine.db.execute(
        "insert into guard_predicate (predicate_name, description, is_builtin)"
        " values ('moon_is_full', 'x', false)"
    )
    engine.db.execute(
        "insert into i18n_text (text_key, lang, text_value)"
        " values ('guard.moon_is_full', 'en', 'the moon is not full; {actor} must wait'),"
        " ('guard.moon_is_full', 'vi', 'trăng chưa tròn')"
    )
    with pytest.raises(psycopg.Error) as caught:
        engine.db.execute(
            "select _refuse(1, %s, 'completed', '{transition_refused_by_guard:moon_is_full}', %s)",
            (units["ready"], json.dumps({"actor": "ada"})),
        )
    assert "cannot become completed: the moon is not full; ada must wait" in str(caught.value)
    with pytest.raises(psycopg.Error) as caught:
        engine.db.execute(
            "select _refuse(1, %s, 'completed', %s, '{}')",
            (units["ready"], ["transition_refused_by_guard:$.input.amount > 5"]),
        )
    assert "the condition $.input.amount > 5 does not hold" in str(caught.value)
