"""The state of a run at any event of its log follows from the events up to that one."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.drive import Engine, operation


def _then(engine: Engine, run_id: int, event_id: int) -> dict[str, str]:
    rows = engine.db.execute(
        "select coalesce(step_id, 'run'), state_code from fn_run_state_at(1, %s, %s)", (run_id, event_id)
    )
    return dict(rows)


@pytest.mark.requirement("RX-11")
def test_every_event_of_the_log_gives_the_states_at_its_time(engine: Engine):
    engine.publish("line", operation("a"), operation("b"))
    run_id = engine.start("line")
    session = engine.worker()
    seen: dict[int, dict[str, str]] = {}

    def note() -> None:
        seen[engine.one("select max(event_id) from event_log")] = {
            "run": engine.run_state(run_id),
            **engine.states(run_id),
        }

    note()
    leases = engine.claim(session)
    while leases:
        note()
        engine.complete(session, *leases)
        note()
        leases = engine.claim(session)
    assert len(seen) == 5
    for event_id, states in seen.items():
        assert _then(engine, run_id, event_id) == states


def test_before_its_start_a_run_is_shown_as_not_started(engine: Engine):
    engine.publish("line", operation("a"))
    run_id = engine.start("line")
    rows = engine.db.execute(
        "select state_code from fn_run_state_at(1, %s, p_at => now() - interval '1 day')", (run_id,)
    ).fetchall()
    assert rows == [("not_started",), ("not_started",)]


@pytest.mark.parametrize(("run_id", "event_id", "code"), [(1, None, "SW001"), (99, 1, "SW002")])
def test_a_missing_event_id_or_an_unknown_run_is_refused(
    engine: Engine, run_id: int, event_id: int | None, code: str
):
    engine.publish("line", operation("a"))
    engine.start("line")
    with pytest.raises(psycopg.Error) as refused:
        engine.db.execute("select * from fn_run_state_at(1, %s, %s)", (run_id, event_id))
    assert refused.value.sqlstate == code
