"""PostgreSQL must parse every expression that `define` accepts, and publish every graph that it freezes."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from hypothesis import given

from stepwell.define import Workflow, freeze
from stepwell.define.expression import step_path
from tests.strategies.templates import workflows
from tests.support.sample import sample
from tests.unit.define.test_expressions import READABLE


@pytest.mark.parametrize("text", [text for text, _ in READABLE])
def test_postgres_parses_what_define_reads(db: psycopg.Connection[Any], text: str):
    db.execute("select %s::jsonpath", (text,))


@pytest.mark.parametrize("step_id", ["a", "9", "1st", "a.b", "sign-off", "_x", "to", "true", "like_regex"])
def test_postgres_finds_the_step_that_a_written_path_names(db: psycopg.Connection[Any], step_id: str):
    row = db.execute(
        "select jsonb_path_query_first(jsonb_build_object('steps', jsonb_build_object(%s::text, "
        """'{"output": [1, 2]}'::jsonb)), %s::jsonpath)""",
        (step_id, step_path(step_id)),
    ).fetchone()
    assert row is not None
    assert row[0] == [1, 2]


@sample(20)
@given(workflow=workflows())
def test_publish_accepts_what_define_freezes(db: psycopg.Connection[Any], workflow: Workflow):
    graph = freeze(workflow)
    publish = "select version_no, is_new from stepwell.fn_workflow_publish(1, %s, 'test')"
    arguments = (graph.canonical.decode(),)
    first = db.execute(publish, arguments).fetchone()
    second = db.execute(publish, arguments).fetchone()
    assert first is not None
    assert second == (first[0], False)
    stored = db.execute(
        "select count(*) from stepwell.workflow_version where graph = %s::jsonb", (arguments[0],)
    ).fetchone()
    assert stored == (1,)
