"""Steps without a successor are marked when a graph is stored: their outputs are the result of a run."""

from __future__ import annotations

from importlib.resources import files

import pytest

from tests.sql.drive import Engine, operation

MARKED = (
    "select v.version_id, d.step_id from workflow_step_def as d"
    " inner join workflow_version as v using (tenant_id, version_id) where d.is_last order by 1, 2"
)


@pytest.fixture
def published(engine: Engine) -> Engine:
    engine.publish("chain", operation("a"), operation("b"), operation("c"))
    engine.publish("fork", operation("a"), operation("b"), operation("c"), edges=[("a", "b"), ("a", "c")])
    engine.publish("parallel", operation("a"), operation("b"), edges=[])
    return engine


def marked(engine: Engine) -> list[str]:
    return [step_id for _, step_id in engine.db.execute(MARKED).fetchall()]


def test_the_steps_without_successor_are_marked_in_each_graph(published: Engine):
    assert marked(published) == ["c", "b", "c", "a", "b"]


def test_a_graph_stored_before_the_mark_existed_is_marked_by_the_migration(published: Engine):
    before = marked(published)
    published.db.execute("update workflow_step_def set is_last = false")
    text = (files("stepwell") / "sql/migrations/0019_last_steps.sql").read_text()
    (statement,) = [part for part in text.split(";") if "update" in part]
    published.db.execute(statement)
    assert marked(published) == before


def test_the_result_of_several_last_steps_is_an_object_of_the_completed_ones(published: Engine):
    session_key = published.worker()
    run_id = published.start("fork")
    published.drain(session_key)
    result = "select _run_result(1, %s)"
    assert published.one(result, (run_id,)) == {"b": {"ok": True}, "c": {"ok": True}}
    other = published.start("fork")
    (first,) = published.claim(session_key)
    leases = {
        lease.step_id: lease
        for lease in published.report(session_key, (first, "completed", 1), claim_limit=9)
    }
    published.complete(session_key, leases["b"], output=[1])
    published.kill(session_key, leases["c"])
    assert published.run_state(other) == "failed"
    assert published.one(result, (other,)) == [1]
