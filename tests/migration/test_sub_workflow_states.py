"""A database with a yellow or a red sub-workflow is migrated: its step gets the state of this colour."""

from __future__ import annotations

import psycopg
import pytest

from stepwell.store.schema import migrate, verify
from tests.sql.drive import Engine

# What the old engine stored when the only step of a sub-run waited, or had failed and would be tried again.
PLANT = """
    update stepwell.work_unit set state_code = %(state)s, waiting_facet = %(facet)s, lease_session_id = null
        where unit_id = %(inner)s;
    update stepwell.run_progress set rollup_state_code = %(colour)s::text, active_count = 0,
        wait_count = (%(colour)s::text = 'yellow')::int, red_count = (%(colour)s::text = 'red')::int
        where run_id = %(inner)s >> 20;
    update stepwell.run_progress set rollup_state_code = %(colour)s::text, active_count = active_count - 1,
        wait_count = wait_count + (%(colour)s::text = 'yellow')::int,
        red_count = red_count + (%(colour)s::text = 'red')::int
        where run_id = %(outer)s >> 20;
"""


@pytest.mark.requirement("RU-04")
@pytest.mark.parametrize(
    ("state", "facet", "colour", "reached"),
    [
        ("waiting", "waiting_human", "yellow", ("blocked", "waiting_dependency")),
        ("failed", None, "red", ("failed", None)),
    ],
)
def test_the_step_of_a_live_sub_workflow_has_the_state_of_its_colour(
    old_dsn: str, state: str, facet: str | None, colour: str, reached: tuple[str, str | None]
):
    with psycopg.connect(old_dsn, autocommit=True) as old:
        found = old.execute(
            """select s.unit_id, w.parent_id from stepwell.work_unit as w
               inner join stepwell.work_unit as s
                   on s.unit_id > w.unit_id and s.unit_id >> 20 = w.unit_id >> 20 and s.scope = 'step'
                   and s.state_code in ('ready', 'in_progress')
               where w.scope = 'workflow_run' and w.parent_id is not null and w.state_code = 'in_progress'"""
        ).fetchone()
        assert found is not None
        inner, outer = found
        values = {
            "inner": inner,
            "outer": outer,
            "state": state,
            "facet": facet,
            "colour": colour,
        }
        for statement in PLANT.split(";")[:-1]:
            old.execute(statement, values)  # type: ignore[arg-type]  # the statements are above
    migrate.migrate(old_dsn)
    assert verify.verify(old_dsn).drifts == ()
    with psycopg.connect(old_dsn, autocommit=True, options="-csearch_path=stepwell") as connection:
        engine = Engine(connection)
        row = connection.execute(
            "select state_code, waiting_facet from work_unit where unit_id = %s", (outer,)
        ).fetchone()
        assert row == reached
        wrong = engine.faults()
        assert "counters_equal_a_recount" not in wrong
        assert str(outer) not in wrong.get("states_are_the_fold_of_events", "")
        # The sub-run goes on, and the step around it with it.
        connection.execute("select stepwell._subrun_states_show(array[1], array[%s >> 20])", (inner,))
        last = connection.execute(
            "select event_type, to_state from event_log where unit_id = %s order by event_id desc limit 1",
            (outer,),
        ).fetchone()
        assert last == (f"step.{reached[0]}", reached[0])
