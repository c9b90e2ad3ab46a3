"""Random workflows with random outcomes end in the same states in Postgres and in memory, and a rebuild of
their log gives the same states too.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import Phase, find, given, settings

from stepwell.reactive import memory_engine, rules
from stepwell.reactive.projection import Projection
from tests.model.compare import differences
from tests.model.postgres_side import PostgresSide
from tests.strategies.outcomes import Example, examples, uncut_examples
from tests.strategies.templates import Shape
from tests.support.sample import sample

SHAPE = Shape(max_depth=5, max_nodes=60)


@pytest.mark.requirement("RX-13")
@pytest.mark.requirement("RX-11")
@pytest.mark.timeout(900)
@sample(40)
@given(example=examples(SHAPE))
def test_both_engines_and_a_rebuild_of_the_log_give_the_same_states(side: PostgresSide, example: Example):
    assert differences(side, example) == {}


def test_no_invariant_is_broken_after_all_examples(side: PostgresSide):
    assert side.broken_invariants() == []


# Small workflows with many error boundaries: here the rules of failures and conditionals show at once.
BOUNDARIES = Shape(
    max_depth=2,
    max_nodes=12,
    surplus_nodes=20,
    leaves=("operation",),
    containers=("boundary",),
    details=False,
)
RETRIES = Shape(max_depth=2, max_nodes=6, leaves=("operation",), containers=("sequential",))
# Each fault changes one rule of the memory engine; the comparison must find a difference in such workflows.
FAULTS: dict[str, tuple[tuple[Any, str, Any], Shape]] = {
    "every conditional catches every failure": (
        (rules, "catches", lambda node, broken: node.kind == "conditional"),
        BOUNDARIES,
    ),
    "no failure is ever caught": ((rules, "caught_by", lambda graph, conditional: iter(())), BOUNDARIES),
    "a conditional does not wait for all steps before it": (
        (rules, "must_wait", lambda graph, conditional: False),
        BOUNDARIES,
    ),
    "one more attempt than allowed is made": ((memory_engine, "_max_attempts", lambda unit: 6), RETRIES),
    "a branch not taken is aborted": ((Projection, "_skip", lambda self, unit: self._abort(unit)), SHAPE),
    "a step id as a test is always true": ((rules, "evaluate_test", lambda unit, run_input: True), SHAPE),
}
# The search ends at the first example that shows the fault.
SEARCH = settings(sample(400), max_examples=400, phases=(Phase.generate,), derandomize=True)


@pytest.mark.requirement("RX-13")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(side: PostgresSide, monkeypatch: pytest.MonkeyPatch, fault: str):
    planted, shape = FAULTS[fault]
    monkeypatch.setattr(*planted)
    found = find(examples(shape), lambda example: differences(side, example) != {}, settings=SEARCH)
    monkeypatch.undo()
    assert differences(side, found) == {}, "without the fault the engines must agree on this example"


# Both engines have this fault, so only another order shows it.
ORDERS = 10
HOLDS_NONE = """
create or replace function stepwell._conditionals_hold(p_tenant_ids int[], p_unit_ids bigint[])
returns bigint[] language sql volatile as $$ select '{}'::bigint[] $$
"""


@pytest.mark.requirement("RX-06")
@pytest.mark.requirement("RX-13")
@pytest.mark.timeout(600)
def test_a_rule_that_depends_on_the_order_is_found_although_both_engines_have_it(
    side: PostgresSide, monkeypatch: pytest.MonkeyPatch
):
    kept = side.engine.one("select pg_get_functiondef('stepwell._conditionals_hold'::regproc)")
    monkeypatch.setattr(rules, "must_wait", lambda graph, conditional: False)
    side.db.execute(HOLDS_NONE)
    try:
        found = find(
            uncut_examples(BOUNDARIES),
            lambda example: differences(side, example, orders=ORDERS) != {},
            settings=SEARCH,
        )
    finally:
        side.db.execute(kept)
    monkeypatch.undo()
    right = differences(side, found, orders=ORDERS)
    assert right == {}, "with the right rule the result must not depend on the order"
