"""A silent worker is a problem until a good tick, and while it is frozen no tick heals it."""

from __future__ import annotations

import pytest

from tests.sql.drive import Engine
from tests.support.clock import Clock

OPEN = "select count(*) from governance_problem where category_code = 'silent_worker' and closed_at is null"


def open_after_a_look(engine: Engine) -> int:
    engine.one("select fn_problems_watch()")
    found: int = engine.one(OPEN)
    return found


@pytest.fixture
def silent(engine: Engine, clock: Clock) -> int:
    """A worker whose lease is longer than the threshold of its class, and who fell silent."""
    engine.person("ada")
    session = engine.worker("orders:1", lease_seconds=600)
    engine.beat(session)
    clock.advance(seconds=61)
    assert open_after_a_look(engine) == 1
    return session


@pytest.mark.requirement("GV-07")
def test_each_class_has_a_threshold_of_its_own(engine: Engine, clock: Clock):
    engine.worker("orders:1", classes=("default", "process"), lease_seconds=600)
    clock.advance(seconds=61)
    assert open_after_a_look(engine) == 1
    assert engine.one("select subject from governance_problem") == "1:default"
    clock.advance(seconds=60)
    assert open_after_a_look(engine) == 2


@pytest.mark.requirement("GV-07")
def test_a_good_tick_heals(engine: Engine, silent: int):
    engine.worker("orders:2")
    assert open_after_a_look(engine) == 1
    engine.beat(silent)
    assert open_after_a_look(engine) == 0
    assert engine.one("select count(*) from event_log where event_type = 'worker.recovered'") == 1


@pytest.mark.requirement("GV-07")
@pytest.mark.parametrize("frozen", ["worker", "executor"])
def test_no_tick_heals_what_is_frozen(engine: Engine, silent: int, clock: Clock, frozen: str):
    number = engine.session_id(silent)
    if frozen == "worker":
        engine.db.execute("select fn_worker_stop(1, %s, 'frozen', 'ada', 'it lies')", (number,))
    else:
        engine.db.execute("select fn_executor_freeze(1, 'default', 'ada', 'it lies')")
    other = engine.worker("orders:2")
    clock.advance(seconds=1)
    engine.beat(silent)
    engine.beat(other)
    assert open_after_a_look(engine) == 1
    assert engine.one("select count(*) from event_log where event_type = 'worker.recovered'") == 0
    if frozen == "worker":
        engine.db.execute("select fn_worker_go_on(1, %s, 'frozen', 'ada', 'mended')", (number,))
    else:
        engine.db.execute("select fn_executor_unfreeze(1, 'default', 'ada', 'mended')")
    assert open_after_a_look(engine) == 0


@pytest.mark.requirement("GV-07")
@pytest.mark.parametrize("kind", ["frozen", "drain"])
def test_a_stopped_worker_heals_no_other(engine: Engine, silent: int, clock: Clock, kind: str):
    other = engine.worker("orders:2")
    engine.db.execute("select fn_worker_stop(1, %s, %s, 'ada', 'x')", (engine.session_id(other), kind))
    clock.advance(seconds=1)
    engine.beat(other)
    assert open_after_a_look(engine) == 1
    engine.db.execute("select fn_worker_go_on(1, %s, %s, 'ada', 'x')", (engine.session_id(other), kind))
    assert open_after_a_look(engine) == 0


def test_the_stop_of_a_worker_that_is_gone_is_removed(engine: Engine, silent: int, clock: Clock):
    number = engine.session_id(silent)
    engine.db.execute("select fn_worker_stop(1, %s, 'frozen', 'ada', 'x')", (number,))
    engine.one("select fn_worker_close(%s)", (silent,))
    clock.advance(days=8)
    engine.db.execute("select fn_retention_sweep()")
    # Its silence is a problem still, so it stays frozen.
    assert engine.one("select count(*) from worker_stop") == 1
    problem = engine.one(
        "select problem_id from governance_problem where closed_at is null and duty = 'watch'"
    )
    engine.db.execute("select fn_problem_close(1, %s, 'ada', 'it was replaced')", (problem,))
    engine.db.execute("select fn_retention_sweep()")
    assert engine.one("select count(*) from worker_stop") == 0
