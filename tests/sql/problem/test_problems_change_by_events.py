"""A problem is opened and closed only together with an event of the same transaction."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.drive import Engine
from tests.support.clock import Clock


def opened(engine: Engine) -> int:
    engine.one("select fn_duty_set_aside(1, 'schedule', 'nightly', '22012', 'division by zero')")
    problem_id: int = engine.one("select max(problem_id) from governance_problem")
    return problem_id


def test_an_open_problem_has_an_event(engine: Engine):
    opened(engine)
    row = engine.db.execute(
        "select e.event_type, e.payload ->> 'reason', e.payload ->> 'category' from governance_problem as p"
        " inner join event_log as e on p.tenant_id = e.tenant_id and p.opened_event_id = e.event_id"
    ).fetchone()
    assert row == ("problem.opened", "division by zero", "set_aside")


def test_a_problem_that_occurs_again_is_the_same_problem(engine: Engine):
    assert opened(engine) == opened(engine)
    assert engine.one("select seen_count from governance_problem") == 2
    assert engine.one("select count(*) from event_log where event_type = 'problem.opened'") == 1


@pytest.mark.parametrize(
    "change",
    [
        "update governance_problem set closed_at = now(), closed_by = 'me', closed_event_id = 1",
        "update governance_problem"
        " set closed_at = now(), closed_by = 'me', closed_event_id = opened_event_id",
        "delete from governance_problem",
        "insert into governance_problem (tenant_id, category_code, duty, subject, reason, since_at,"
        " opened_at, last_seen_at, opened_event_id)"
        " values (1, 'set_aside', 'seal', '1', 'none', now(), now(), now(), 1)",
    ],
)
def test_no_statement_without_an_event_opens_closes_or_deletes_a_problem(engine: Engine, change: str):
    opened(engine)
    with pytest.raises(psycopg.Error) as caught:
        engine.db.execute(change)
    assert caught.value.sqlstate == "SW007"


def test_a_person_closes_a_problem_with_a_reason(engine: Engine):
    problem_id = opened(engine)
    with pytest.raises(psycopg.Error) as caught:
        engine.db.execute("select fn_problem_close(1, %s, 'ada', '')", (problem_id,))
    assert caught.value.sqlstate == "SW001"
    engine.db.execute("select fn_problem_close(1, %s, 'ada', 'repaired')", (problem_id,))
    row = engine.db.execute(
        "select p.closed_by, e.event_type, e.payload ->> 'reason', e.actor from governance_problem as p"
        " inner join event_log as e on p.tenant_id = e.tenant_id and p.closed_event_id = e.event_id"
    ).fetchone()
    assert row == ("ada", "problem.resolved", "repaired", "ada")
    with pytest.raises(psycopg.Error) as caught:
        engine.db.execute("select fn_problem_close(1, %s, 'ada', 'again')", (problem_id,))
    assert caught.value.sqlstate == "SW003"
    with pytest.raises(psycopg.Error) as caught:
        engine.db.execute("select fn_problem_close(1, 4711, 'ada', 'repaired')")
    assert caught.value.sqlstate == "SW002"
    # The same cause now opens a new problem.
    assert opened(engine) != problem_id


def test_the_view_has_the_texts_in_both_languages(engine: Engine):
    opened(engine)
    row = engine.db.execute(
        "select severity, label_en, label_vi, remedy_en is not null, remedy_vi is not null, run_id"
        " from v_governance_problem"
    ).fetchone()
    assert row == ("red", "Set aside", "Tạm gác lại", True, True, None)


def test_retention_removes_closed_problems_and_no_open_one(engine: Engine, clock: Clock):
    engine.db.execute("select fn_problem_close(1, %s, 'ada', 'mended')", (opened(engine),))
    opened(engine)
    clock.advance(days=401)
    engine.one("select fn_partitions_ensure()")
    swept = dict(engine.db.execute("select swept, removed_count from fn_retention_sweep()").fetchall())
    assert swept["governance_problem"] == 1
    assert engine.one("select count(*) from governance_problem where closed_at is null") == 1
