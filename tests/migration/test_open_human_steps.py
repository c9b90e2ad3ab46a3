"""Human steps that were open in an earlier release get their inputs after the migration."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg.types.json import Jsonb

from stepwell.store.schema import migrate
from tests.sql.drive import Engine

BAD = '$.input.at.datetime() ? (@ < "2026-01-01 00:00:00+00".datetime())'


@pytest.fixture
def engine(old_dsn: str) -> Iterator[Engine]:
    """A migrated database whose human steps have `inputs`; the earlier release did not show them."""
    with psycopg.connect(old_dsn, autocommit=True, options="-csearch_path=stepwell") as connection:
        connection.execute(
            "update workflow_step_def set inputs = %s where step_kind = 'human'", (Jsonb({"all": "$.input"}),)
        )
        migrate.migrate(old_dsn)
        yield Engine(connection)


def open_steps(engine: Engine) -> list[tuple[int, str, object]]:
    return engine.db.execute(
        "select step_run_id, state_code, inputs from v_inbox where scope = 'step' order by 1"
    ).fetchall()


def expected(engine: Engine) -> list[object]:
    return [
        {"all": engine.one("select input from run_detail where run_id = %s", (unit >> 20,))}
        for unit, _, _ in open_steps(engine)
    ]


def test_the_keeper_binds_the_inputs(engine: Engine):
    assert {state for _, state, _ in open_steps(engine)} == {"ready", "in_progress"}
    assert [inputs for *_, inputs in open_steps(engine)] == [None] * len(open_steps(engine))
    engine.timers()
    assert [inputs for *_, inputs in open_steps(engine)] == expected(engine)
    assert engine.one("select count(*) from timer where timer_kind = 'inputs'") == 0
    assert engine.faults() == {}


def test_a_claim_before_the_keeper_binds_the_inputs(engine: Engine):
    ready = [unit for unit, state, _ in open_steps(engine) if state == "ready"]
    for unit in ready:
        engine.db.execute("select fn_step_claim(1, %s, 'ada')", (unit,))
    assert [inputs for unit, _, inputs in open_steps(engine) if unit in ready] == [
        found
        for (unit, _, _), found in zip(open_steps(engine), expected(engine), strict=True)
        if unit in ready
    ]


def test_a_step_whose_inputs_cannot_be_bound_stays_open(engine: Engine):
    engine.db.execute(
        "update workflow_step_def set inputs = %s where step_kind = 'human'", (Jsonb({"x": BAD}),)
    )
    engine.db.execute('update run_detail set input = \'{"at": "2026-01-01"}\'')
    before = open_steps(engine)
    engine.timers()
    assert open_steps(engine) == before
    assert engine.faults() == {}
