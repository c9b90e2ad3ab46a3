"""After a retry by hand the log gives the state that is stored: decisions stay, and only steps that nothing
else blocks wait again.
"""

from __future__ import annotations

import pytest

from stepwell.define import (
    Conditional,
    Graph,
    Human,
    Operation,
    Parallel,
    Retry,
    Sequential,
    Workflow,
    freeze,
)
from stepwell.reactive import LogRow, Projection, UnitRow, call_events, paths_of
from tests.model.compare import WORDS, word
from tests.model.postgres_side import LOG
from tests.sql.drive import Engine
from tests.sql.graphs.publishing import leases, start

op = Operation


def rebuilt(engine: Engine, graph: Graph, run_id: int) -> dict[str, str]:
    return {path: word(status) for path, status in rebuilt_words(engine, graph, run_id).items()}


def rebuilt_words(engine: Engine, graph: Graph, run_id: int) -> dict[str, str]:
    units = engine.db.execute(
        "select unit_id, def_no, parent_id, item_no from work_unit where tenant_id = 1 and scope = 'step' "
        "and unit_id between %s and %s",
        (run_id << 20, (run_id + 1 << 20) - 1),
    ).fetchall()
    paths = paths_of(graph, [UnitRow(*row) for row in units])
    projection = Projection(graph)
    rows = [LogRow(*row) for row in engine.db.execute(LOG, (run_id,)).fetchall()]
    for event in call_events(graph, paths, rows):
        projection.append(event)
    return {path: str(status) for path, status in projection.statuses().items()}


def stored(engine: Engine, run_id: int) -> dict[str, str]:
    return {step: WORDS[state] for step, state in engine.states(run_id).items()}


def replay(engine: Engine, run_id: int, step: str) -> None:
    engine.person("ada")
    engine.one("select fn_job_retry(1, %s, 'ada', 'fixed the cause')", (engine.unit(run_id, step),))


@pytest.mark.requirement("RX-11")
def test_a_decision_stays_when_the_caught_step_is_retried(engine: Engine):
    root = Sequential(op("a"), Conditional("a", op("t"), op("e")), op("z"))
    graph = freeze(Workflow("tested", root))
    run_id = start(engine, root)
    session = engine.worker()
    engine.kill(session, leases(engine, session)["a"])
    engine.complete(session, leases(engine, session)["e"])
    replay(engine, run_id, "a")
    engine.drain(session)
    assert engine.states(run_id) == {
        "a": "completed", "if.t": "completed", "t": "skipped", "e": "completed", "z": "completed",
    }  # fmt: skip
    assert rebuilt(engine, graph, run_id) == stored(engine, run_id)
    assert engine.faults() == {}


@pytest.mark.requirement("RX-07")
def test_a_step_that_another_failure_blocks_stays_cancelled(engine: Engine):
    root = Sequential(Parallel(op("a"), op("b")), op("c"))
    graph = freeze(Workflow("tested", root))
    run_id = start(engine, root)
    session = engine.worker()
    leased = leases(engine, session)
    engine.kill(session, leased["a"], leased["b"])
    replay(engine, run_id, "a")
    engine.drain(session)
    assert engine.states(run_id) == {"a": "completed", "b": "cannot_complete", "c": "cancelled"}
    assert rebuilt(engine, graph, run_id) == stored(engine, run_id)
    assert engine.faults() == {}


@pytest.mark.requirement("RX-07")
def test_a_conditional_waits_again_for_the_step_that_it_does_not_catch(engine: Engine):
    root = Sequential(Parallel(op("a"), op("b")), Conditional("a", op("t"), op("e")))
    graph = freeze(Workflow("tested", root))
    run_id = start(engine, root)
    session = engine.worker()
    leased = leases(engine, session)
    engine.kill(session, leased["a"], leased["b"])
    assert engine.states(run_id)["if.t"] == "cancelled"
    replay(engine, run_id, "b")
    engine.drain(session)
    assert engine.states(run_id) == {
        "a": "cannot_complete", "b": "completed", "if.t": "completed", "t": "skipped", "e": "completed",
    }  # fmt: skip
    assert engine.run_state(run_id) == "completed"
    assert rebuilt(engine, graph, run_id) == stored(engine, run_id)
    assert engine.faults() == {}


WORDS_OF_NODES = """
select s.step_id, d.node_code from v_unit_dialect as d
inner join work_unit as u using (tenant_id, unit_id)
inner join workflow_step_def as s
    on u.tenant_id = s.tenant_id and u.version_id = s.version_id and u.def_no = s.step_no
where d.run_id = %s and u.scope = 'step'
"""


def node_words(engine: Engine, run_id: int) -> dict[str, str]:
    return dict(engine.db.execute(WORDS_OF_NODES, (run_id,)).fetchall())


@pytest.mark.requirement("RX-11", "RX-03")
def test_a_replayed_step_is_ready_until_it_is_claimed_and_aborted_if_it_is_cancelled_before(engine: Engine):
    root = Sequential(Parallel(op("a"), op("b")), op("z"))
    graph = freeze(Workflow("tested", root))
    run_id = start(engine, root)
    session = engine.worker()
    leased = leases(engine, session)
    engine.complete(session, leased["b"])
    engine.kill(session, leased["a"])
    replay(engine, run_id, "a")
    words = {"a": "ready", "b": "completed", "z": "waiting"}
    assert node_words(engine, run_id) == words
    assert rebuilt_words(engine, graph, run_id) == words
    engine.db.execute("select fn_job_cancel(1, %s, 'cli:test')", (engine.unit(run_id, "a"),))
    words = {"a": "aborted", "b": "completed", "z": "aborted"}
    assert node_words(engine, run_id) == words
    assert rebuilt_words(engine, graph, run_id) == words
    assert engine.run_state(run_id) == "failed"
    assert engine.faults() == {}


@pytest.mark.requirement("RX-03")
@pytest.mark.parametrize(
    "ending", ["its wait ends", "its lease expires", "a person retries it", "its person gives it back"]
)
def test_a_call_that_goes_on_is_running_and_what_depends_on_it_waits(engine: Engine, ending: str):
    is_human = ending == "its person gives it back"
    root = Sequential(Human("a", role="office") if is_human else op("a", retry=Retry(delays=[60])), op("z"))
    graph = freeze(Workflow("tested", root))
    engine.db.execute("select fn_person_set(1, 'ada', p_roles => array['office'])")
    run_id = start(engine, root)
    unit_id = engine.unit(run_id, "a")
    session = engine.worker()
    if is_human:
        for call in ("claim", "release"):
            engine.db.execute(f"select fn_step_{call}(1, %s, 'ada')", (unit_id,))
    else:
        lease = leases(engine, session)["a"]
        if ending == "its wait ends":
            engine.report(session, (lease, "waiting", {"event": "paid"}))
            engine.db.execute("select fn_signal(1, %s, 'paid', '{}', 'k', 'test')", (run_id,))
        elif ending == "a person retries it":
            engine.report(session, (lease, "failed", {"error": {"type": "E", "message": "no"}}))
            engine.one("select fn_job_retry(1, %s, 'ada', 'now')", (unit_id,))
        else:
            engine.db.execute("update worker_session set expires_at = stepwell.now() - interval '1 s'")
            engine.db.execute("select fn_leases_recover()")
    assert engine.state(unit_id) == "ready"
    assert node_words(engine, run_id) == {"a": "running", "z": "waiting"}
    assert rebuilt_words(engine, graph, run_id) == {"a": "running", "z": "waiting"}
