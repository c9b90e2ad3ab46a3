"""A page of runs with a label reads as much with many runs as with few: pages of the buffer are counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.sql.binding import as_role, token
from tests.sql.drive import Engine, operation

# It measures what is read, which depends on what former tests left in the files.
pytestmark = pytest.mark.new_database

# A common label, one of few runs, and both together.
FILTERS: list[dict[str, str]] = [
    {"customer": "Acme"},
    {"batch": "first"},
    {"customer": "Acme", "batch": "first"},
    {"customer": "Acme", "site": "north"},
]


def start(engine: Engine, count: int) -> None:
    engine.db.execute(
        "select fn_run_start(1, 'w', array_fill('{}'::jsonb, array[500]), p_actor => 'test')"
        " from generate_series(1, %s)",
        (count // 500,),
    )
    engine.db.execute("delete from run_label")
    engine.db.execute(
        """insert into run_label (tenant_id, run_id, label_key, label_value)
           select r.tenant_id, r.run_id, x.key, x.value from run_detail as r
           cross join (values ('customer', 'Acme'), ('site', 'north'), ('batch', 'first')) as x (key, value)
           where x.key <> 'batch' or r.run_id <= 20"""
    )
    engine.db.execute("vacuum analyze run_label, run_detail, run_progress, work_unit")


def pages_read(engine: Engine, text: str, labels: dict[str, str]) -> int:
    """Of a page of ten runs, for a caller whom row level security binds."""
    with as_role(engine.db, "stepwell_api", text):
        asked = json.dumps({"labels": labels})
        query = (
            "explain (analyze, buffers, timing off, format json)"
            " select * from stepwell.fn_runs_list(1, %s, null, 10)"
        )
        # The first call of a session loads its catalogue.
        found = [engine.db.execute(query, (asked,)).fetchone() for _ in range(2)]
    plan: dict[str, Any] = found[-1][0][0]["Plan"]  # type: ignore[index]
    assert plan["Actual Rows"] == 10
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def test_a_page_of_a_label_reads_as_much_with_many_runs_as_with_few(engine: Engine):
    engine.publish("w", operation("a"))
    text = token(engine.db, 1)
    start(engine, 500)
    few = [pages_read(engine, text, labels) for labels in FILTERS]
    start(engine, 3_500)
    many = [pages_read(engine, text, labels) for labels in FILTERS]
    # Labels of all runs were read: 2,240 pages for 500 runs, 16,299 for 4,000.
    assert max(few) < 500
    assert [after <= before * 1.5 for before, after in zip(few, many, strict=True)] == [True] * 4, many


def test_a_run_has_all_labels_that_are_asked_for(engine: Engine):
    engine.publish("w", operation("a"))
    start(engine, 500)
    engine.db.execute("delete from run_label where run_id > 12 and label_key = 'customer'")
    query = "select array_agg(run_id order by run_id desc) from fn_runs_list(1, %s, null, 100)"
    for labels, wanted in (
        (FILTERS[2], 12), (FILTERS[1], 20), ({"customer": "acme"}, None),
        ({"customer": "Acme", "it's": "x"}, None),
    ):  # fmt: skip
        found = engine.one(query, (json.dumps({"labels": labels}),))
        assert found == (None if wanted is None else list(range(wanted, 0, -1))), labels
        assert engine.one("select fn_runs_count(1, %s)", (json.dumps({"labels": labels}),)) == (wanted or 0)
