"""Publishing and the Python side accept the same names; a graph that is stored is read as it is."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from stepwell.define import DefinitionError, Graph
from tests.sql.drive import Engine, human, operation, subworkflow, wait

NAMES = (
    "a", "A", "0", "_", "site-crew", "site.crew", "a" * 200,
    "", " ", "site crew", "-a", ".a", "a/b", "a\n", "\na", "ä", "a" * 201, "a:b", "a'b", "²", "a\u200b",
)  # fmt: skip
PLACES = {
    "name": lambda name: (name, operation("s")),
    "id": lambda name: ("w", operation(name, operation="o")),
    "operation": lambda name: ("w", operation("s", operation=name)),
    "event": lambda name: ("w", wait("s", name)),
    "role": lambda name: ("w", human("s", role=name)),
    "workflow": lambda name: ("w", subworkflow("s", name)),
    "tasks.t.role": lambda name: ("w", human("s", role="r", tasks=[{"id": "t", "role": name}])),
}


def document(name: str, step: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"format": 2, "name": name, "steps": [{"no": 1, **step}], "edges": [], "branches": [],
        "groups": [], **more}  # fmt: skip


def accepted_by_python(graph: dict[str, Any]) -> bool:
    try:
        Graph.from_json(graph)
    except DefinitionError:
        return False
    return True


def refusal_of_database(db: psycopg.Connection, graph: dict[str, Any]) -> str | None:
    try:
        with db.transaction():
            db.execute("select fn_workflow_publish(1, %s, 'test')", (Jsonb(graph),))
    except psycopg.DatabaseError as error:
        if error.sqlstate != "SW001":
            raise
        return str(error)
    return None


def test_both_ends_accept_the_same_names_and_the_refusal_names_the_field(engine: Engine):
    for field, place in PLACES.items():
        for name in NAMES:
            graph = document(*place(name))
            refused = refusal_of_database(engine.db, graph)
            assert (refused is None) == accepted_by_python(graph), (field, name, refused)
            assert refused is None or f"{field}: " in refused


def test_a_version_that_was_stored_before_the_rule_is_still_read(engine: Engine):
    graph = document("w", human("s", tasks=[{"id": "t 1", "role": "site crew"}]), workflow_class="x y")
    graph["steps"][0] |= {"role": "site crew", "deadline": 60}
    with pytest.raises(DefinitionError, match="is not a valid name"):
        Graph.from_json(graph)
    read = Graph.from_stored(graph)
    assert read.steps[0].role == "site crew"
    assert read.to_json() == {**graph, "failure_policy": "continue-running"}


def test_a_human_step_for_everybody_is_read_from_its_version(engine: Engine):
    engine.publish("w", human("s"))
    stored = engine.one("select graph from workflow_version")
    assert Graph.from_stored(stored).steps[0].role is None


@pytest.mark.parametrize("bad", [7, ["a"], {"a": 1}, True])
def test_a_name_that_is_no_text_is_refused(engine: Engine, bad):
    refused = refusal_of_database(engine.db, document("w", human("s", role=bad)))
    assert refused is not None
    assert "step s, role: " in refused
