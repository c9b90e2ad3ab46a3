"""A job of an earlier release has a priority that no event tells: the migration tells it for verify."""

from __future__ import annotations

import psycopg

from stepwell.store.schema import migrate
from tests.govern.sealing import check, seal


def test_the_log_tells_the_priority_of_a_job_that_was_there_before(old_dsn: str):
    with psycopg.connect(old_dsn, autocommit=True) as old:
        row = old.execute(
            "update stepwell.work_unit set priority = 3 where unit_id = (select min(unit_id) from"
            " stepwell.work_unit where scope = 'job' and state_code = 'ready') returning unit_id, tenant_id"
        ).fetchone()
        assert row is not None
        unit_id, tenant_id = row
    migrate.migrate(old_dsn)
    with psycopg.connect(old_dsn, autocommit=True, options="-csearch_path=stepwell") as db:
        told = "select payload from event_log where event_type = 'job.described'"
        assert db.execute(told).fetchall() == [({"priority": 3},)]
        seal(db, tenant_id)

        def found() -> list[str]:
            return [one.place for one in check(db, tenant_id).problems if one.place == f"unit {unit_id}"]

        assert found() == []
        db.execute("update work_unit set priority = 4 where unit_id = %s", (unit_id,))
        assert found() == [f"unit {unit_id}"]
