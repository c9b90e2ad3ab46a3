"""A database with live runs of an earlier release is migrated: graphs are emitted beside them, and listed."""

from __future__ import annotations

import psycopg

from stepwell.store.calls import graphs as calls
from stepwell.store.schema import migrate
from tests.sql.drive import Engine
from tests.sql.job_graphs.graphing import emit, job, register


def test_graphs_are_emitted_and_listed_beside_runs_that_were_there_before(old_dsn: str):
    migrate.migrate(old_dsn)
    with psycopg.connect(old_dsn, autocommit=True, options="-csearch_path=stepwell") as db:
        engine = Engine(db)
        live = engine.one("select count(*) from work_unit where scope = 'workflow_run'")
        assert live > 0
        assert engine.one("select count(*) from job_queue where template_id is not null") == 0
        assert engine.one(
            "select config_value ?& array['body', 'data', 'payload', 'binary'] from dot_config"
            " where config_key = 'graph.forbidden_keys'"
        )
        register(engine, "t", job("a"), job("b", "a"))
        number = emit(engine, "t")["workflow_id"]
        call = calls.find_workflows(1, template_id=None, status="active", before=None, limit=10)
        assert call.decode(db.execute(call.text.encode(), call.parameters).fetchall()) == [number]
