"""Written YAML is short and reads back the same; an update keeps the comments."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from stepwell.define import (
    Conditional,
    Human,
    Map,
    Operation,
    Parallel,
    Retry,
    Sequential,
    Workflow,
    freeze,
    read_yaml,
    update_yaml,
    write_yaml,
)
from tests.support.sample import sample
from tests.unit.define.test_reading_yaml import ORDER

pytestmark = pytest.mark.requirement("RT-11")


def is_large(order_id: str) -> bool:
    return len(order_id) > 3


def test_only_values_that_differ_from_the_default_are_written():
    workflow = Workflow(
        "w",
        Sequential(
            Operation("a"),
            Operation("b", retry=Retry(5), timeout=5400, inputs={"n": 5, "x": "$.input.x"}),
            Parallel(Operation("c"), Sequential(Operation("d")), max_concurrency=1),
            Conditional("a", then=Operation("e"), otherwise=Sequential(Operation("f"))),
        ),
    )
    assert write_yaml(workflow) == (
        "workflow: w\n"
        "steps:\n"
        "  - a\n"
        "  - operation: b\n"
        "    inputs:\n"
        "      n: 5\n"
        "      x: $.input.x\n"
        "    retry:\n"
        "      max_attempts: 5\n"
        "    timeout: 1h30m\n"
        "  - parallel:\n"
        "      - c\n"
        "      - sequential:\n"
        "          - d\n"
        "    max_concurrency: 1\n"
        "  - if: a\n"
        "    then: e\n"
        "    else:\n"
        "      - f\n"
    )


@pytest.mark.parametrize(
    "name", ["true", "null", "1", "1.5", "0x1F", "yes", "2024-01-01", "1_000", "012", "._x"[1:]]
)
def test_names_that_look_like_numbers_or_booleans_read_back_as_names(name: str):
    workflow = Workflow(name, Sequential(Operation(name, title=name)), title=name)
    assert read_yaml(write_yaml(workflow)) == workflow


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=200))
@example("line\nbreak\n\n")
@example("x" * 200)
@example("# no: comment - '\"")
def test_any_title_reads_back_the_same(title: str):
    assume(title.strip())
    workflow = Workflow("w", Operation("a", title=title), title=title)
    assert read_yaml(write_yaml(workflow)) == workflow


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@sample(60)
@given(st.dictionaries(texts.filter(lambda key: key != "type"), values, max_size=3))
@example({"": r"\u0000"})
def test_any_form_reads_back_the_same(form: dict[str, object]):
    workflow = Workflow("w", Human("a", role="r", form=form))
    again = read_yaml(write_yaml(workflow))
    assert again == workflow
    assert freeze(again).canonical == freeze(workflow).canonical


def test_functions_are_written_as_operations():
    workflow = Workflow(
        "w", Sequential(Conditional(is_large, then=Operation("a")), Map(is_large, Operation("b")))
    )
    again = read_yaml(write_yaml(workflow))
    assert freeze(again).canonical == freeze(workflow).canonical
    assert freeze(again).callables == {}


def test_an_update_without_a_change_returns_the_same_text():
    assert update_yaml(ORDER, read_yaml(ORDER)) == ORDER


def test_an_update_keeps_the_comments_of_unchanged_steps():
    text = (
        "# The head.\n"
        "workflow: w\n"
        "steps:\n"
        "  - a   # first\n"
        "  - b   # second\n"
        "  # before the third\n"
        "  - operation: c   # third\n"
        "    timeout: 1h    # long\n"
        "  - d   # last\n"
    )
    new = Workflow(
        "w",
        Sequential(
            Operation("a"),
            Operation("x"),
            Operation("c", timeout="1h", priority=5),
            Operation("d"),
            Operation("e"),
        ),
    )
    updated = update_yaml(text, new)
    assert read_yaml(updated) == new
    for comment in ("# The head.", "# first", "# third", "# long", "# last"):
        assert comment in updated
    assert "# second" not in updated
