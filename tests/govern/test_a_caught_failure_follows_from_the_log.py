"""Whether a failure was caught decides how a run ends: a changed mark is found, also of cancelled steps."""

from __future__ import annotations

import psycopg
import pytest

from stepwell import Sequential
from tests.govern.sealing import check, seal
from tests.sql.drive import Engine
from tests.sql.graphs.test_a_run_completes_only_with_all_mandatory_steps import (
    CAUGHT,
    failed_again,
    leases,
    op,
    start,
)


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    return Engine(db)


def caught(engine: Engine) -> int:
    """a fails, b is cancelled because of it, and the conditional behind both catches it."""
    run_id = start(engine, Sequential(op("a"), op("b"), CAUGHT, op("z")))
    session = engine.worker()
    engine.kill(session, leases(engine, session)["a"])
    engine.drain(session)
    return run_id


def not_caught(engine: Engine) -> int:
    run_id = start(engine, Sequential(op("a"), op("b")))
    session = engine.worker()
    engine.kill(session, leases(engine, session)["a"])
    return run_id


@pytest.mark.parametrize("made", [caught, failed_again, not_caught])
@pytest.mark.parametrize("name", ["a", "b"])
def test_a_changed_mark_is_found(engine: Engine, made, name: str):
    run_id = made(engine)
    seal(engine.db)
    assert check(engine.db).problems == []
    unit_id = engine.unit(run_id, name)
    engine.db.execute(
        "update work_unit set failure_caught = not failure_caught where unit_id = %s", (unit_id,)
    )
    (problem,) = check(engine.db).problems
    assert f"unit {unit_id}" in str(problem)
    assert "failure_caught" in str(problem)
