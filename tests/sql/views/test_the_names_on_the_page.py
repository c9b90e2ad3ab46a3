"""What docs/conformance.toml says to have the same name here has it, in the database or in Python."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

import stepwell
from stepwell import reactive
from tests.sql.drive import Engine
from tests.tidy.sources import ROOT

LISTS = tomllib.loads((ROOT / "docs/conformance.toml").read_text(encoding="utf-8"))["names"]
FOUND = {
    "table": "select %s, to_regclass('stepwell.' || %s) is not null",
    "function": "select %s, exists (select from pg_proc where proname = %s)",
    "config": "select %s, exists (select from dot_config where config_key like %s || '.%%')",
}


def missing(engine: Engine, names: dict[str, Any]) -> list[str]:
    same = names["same"].split()
    kind, of = names["kind"], names.get("of", "")
    if kind in FOUND:
        rows = [engine.db.execute(FOUND[kind], (name, name)).fetchone() for name in same]
        return [row[0] for row in rows if row is not None and not row[1]]
    if kind == "column":
        found = engine.db.execute(
            "select column_name from information_schema.columns"
            " where table_schema = 'stepwell' and table_name = %s",
            (of,),
        )
    elif kind == "argument":
        found = engine.db.execute(
            "select unnest(p.proargnames) from pg_proc as p"
            " where p.pronamespace = 'stepwell'::regnamespace and p.proname = %s",
            (of,),
        )
    elif kind == "code":
        table, column = of.split(".")
        found = engine.db.execute(f"select distinct {column} from {table}")
    elif kind == "class":
        return [name for name in same if not hasattr(reactive, name) and not hasattr(stepwell, name)]
    elif kind == "member":
        root = reactive.WorkflowReactiveRoot
        return [n for n in same if not hasattr(root, n) and n not in root.__init__.__code__.co_varnames]
    else:
        return []  # words and keys of documents: the tests of their rows have them
    have = {name for (name,) in found}
    return [name for name in same if name not in have]


@pytest.mark.requirement("SM-01", "SM-09", "SM-21", "RX-14", "RT-02", "LN-11")
def test_every_name_that_is_said_to_be_the_same_exists(engine: Engine):
    wrong = {
        f"{one['where']} {one['kind']} {one.get('of', '')}": found
        for one in LISTS
        if (found := missing(engine, one))
    }
    assert wrong == {}
