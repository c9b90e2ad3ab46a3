"""Labels of runs: set at the start, by a handler, by a person; each change is one event."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.binding import as_role, token
from tests.sql.drive import Engine, operation

# It measures what is read, which depends on what former tests left in the files.
pytestmark = pytest.mark.new_database


@pytest.fixture
def run_id(engine: Engine) -> int:
    engine.publish("w", operation("a"))
    return engine.start("w")


def label(engine: Engine, run_id: int, labels: object) -> dict[str, str]:
    return engine.one("select labels from fn_run_label(1, %s, %s, 'ada')", ([run_id], Jsonb(labels)))


def labelled(engine: Engine, run_id: int) -> list[object]:
    rows = engine.db.execute(
        "select payload from event_log where event_type = 'workflow.labelled' and run_id = %s"
        " order by event_id",
        (run_id,),
    )
    return [payload for (payload,) in rows]


def test_each_change_is_one_event_and_a_repeat_none(engine: Engine, run_id: int):
    assert label(engine, run_id, {"customer": "Acme", "order": "17"}) == {"customer": "Acme", "order": "17"}
    assert label(engine, run_id, {"customer": "Acme", "order": None, "gone": None}) == {"customer": "Acme"}
    assert label(engine, run_id, {"customer": "Acme"}) == {"customer": "Acme"}
    assert labelled(engine, run_id) == [
        {"set": {"customer": "Acme", "order": "17"}, "removed": []},
        {"set": {}, "removed": ["order"]},
    ]


def test_a_run_without_labels_has_no_row(engine: Engine, run_id: int):
    assert engine.one("select count(*) from run_label") == 0
    assert labelled(engine, run_id) == []


def test_a_handler_labels_its_run_only_with_its_lease(engine: Engine, run_id: int):
    session = engine.worker()
    (lease,) = engine.claim(session)
    call = 'select fn_run_label_here(%s, 1, %s, %s, \'{"customer": "Acme"}\')'
    assert engine.one(call, (session, lease.unit_id, lease.lease_no)) == {"customer": "Acme"}
    engine.complete(session, lease)
    with pytest.raises(psycopg.Error) as caught:
        engine.one(call, (session, lease.unit_id, lease.lease_no))
    assert caught.value.sqlstate == "SW005"


def test_only_a_new_run_is_labelled_by_its_start(engine: Engine, run_id: int):
    start = """select run_id, is_new from fn_run_start_labelled(%s, 1, 'w', %s::jsonb[], array['x', 'y'],
        p_actor => 'test')"""
    first = engine.db.execute(start, (Jsonb({"a": "1"}), ["{}", "{}"])).fetchall()
    again = engine.db.execute(start, (Jsonb({"a": "3"}), ["{}", "{}"])).fetchall()
    assert [row[0] for row in again] == [row[0] for row in first]
    assert [row[1] for row in first + again] == [True, True, False, False]
    assert engine.one("select array_agg(label_key || label_value order by run_id) from run_label") == [
        "a1",
        "a1",
    ]


@pytest.mark.parametrize(
    ("labels", "field"),
    [
        ({"Customer": "x"}, "labels.Customer"),
        ({"": "x"}, "labels."),
        ({"a": ""}, "labels.a"),
        ({"a": "x" * 201}, "labels.a"),
        ({"a": "two\nlines"}, "labels.a"),
        ({"a": 5}, "labels.a"),
        (["a"], "labels"),
    ],
)
def test_a_bad_label_is_refused_by_its_name(engine: Engine, run_id: int, labels: object, field: str):
    with pytest.raises(psycopg.Error) as caught:
        label(engine, run_id, labels)
    assert (caught.value.sqlstate, caught.value.diag.column_name) == ("SW001", field)


def test_one_label_too_many_is_refused_and_nothing_is_written(
    engine: Engine, run_id: int
):  # limits.labels_per_run
    label(engine, run_id, {f"k{at}": "x" for at in range(16)})
    with pytest.raises(psycopg.Error) as caught:
        label(engine, run_id, {"one_more": "x"})
    assert caught.value.sqlstate == "SW006"
    assert engine.one("select count(*) from run_label") == 16
    assert len(label(engine, run_id, {"k0": None, "one_more": "x"})) == 16


def test_a_secret_is_not_stored(engine: Engine, run_id: int):
    assert label(engine, run_id, {"password": "hunter22", "note": "Bearer abcdefghijkl"}) == {
        "password": "[redacted]",
        "note": "Bearer [redacted]",
    }
    assert "hunter22" not in engine.one("select string_agg(payload::text, '') from event_log")


def test_who_may_not_label_is_refused(engine: Engine, run_id: int):
    text = token(engine.db, 1, "eve", roles=())
    with pytest.raises(psycopg.Error) as caught, as_role(engine.db, "stepwell_api", text):
        engine.db.execute("select stepwell.fn_run_label(1, %s, '{\"a\": \"b\"}', 'api:eve')", ([run_id],))
    assert caught.value.sqlstate == "SW007"


def test_a_run_that_does_not_exist_is_named(engine: Engine, run_id: int):
    with pytest.raises(psycopg.Error) as caught:
        label(engine, 99, {"a": "b"})
    assert caught.value.sqlstate == "SW002"
    assert "run 99" in caught.value.diag.message_primary


def test_runs_are_found_by_label_through_the_index(engine: Engine, run_id: int):
    engine.db.execute("set enable_seqscan = off")
    plan = "\n".join(
        line
        for (line,) in engine.db.execute(
            """explain select run_id from run_label
               where tenant_id = 1 and label_key = 'customer' and label_value = 'Acme'
               order by run_id desc limit 20"""
        )
    )
    assert "runs_by_label" in plan
    assert "Sort" not in plan
