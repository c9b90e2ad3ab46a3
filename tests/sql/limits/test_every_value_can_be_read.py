"""A value that some worker cannot read is refused where it is given, or fails its own step; others go on.

A worker receives the values of many units in one answer. Its parser of JSON refuses lists that are nested too
deep and numbers with too many digits; PostgreSQL stores both, and sends 1e100000 with all its zeros.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from tests.sql.drive import Engine, operation, wait
from tests.support.databases import Databases
from tests.support.sample import sample

DEEP = "nested too deep; at most 64 levels are accepted"
LONG = "at most 1000 digits are accepted"
LARGE = "at most 1048576 bytes are accepted"
# name → (a JSON text, the reason): limits.number_digits, limits.payload_bytes
UNREADABLE = {
    "nested lists": ("[" * 66 + "1" + "]" * 66, DEEP),
    "nested objects": ('{"a":' * 66 + "1" + "}" * 66, DEEP),
    "nested very deep": ("[" * 3000 + "]" * 3000, DEEP),
    "a number with an exponent": ("1e1001", LONG),
    "a negative number": ("-1e131071", LONG),
    "a small number": ("1e-16000", LONG),
    "a number with all its digits": ("7" * 1001, LONG),
    "many numbers with exponents": (json.dumps([0] * 20_000).replace("0", "1e131071"), LARGE),
}
READABLE = {
    "nested": "[" * 60 + "]" * 60,
    "a long number": "7" * 1000,
    "a long text of digits": '"' + "7" * 5000 + '"',
    "a text with brackets": '"' + "[" * 500 + '"',
    "many short numbers": json.dumps(list(range(5000))),
}


def enqueue(engine: Engine, text: str) -> None:
    engine.db.execute("select fn_job_enqueue(1, 'op', array[jsonb_build_object('x', %s::jsonb)])", (text,))


def start(engine: Engine, text: str) -> None:
    engine.db.execute("select fn_run_start(1, 'w', array[jsonb_build_object('x', %s::jsonb)])", (text,))


def signal(engine: Engine, text: str) -> None:
    engine.db.execute("select fn_signal(1, %s, 'e', %s::jsonb, 'k')", (engine.start("w"), text))


def schedule(engine: Engine, text: str) -> None:
    engine.db.execute(
        "select fn_schedule_set(1, 's', 'w', '* * * * *', 'UTC', jsonb_build_object('x', %s::jsonb),"
        " 'skip', 1, now(), 'client')",
        (text,),
    )


def checkpoint(engine: Engine, text: str) -> None:
    engine.enqueue("op")
    session = engine.worker()
    (held,) = engine.claim(session, 1)
    engine.db.execute(
        "select fn_checkpoint_save(%s, 1, %s, %s, 'c', %s::jsonb)",
        (session, held.unit_id, held.lease_no, text),
    )


DOORS: list[Callable[[Engine, str], None]] = [enqueue, start, signal, schedule, checkpoint]


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_a_value_that_cannot_be_read_is_refused(engine: Engine, door: Callable[[Engine, str], None]):
    engine.publish("w", wait("a", "e"))
    for name, (text, reason) in UNREADABLE.items():
        with pytest.raises(psycopg.Error, match=reason) as error, engine.db.transaction():
            door(engine, text)
        assert error.value.sqlstate == "SW006", name
    for text in READABLE.values():
        with engine.db.transaction(force_rollback=True):
            door(engine, text)


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_result_that_cannot_be_read_fails_its_own_step(engine: Engine, name: str):
    text, reason = UNREADABLE[name]
    engine.publish("w", operation("a"), operation("b", inputs={"x": "$.steps.a.output"}))
    runs = [engine.start("w"), engine.start("w")]
    session = engine.worker()
    bad, good = engine.claim(session)
    leases = engine.db.execute(
        "select unit_id, octet_length(bound_input::text) from fn_job_report(%s, array[1, 1], %s, %s,"
        " array['completed', 'completed'], array[%s, '1'], 10) where row_kind = 'lease'",
        (session, [bad.unit_id, good.unit_id], [bad.lease_no, good.lease_no], text),
    ).fetchall()
    assert leases == [(engine.unit(runs[1], "b"), len('{"x": 1}'))]
    assert engine.states(runs[0])["a"] == "cannot_complete"
    failure_class, message = engine.db.execute(
        "select failure_class, error ->> 'message' from unit_failure"
    ).fetchone()  # type: ignore[misc]
    assert failure_class == "result_too_large"
    assert reason in message
    assert engine.faults() == {}


@pytest.mark.parametrize("name", READABLE)
def test_a_result_that_can_be_read_is_kept(engine: Engine, name: str):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    session = engine.worker()
    (held,) = engine.claim(session)
    engine.complete(session, held, output=json.loads(READABLE[name]))
    assert engine.run_state(run_id) == "completed"


def test_an_expression_makes_no_number_that_cannot_be_read(engine: Engine):
    engine.publish("w", operation("a", inputs={"x": "$.input.n * $.input.n"}))
    engine.db.execute("select fn_run_start(1, 'w', array['{\"n\": 1e900}'::jsonb])")
    (held,) = engine.claim(engine.worker())
    assert held.bound_input == (
        "inputs.x: $.input.n * $.input.n: a number is too long; at most 1000 digits are accepted:"
        " give it as a text"
    )


def test_a_composed_result_is_measured_as_it_is_sent(engine: Engine):
    """Two outputs of 40 numbers with 1,000 digits each are short where they are stored."""
    engine.publish(
        "w",
        {"id": "m", "kind": "map", "over": "$.input.list", "reads": []},
        operation("each", scope=1),
        edges=[],
    )
    engine.db.execute(
        "update dot_config set config_value = '70000' where config_key = 'limits.composed_result_bytes'"
    )
    run_id = engine.start("w", {"list": [1, 2]})
    session = engine.worker()
    leases = engine.claim(session)
    text = "[" + ",".join(["1e998"] * 40) + "]"
    engine.db.execute(
        "select count(*) from fn_job_report(%s, array[1, 1], %s, %s, array['completed', 'completed'],"
        " array[%s, %s])",
        (session, [one.unit_id for one in leases], [one.lease_no for one in leases], text, text),
    )
    assert engine.states(run_id)["m"] == "cannot_complete"
    assert engine.one("select failure_class from unit_failure") == "result_too_large"


numbers = st.integers(-(10**1100), 10**1100).map(str) | st.builds(
    "{}e{}".format, st.integers(-99, 99), st.integers(-2000, 2000)
)
# JSON texts, because Python has no number such as 1e2000.
texts = st.recursive(
    numbers | st.sampled_from(["null", "true", '"[[[["', '"' + "7" * 1100 + '"']),
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda found: "[" + ",".join(found) + "]")
        | inner.map('{{"k":{}}}'.format)
    ),
    max_leaves=20,
)


@pytest.fixture(scope="module")
def shared(databases: Databases, template: str) -> Iterator[Engine]:
    with (
        databases.fresh(template) as dsn,
        psycopg.connect(dsn, autocommit=True, options="-csearch_path=stepwell,public") as db,
    ):
        yield Engine(db)


@sample(50)
@given(text=texts, depth=st.integers(0, 80))
def test_what_is_accepted_can_be_read(shared: Engine, text: str, depth: int):
    row = shared.db.execute(
        "select _values_problem('x', array[v]), v::text from (select %s::jsonb as v) as q",
        ("[" * depth + text + "]" * depth,),
    ).fetchone()
    assert row is not None
    problem, sent = row
    if problem is None:
        from_json(sent)
    else:
        assert problem.startswith("x: ")
