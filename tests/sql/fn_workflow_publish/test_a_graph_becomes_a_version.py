"""Publishing: the same graph keeps its version, another graph is the next version, a bad graph is refused."""

from __future__ import annotations

import hashlib

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, human, operation


def test_the_same_graph_is_the_same_version(engine: Engine):
    assert engine.publish("w", operation("a")) == 1
    assert engine.publish("w", operation("a")) == 1
    assert engine.publish("w", operation("a"), operation("b")) == 2
    assert engine.one("select count(*) from workflow_version") == 2
    assert engine.one("select count(*) from event_log where event_type = 'workflow.published'") == 2


def test_the_hash_is_that_of_the_stored_graph_whatever_the_client_says(engine: Engine):
    """Two graphs of one name are two versions, also when both claim one hash; the claim is stored nowhere."""
    told = {"graph_hash": "0" * 64, "hash": "0" * 64}
    assert engine.publish("w", operation("a"), **told) == 1
    assert engine.publish("w", operation("a"), operation("b"), **told) == 2
    versions = engine.db.execute(
        "select graph_hash, graph::text from workflow_version order by version_no"
    ).fetchall()
    assert [said for said, _ in versions] == [
        hashlib.sha256(text.encode()).hexdigest() for _, text in versions
    ]
    assert len({said for said, _ in versions}) == 2
    hashes = (
        "select payload ->> 'hash' from event_log where event_type = 'workflow.published' order by event_id"
    )
    assert [said for (said,) in engine.db.execute(hashes)] == [said for said, _ in versions]


def test_each_workflow_has_its_own_version_numbers(engine: Engine):
    assert [engine.publish(name, operation("a")) for name in ("one", "two")] == [1, 1]


@pytest.mark.requirement("LN-02")
def test_a_run_keeps_its_version_and_needs_no_memory_of_a_process(engine: Engine, dsn: str):
    """Another process continues the run; the stored document of the graph is not read any more."""
    engine.publish("w", operation("a"), operation("b"))
    run_id = engine.start("w")
    engine.publish("w", operation("other"))
    engine.db.execute("update workflow_version set graph = '{}'")
    with psycopg.connect(dsn, autocommit=True, options="-csearch_path=stepwell") as connection:
        elsewhere = Engine(connection)
        assert elsewhere.drain(elsewhere.worker()) == 2
    assert engine.run_state(run_id) == "completed"
    assert engine.one("select version_no from workflow_run where run_id = %s", (run_id,)) == 1


@pytest.mark.parametrize(
    ("steps", "word"),
    [
        ([], "at least one step"),
        ([operation("a", executor="gpu")], "gpu is not registered"),
        ([operation("a", inputs={"x": "$.("})], "a"),
        ([human("a", postcondition="$.output.(")], "step a, postcondition: $.output.( is not"),
        ([human("a", tasks=[{"id": "t", "when": "=="}])], "step a, tasks.t.when: == is not"),
    ],
)
def test_a_bad_graph_is_refused_and_the_error_names_the_fault(engine: Engine, steps, word: str):
    with pytest.raises(psycopg.Error) as caught:
        engine.publish("w", *steps)
    assert caught.value.sqlstate == "SW001"
    assert word in str(caught.value)
    assert engine.one("select count(*) from workflow_registry") == 0


@pytest.mark.requirement("RU-06")
def test_a_cycle_is_named(engine: Engine):
    with pytest.raises(psycopg.Error, match=r"cycle (a → b → a|b → a → b)"):
        engine.publish("w", operation("a"), operation("b"), edges=[("a", "b"), ("b", "a")])


@pytest.mark.requirement("JW-04")
def test_an_executor_that_is_not_registered_is_refused_everywhere(engine: Engine):
    register = "select fn_operation_register(1, %s)"
    calls = [
        (register, (Jsonb([{"name": "x", "executor": "gpu"}]),)),
        ("select fn_worker_register('w', array['gpu'], 1)", ()),
    ]
    for query, parameters in calls:
        with pytest.raises(psycopg.Error) as caught:
            engine.db.execute(query, parameters)
        assert (caught.value.sqlstate, "gpu" in str(caught.value)) == ("SW001", True)
    engine.db.execute("insert into executor_class (class_name, description) values ('gpu', 'graphics')")
    for query, parameters in calls:
        engine.db.execute(query, parameters)
    assert engine.publish("w", operation("a", executor="gpu")) == 1


@pytest.mark.parametrize("name", ["mot", "mot_template", "mot:x"])
def test_the_template_generator_cannot_be_an_executor(db: psycopg.Connection, name: str):
    with pytest.raises(psycopg.errors.CheckViolation):
        db.execute("insert into executor_class (class_name, description) values (%s, 'x')", (name,))
