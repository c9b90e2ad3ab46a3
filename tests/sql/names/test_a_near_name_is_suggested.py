"""A misspelt name is answered with the nearest one that exists; a name that is near to nothing with none."""

from __future__ import annotations

import pytest

from tests.sql.drive import Engine, human, operation


@pytest.fixture
def named(engine: Engine) -> Engine:
    engine.publish("order.process", operation("charge"), human("sign-off"))
    engine.publish("invoice.close", operation("total"))
    engine.start("order.process", ref="A-1001")
    engine.start("order.process", ref="B-2002")
    engine.start("invoice.close", ref="A-1002")
    for name in ("ada", "ben", "cleopatra"):
        engine.one("select fn_person_set(1, %s)", (name,))
    engine.one("select fn_person_set(1, 'adam', p_is_active => false)")
    return engine


def suggested(engine: Engine, kind: str, word: str, within: object = None, tenant: int = 1) -> str | None:
    given = (tenant, kind, word, None if within is None else str(within))
    found: str | None = engine.one("select fn_name_suggest(%s, %s, %s, %s)", given)
    return found


@pytest.mark.parametrize(
    ("kind", "word", "expected"),
    [
        ("workflow", "order.proces", "order.process"),
        ("workflow", "ordre.process", "order.process"),
        ("workflow", "Order.Process", "order.process"),
        ("workflow", "order", "order.process"),
        ("workflow", "refund", None),
        ("workflow", "", None),
        ("workflow", "o", None),
        ("workflow", "x" * 5000, None),
        ("person", "aad", "ada"),
        ("person", "bne", "ben"),
        ("person", "kleopatra", "cleopatra"),
        # Who is not active any more is not suggested.
        ("person", "adem", None),
        ("tenant", "defualt", "default"),
        ("moon", "order", None),
    ],
)
def test_the_nearest_name_of_its_kind(named: Engine, kind: str, word: str, expected: str | None):
    assert suggested(named, kind, word) == (expected and f"did you mean {expected}?")


def test_a_key_and_a_step_are_looked_for_where_they_belong(named: Engine):
    assert suggested(named, "key", "A-1010", "order.process") == "did you mean A-1001?"
    assert suggested(named, "key", "A-1003", "invoice.close") == "did you mean A-1002?"
    assert suggested(named, "key", "A-1003", "nothing") is None
    assert suggested(named, "step", "signoff", 1) == "did you mean sign-off?"
    assert suggested(named, "step", "totl", 3) == "did you mean total?"
    assert suggested(named, "step", "signoff", 99) is None


def test_names_of_another_tenant_are_not_suggested(named: Engine):
    other = named.one("select fn_tenant_set('acme')")
    assert suggested(named, "workflow", "order.proces", tenant=other) is None


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [("", "", 0), ("", "abc", 3), ("abc", "", 3), ("abc", "abc", 0), ("abc", "acb", 1), ("abc", "abd", 1),
     ("kitten", "sitting", 3), ("ordre", "order", 1)],
)  # fmt: skip
def test_letters_added_removed_changed_and_swapped_are_counted(
    engine: Engine, one: str, other: str, distance: int
):
    assert engine.one("select _edit_distance(%s, %s)", (one, other)) == distance
    assert engine.one("select _edit_distance(%s, %s)", (other, one)) == distance


def test_many_names_are_compared_within_a_bound(engine: Engine):
    engine.db.execute(
        "insert into person (tenant_id, person_name, is_active, created_at)"
        " select 1, 'somebody.number.' || n, true, now() from generate_series(1, 5000) as n"
    )
    assert suggested(engine, "person", "somebody.numbr.7") is not None
