"""Every row `limits.…` of dot_config has a test that exceeds it: here, or where its subject is tested."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

import stepwell as sw
from tests.sql.drive import Engine, human, operation, subworkflow
from tests.sql.graphs.publishing import publish
from tests.sql.job_graphs.graphing import emit, job, register
from tests.worker.acting import put_in_force, rule

TESTS = Path(__file__).parents[2]


def limit(engine: Engine, name: str, value: int) -> None:
    changed = engine.db.execute(
        "update dot_config set config_value = %s where config_key = %s", (Jsonb(value), f"limits.{name}")
    )
    assert changed.rowcount == 1, name


def lease(engine: Engine) -> tuple[int, Any]:
    engine.enqueue("op")
    session = engine.worker()
    (found,) = engine.claim(session, 1)
    return session, found


def save(engine: Engine, session: int, held: Any, name: str, value: Any) -> None:
    engine.one(
        "select fn_checkpoint_save(%s, 1, %s, %s, %s, %s)",
        (session, held.unit_id, held.lease_no, name, Jsonb(value)),
    )


def checkpoint_bytes(engine: Engine) -> None:
    save(engine, *lease(engine), "a", "x" * 200)


def checkpoint_count(engine: Engine) -> None:
    session, held = lease(engine)
    for name in ("a", "a", "b"):
        save(engine, session, held, name, 1)


def tasks_per_step(engine: Engine) -> None:
    tasks = [{"id": f"t{number}", "title": "T"} for number in range(2)]
    engine.publish("w", human("h", tasks=tasks))


def write_content(body: str, items: list[str] | None = None) -> Callable[[Engine], None]:
    def act(engine: Engine) -> None:
        engine.one("select fn_content_write(1, 'c', %s, 'ada', '{}', %s)", (body, items))

    return act


def cut_parts(engine: Engine) -> None:
    engine.one("select fn_content_write(1, 'c', 'abc', 'ada')")
    parts = '[{"code": "x", "body": "a"}, {"code": "y", "body": "b"}, {"code": "z", "body": "c"}]'
    engine.one("select fn_iu_op_split(1, 'c', %s, 'ada')", (parts,))


def comment(count: int) -> Callable[[Engine], None]:
    def act(engine: Engine) -> None:
        engine.one("select fn_person_set(1, 'ada', '{office}')")
        engine.publish("h", human("sign", role="office"))
        unit_id = engine.start("h") << 20 | 1
        for _ in range(count):
            engine.one("select fn_step_comment(1, %s, 'ada', %s)", (unit_id, "x" * 200))

    return act


def event_types(engine: Engine) -> None:
    for name in ("order.paid", "order.sent"):
        engine.one("select fn_event_type_register(1, %s)", (name,))


def calendar_days(engine: Engine) -> None:
    hours = Jsonb([{"weekday": 1, "opens": "09:00", "closes": "10:00"}])
    engine.one("select fn_calendar_set(1, 'c', 'UTC', %s)", (hours,))
    engine.one("select _calendar_add(1, 'c', stepwell.now(), 36000)")


def routes(engine: Engine) -> None:
    for name in ("one", "two"):
        engine.one("select fn_event_route_set(1, %s, 'seen', 'op', p_actor => 'ada')", (name,))


def emit_with(engine: Engine, value: Any) -> None:
    register(engine, "t", job("a"), params={"some": {}})
    emit(engine, "t", {"some": value})


# name → (the limit that is set, what exceeds it, what the refusal says)
def worker_stops(engine: Engine) -> None:
    engine.db.execute("select fn_executor_freeze(1, 'default', 'ada', 'x')")
    engine.db.execute("select fn_executor_freeze(1, 'process', 'ada', 'x')")


def summaries(engine: Engine) -> None:
    """Two summaries of two people about one worker."""
    engine.enqueue("op")
    number = engine.session_id(engine.worker())
    for actor in ("ada", "ben"):
        engine.one(
            "select fn_summary_write(1, %s, 'worker', %s, 'yellow', 'slow', null, 1, 1, array["
            "(select concat_ws(':', 'event', run_id, event_id) from event_log order by event_id limit 1)],"
            " stepwell.now() - interval '1 hour', stepwell.now(), '1', 1)",
            (actor, str(number)),
        )


REFUSED: dict[str, tuple[int, Callable[[Engine], object], str]] = {
    "summaries_per_tenant": (1, summaries, "at most 1 summaries"),
    "worker_stops": (1, worker_stops, "at most 1 workers and executors"),
    "bundle_items": (1, write_content("b", ["a", "b"]), "items: at most 1 are accepted"),
    "calendar_days": (2, calendar_days, "within 2 days"),
    "checkpoint_bytes": (100, checkpoint_bytes, "at most 100 bytes"),
    "checkpoint_count": (1, checkpoint_count, "at most 1 are accepted"),
    "comment_bytes": (100, comment(1), "at most 100 bytes"),
    "comments_per_step": (1, comment(2), "1 comments; that is the limit"),
    "content_bytes": (10, write_content("x" * 11), "at most 10 bytes"),
    "cut_parts": (2, cut_parts, "parts: at most 2 are accepted"),
    "enqueue_batch": (1, lambda e: e.enqueue("op", 2), "at most 1 are accepted"),
    "event_routes": (1, routes, "at most 1 routes are accepted"),
    "event_types_per_tenant": (1, event_types, "at most 1 types are accepted"),
    "expression_bytes": (
        10,
        lambda e: publish(e, sw.Map("$.input.a_long_name", sw.Operation("op", id="o"))),
        "at most 10 are accepted",
    ),
    "job_delay_seconds": (
        10,
        lambda e: register(e, "t", job("a", delay_seconds=11)),
        "delay_seconds: 0 to 10 is accepted",
    ),
    "link_seconds": (
        10,
        lambda e: e.one("select link from fn_link_create(1, 'ada', p_expires_seconds => 11)"),
        "expires_seconds: 1 to 10 are accepted",
    ),
    "signal_bytes": (100, lambda e: emit_with(e, ["x" * 60] * 2), "at most 100 bytes"),
    "signal_value_bytes": (10, lambda e: emit_with(e, {"a": ["x" * 11]}), "at most 10 bytes"),
    "start_batch": (
        1,
        lambda e: e.one("select fn_run_start(1, 'w', array['{}'::jsonb, '{}'])"),
        "at most 1 are accepted",
    ),
    "step_count": (1, lambda e: e.publish("two", operation("a"), operation("b")), "at most 1 are accepted"),
    "tasks_per_step": (1, tasks_per_step, "at most 1 are accepted"),
    "token_seconds": (
        10,
        lambda e: e.one("select _token_check(1, 1, 'a script', 11, null, 'api')"),
        "expires_seconds: 1 to 10 are accepted",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_value_above_a_limit_is_refused(engine: Engine, name: str):
    engine.publish("w", operation("a"))
    value, exceed, said = REFUSED[name]
    limit(engine, name, value)
    with pytest.raises(psycopg.Error, match=said) as error:
        exceed(engine)
    assert str(error.value.sqlstate) in ("SW001", "SW006")


def test_a_long_idempotency_key_is_refused(engine: Engine):  # limits.idempotency_key_bytes
    limit(engine, "idempotency_key_bytes", 5)
    session, held = lease(engine)
    action = {"connector": "c", "operation": "o", "target": "t", "call": "x", "fields": {}, "key": "k" * 6}
    with pytest.raises(psycopg.Error, match="1 to 5 bytes"):
        engine.one(
            "select fn_action_propose(%s, 1, %s, %s, %s)",
            (session, held.unit_id, held.lease_no, Jsonb(action)),
        )


def test_one_write_too_many_is_denied(engine: Engine):  # limits.writes_per_run
    put_in_force(engine.db, rule("free", "allow"))
    limit(engine, "writes_per_run", 1)
    session, held = lease(engine)
    answers = []
    for number in range(2):
        action = {"connector": "c", "operation": "o", "target": f"t{number}", "call": "x", "fields": {}}
        said = engine.one(
            "select fn_action_propose(%s, 1, %s, %s, %s)",
            (session, held.unit_id, held.lease_no, Jsonb(action)),
        )
        answers.append((said["answer"], said.get("reason_code")))
    assert answers == [("go", "rule"), ("deny", "writes_exhausted")]


def test_a_policy_with_too_many_rules_is_refused(engine: Engine):  # limits.policy_rules
    limit(engine, "policy_rules", 1)
    rules = Jsonb([rule("a", "allow"), rule("b", "allow")])
    assert "1 to 1 rules" in engine.one("select problem from fn_policy_check(%s)", (rules,))


def test_a_map_with_too_many_items_fails(engine: Engine):  # limits.map_items
    publish(engine, sw.Map("$.input.items", sw.Operation("op", id="o"), id="m", mandatory=False))
    limit(engine, "map_items", 2)
    engine.start("w", {"items": [1, 2, 3]})
    error = engine.one("select error from unit_failure")
    assert "at most 2 are accepted" in error["message"]


def test_a_run_with_a_list_that_is_too_long_is_not_started(engine: Engine):
    publish(engine, sw.Map("$.input.items", sw.Operation("op", id="o"), id="m"))
    limit(engine, "map_items", 2)
    with pytest.raises(psycopg.Error, match=r"input: \$\.input\.items gives 3 items; at most 2") as error:
        engine.start("w", {"items": [1, 2, 3]})
    assert error.value.sqlstate == "SW006"
    assert engine.one("select count(*) from run_detail") == 0


def test_sub_workflows_that_are_nested_too_deep_fail(engine: Engine):  # limits.nesting
    engine.publish("w0", operation("a"))
    for number in range(1, 6):
        engine.publish(f"w{number}", subworkflow("below", f"w{number - 1}"))
    limit(engine, "nesting", 3)
    run = engine.start("w5")
    assert engine.run_state(run) == "failed"
    assert engine.one("select count(*) from run_detail") == 4


def test_a_composed_result_that_is_too_large_fails_its_map(engine: Engine):  # limits.composed_result_bytes
    publish(engine, sw.Map("$.input.items", sw.Operation("op", id="o"), id="m"))
    limit(engine, "composed_result_bytes", 100)
    run = engine.start("w", {"items": [1, 2, 3]})
    session = engine.worker()
    engine.complete(session, *engine.claim(session), output="x" * 90)
    assert engine.run_state(run) == "failed"


def test_a_long_error_is_shortened(engine: Engine):  # limits.error_bytes
    limit(engine, "error_bytes", 100)
    session, held = lease(engine)
    engine.report(
        session, (held, "failed", {"error": {"type": "E", "message": "m" * 1000, "trace": "t" * 9000}})
    )
    error = engine.one("select error from unit_failure")
    assert error == {"type": "E", "message": "m" * 25, "is_cut": True}


def test_a_page_has_no_more_rows_than_the_limit(engine: Engine):  # limits.page_size
    engine.publish("h", human("a"))
    for _ in range(3):
        engine.start("h")
    limit(engine, "page_size", 2)
    assert len(engine.db.execute("select * from fn_inbox_read(1, null, null, 100)").fetchall()) == 2


def test_a_sweep_removes_no_more_than_the_limit(engine: Engine, clock):  # limits.retention_batch
    engine.publish("w", operation("a"))
    for _ in range(3):
        engine.start("w")
    engine.drain(engine.worker())
    clock.advance(days=4000)
    limit(engine, "retention_batch", 2)
    engine.one("select count(*) from fn_retention_sweep()")
    assert engine.one("select count(*) from run_detail") == 1


def test_every_limit_has_a_test_that_exceeds_it(engine: Engine):
    """Without a test that exceeds it, nothing shows that a limit is enforced."""
    texts = "".join(path.read_text() for path in TESTS.rglob("*.py"))
    names = [
        row[0]
        for row in engine.db.execute("select config_key from dot_config where config_key like 'limits.%'")
    ]
    assert len(names) > 20
    untested = [name for name in names if name not in texts and name.removeprefix("limits.") not in REFUSED]
    assert untested == []
