"""After a retry by hand the log gives the state that is stored: decisions stay, and only steps that nothing
else blocks wait again.
"""

from __future__ import annotations

import pytest

from stepwell.define import Conditional, Graph, Operation, Parallel, Sequential, Workflow, freeze
from stepwell.reactive import LogRow, Projection, UnitRow, call_events, paths_of
from tests.model.compare import WORDS, word
from tests.model.postgres_side import LOG
from tests.sql.drive import Engine
from tests.sql.graphs.publishing import leases, start

op = Operation


def rebuilt(engine: Engine, graph: Graph, run_id: int) -> dict[str, str]:
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
    return {path: word(str(status)) for path, status in projection.statuses().items()}


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
