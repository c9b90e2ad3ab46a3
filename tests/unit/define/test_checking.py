"""Checks of the whole graph: each problem names the step, the field and what would be accepted."""

from __future__ import annotations

import pytest

from stepwell.define import (
    Conditional,
    DefinitionError,
    Map,
    Operation,
    Parallel,
    Sequential,
    Step,
    SubWorkflow,
    Workflow,
    find_cycle,
    freeze,
)
from stepwell.define.limits import MAX_EDGES, MAX_NESTING, MAX_PROBLEMS, MAX_STEPS

a, b, c = (Operation(name) for name in "abc")


def refusal(*steps: Step, **known: object) -> DefinitionError:
    with pytest.raises(DefinitionError) as refused:
        freeze(Workflow("w", Sequential(*steps)), **known)  # type: ignore[arg-type]
    return refused.value


def reads(path: str, id: str = "x") -> Operation:
    return Operation(id, inputs={"value": path})


def test_an_error_names_an_id_that_is_used_twice():
    assert (
        str(refusal(a, Parallel(b, a)))
        == 'step "a": id: the id is used twice; give one of the steps another id'
    )


REFERENCES = [
    (Sequential(a, reads("$.steps.b.output")), 'reads step "b", which does not exist'),
    (Sequential(Operation("charge"), reads("$.steps.chrage.output")), 'did you mean "charge"?'),
    (Sequential(Operation("sign-off"), reads("$.steps.sign.output")), 'did you mean $.steps."sign-off"?'),
    (reads("$.steps.x.output"), "reads its own step"),
    (Parallel(a, reads("$.steps.a.output")), "may not have ended yet"),
    (Sequential(reads("$.steps.a.output"), a), "may not have ended yet"),
    (
        Conditional("$.input.t == 1", then=a, otherwise=reads("$.steps.a.output")),
        "may not have ended yet",
    ),
    (
        Sequential(Map("$.input.l", a, id="m"), reads("$.steps.a.output")),
        'read the list of results of "m" instead',
    ),
    (Map("$.input.l", reads("$.steps.m.output"), id="m"), "may not have ended yet"),
    (Sequential(reads("$.item")), "exist only inside the body of a Map"),
    (Map("$.item", a), "exist only inside the body of a Map"),
    (reads("$.steps.a"), 'comes nothing; accepted: .status, .output or .error (in "$.steps.a")'),
]


@pytest.mark.parametrize(("step", "message"), REFERENCES)
def test_an_expression_may_read_only_steps_that_always_end_before(step: Step, message: str):
    assert message in str(refusal(step))


def test_conditionals_and_maps_follow_the_same_rule():
    assert str(refusal(Conditional("later", then=a), Operation("later"))).startswith(
        'step "if.a": test: reads'
    )
    assert str(refusal(Map("$.steps.b.output", a), b)).startswith('step "map.a": over: reads step "b"')


ALLOWED = [
    Sequential(a, reads("$.steps.a.output")),
    Sequential(Parallel(a, b), reads("$.steps.a.output")),
    Sequential(Conditional("$.input.t == 1", then=a), reads("$.steps.a.output")),
    Sequential(a, Conditional('$.steps.a.status == "failed"', then=reads("$.steps.a.error.message"))),
    Sequential(Map("$.input.l", a, id="m"), reads("$.steps.m.output[0]")),
    Sequential(a, Map("$.input.l", Sequential(b, reads("$.steps.a.output + $.steps.b.output + $.index")))),
    Sequential(a, Map("$.input.l", Map("$.item", reads("$.steps.a.output")))),
    Sequential(Conditional("$.input.t == 1", then=a, id="d"), reads("$.steps.d.status")),
]


@pytest.mark.parametrize("step", ALLOWED)
def test_an_expression_can_read_the_steps_before(step: Step):
    freeze(Workflow("w", step))


def test_an_error_names_an_operation_that_is_not_registered():
    problem = refusal(Operation("chrage"), a, operations={"charge", "a"})
    assert str(problem) == 'step "chrage": operation: "chrage" is not registered (did you mean "charge"?)'


def test_a_workflow_that_calls_itself_is_refused_if_the_others_are_known():
    assert "would call itself without end: w → w" in str(refusal(SubWorkflow("w", id="again")))
    calls = {"x": ["y", "z"], "z": ["w"], "y": ["y"]}
    problem = refusal(a, SubWorkflow("x"), workflows=calls)
    assert problem.problems[0].step_id == "x"
    assert "w → x → z → w" in str(problem)
    freeze(Workflow("w", SubWorkflow("y")), workflows=calls)


def test_all_problems_are_listed_together_up_to_a_limit():
    problem = refusal(reads("$.steps.no.output", "x"), reads("$.steps.nor.output", "y"))
    assert [found.step_id for found in problem.problems] == ["x", "y"]
    many = refusal(*(reads("$.steps.no.output", f"x{n}") for n in range(100)))
    assert len(many.problems) == MAX_PROBLEMS


def test_nesting_has_a_limit():
    step: Step = a
    for _ in range(MAX_NESTING):
        step = Sequential(step)
    freeze(Workflow("w", step))
    with pytest.raises(DefinitionError, match=f"nested more than {MAX_NESTING} levels deep"):
        freeze(Workflow("w", Sequential(step)))


def test_nesting_through_map_bodies_has_the_same_limit():
    step: Step = a
    for depth in range(MAX_NESTING + 1):
        step = Map("$.input.l", step, id=f"m{depth}")
    with pytest.raises(DefinitionError, match="nested more than"):
        freeze(Workflow("w", step))


def test_fifty_thousand_steps_are_accepted_and_one_more_is_refused():
    steps = [
        Operation(f"s{n}", inputs={"x": f"$.steps.s{n - 1}.output"} if n else {}) for n in range(MAX_STEPS)
    ]
    graph = freeze(Workflow("w", Sequential(*steps)))
    assert len(graph.steps) == MAX_STEPS
    with pytest.raises(DefinitionError, match="more than 50,000 steps"):
        freeze(Workflow("w", Sequential(*steps, Operation("one-more"))))


def test_a_join_that_is_too_wide_is_refused_with_advice():
    wide = [Operation(f"a{n}") for n in range(500)]
    also = [Operation(f"b{n}") for n in range(500)]
    problem = refusal(Parallel(*wide), Parallel(*also))
    assert (
        f"make 250,000 dependencies; the limit of a workflow is {MAX_EDGES:,}: put one step between"
        in str(problem)
    )
    assert len(freeze(Workflow("w", Sequential(Parallel(*wide), a, Parallel(*also)))).edges) == 1000


@pytest.mark.requirement("RU-06")
def test_a_cycle_is_named_as_a_path():
    assert find_cycle({1: (2,), 2: (3,), 3: ()}) is None
    assert find_cycle({1: (2,), 2: (3, 4), 3: (4,), 4: (2,)}) == [2, 3, 4, 2]
    assert find_cycle({"x": ("x",)}) == ["x", "x"]
    assert find_cycle({n: (n + 1,) for n in range(20_000)} | {20_000: (0,)}) is not None
