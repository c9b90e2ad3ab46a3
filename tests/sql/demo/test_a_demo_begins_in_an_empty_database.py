"""A demo: begun in an empty database, left once; a database with runs is never made one."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.binding import APPLICATION_ROLES, as_role
from tests.sql.drive import Engine, operation

SINCE = "select since is not null from fn_demo_read()"


def test_a_demo_is_read_by_everybody_and_left_once(engine: Engine):
    assert engine.one("select fn_demo_begin(1)") is True
    assert engine.one("select fn_demo_begin(1)") is False
    assert engine.one(SINCE) is True
    engine.person("ada")
    engine.db.execute("select fn_person_set(1, 'ada', array['admin'])")
    assert engine.one("select fn_demo_leave('cli:ada')") is True
    assert engine.one("select fn_demo_leave('cli:ada')") is False
    assert engine.one(SINCE) is None
    assert engine.one("select fn_demo_begin(1)") is False, "a demo that was left begins again"
    told = engine.db.execute(
        "select event_type, actor from event_log where event_type like 'demo.%' order by event_id"
    )
    assert [kind for kind, _ in told.fetchall()] == ["demo.begun", "demo.left"]


def test_a_database_with_runs_does_not_become_a_demo(engine: Engine):
    engine.publish("w", operation("a"))
    engine.start("w")
    with pytest.raises(psycopg.Error, match="this database has runs"):
        engine.db.execute("select fn_demo_begin(1)")


@pytest.mark.parametrize("role", APPLICATION_ROLES)
def test_only_the_owner_begins_and_leaves_a_demo(engine: Engine, role: str):
    engine.one("select fn_demo_begin(1)")
    for call in (
        "select stepwell.fn_demo_begin(1)",
        "select stepwell.fn_demo_leave('ada')",
        "select stepwell.fn_clock_real()",
    ):
        with as_role(engine.db, role), pytest.raises(psycopg.errors.InsufficientPrivilege):
            engine.db.execute(call)


def test_the_clock_does_not_go_back(engine: Engine):
    engine.db.execute("select fn_clock_stop(clock_timestamp() - interval '6 days')")
    engine.db.execute("select fn_clock_real()")
    assert engine.one("select abs(extract(epoch from now() - stepwell.now())) < 60") is True
    assert engine.one("select count(*) from clock_shift") == 0
    engine.db.execute("select fn_clock_stop(clock_timestamp() + interval '1 day')")
    with pytest.raises(psycopg.Error, match="does not go back"):
        engine.db.execute("select fn_clock_real()")
