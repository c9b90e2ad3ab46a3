"""YAML makes the same workflow as Python; an error names the place of each mistake and what is accepted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.define import (
    Conditional,
    DefinitionError,
    Human,
    Map,
    Operation,
    Parallel,
    Retry,
    Sequential,
    SubWorkflow,
    Wait,
    Workflow,
    read_yaml,
)
from stepwell.define.limits import MAX_YAML_BYTES
from tests.support.sample import sample

pytestmark = pytest.mark.requirement("RT-11")

ORDER = """\
# How an order is carried out.
workflow: order.process
title: Order
failure_policy: abort-dependents
steps:
  - validate                                # the name of an operation
  - parallel:
      - charge
      - operation: reserve
        id: hold
        inputs: {order: $.input.order_id, days: 3}
        retry: {max_attempts: 5, initial: 2s, max: PT1M, multiplier: 1.5, non_retryable: [ValueError]}
        timeout: 30
        priority: 3
        mandatory: false
        executor: process
    max_concurrency: 2
  - if: $.steps.charge.status == "completed"
    then:
      - map: $.steps.hold.output.items
        max_concurrency: 10
        do: pack
      - ship
    else: refund
  - if: {operation: is_large, inputs: {order: $.input.order_id}}
    id: large
    then:
      sequential: [insure]
  - human: sign-off
    role: warehouse
    deadline: 4h
    form: {type: object, properties: {ok: {type: boolean}}}
  - wait: carrier.picked_up
    timeout: 2d
  - workflow: invoice.close
    inputs: {order: $.input.order_id}
"""


def test_yaml_and_python_make_the_same_workflow():
    retry = Retry(5, initial="2s", max="1m", multiplier=1.5, non_retryable=(ValueError,))
    order = {"order": "$.input.order_id"}
    assert read_yaml(ORDER) == Workflow(
        "order.process",
        Sequential(
            Operation("validate"),
            Parallel(
                Operation("charge"),
                Operation(
                    "reserve",
                    id="hold",
                    inputs=order | {"days": 3},
                    retry=retry,
                    timeout="30s",
                    priority=3,
                    mandatory=False,
                    executor="process",
                ),
                max_concurrency=2,
            ),
            Conditional(
                '$.steps.charge.status == "completed"',
                then=Sequential(
                    Map("$.steps.hold.output.items", Operation("pack"), max_concurrency=10), Operation("ship")
                ),
                otherwise=Operation("refund"),
            ),
            Conditional(
                Operation("is_large", inputs=order), then=Sequential(Operation("insure")), id="large"
            ),
            Human(
                "sign-off",
                role="warehouse",
                deadline="4h",
                form={"type": "object", "properties": {"ok": {"type": "boolean"}}},
            ),
            Wait("carrier.picked_up", timeout="2d"),
            SubWorkflow("invoice.close", inputs=order),
        ),
        failure_policy="abort-dependents",
        title="Order",
    )


def test_a_list_becomes_a_sequential_and_a_single_step_does_not():
    assert read_yaml("{workflow: w, steps: a}").root == Operation("a")
    assert read_yaml("{workflow: w, steps: [a]}").root == Sequential(Operation("a"))


def test_bytes_and_a_byte_order_mark_are_read():
    assert read_yaml("\ufeffworkflow: w\nsteps: [a]\n".encode()) == read_yaml("workflow: w\nsteps: [a]")


MISTAKES = [
    ("workflow:\nsteps: [a]\n", 'workflow: "" is not a valid name'),
    ("", "1:1: the file is empty"),
    ("# only a comment\n", "1:1: the file is empty"),
    ("workflow: w\n", '1:1: the key "steps" is missing'),
    ("- a\n", "1:1: a list is not accepted; accepted: a mapping with the keys workflow"),
    ("workflow: w\nstep: [a]\nsteps: [b]\n", '2:1: the key "step" is not known (did you mean "steps"?)'),
    ("workflow: w\nworkflow: v\n", '2:1: the key "workflow" was already given in line 1'),
    ("workflow: w\nsteps: [a\n", "not YAML"),
    ("workflow: w\n\tsteps: [a]\n", "not YAML"),
    ("workflow: w\nsteps: [\x07]\n", "2:9: not YAML"),
    ("workflow: w\nsteps: []\n", "2:8: an empty list is not accepted"),
    ("workflow: w\nsteps: [5]\n", "2:9: a number is not a step"),
    ("workflow: w\nsteps: [[a]]\n", "2:9: a list is not a step"),
    ("workflow: w\nsteps: [a, ~]\n", "2:12: nothing is not a step"),
    ("workflow: w\nsteps: [a b]\n", '2:9: operation: "a b" is not a valid name'),
    ("workflow: [w]\nsteps: [a]\n", "1:11: workflow: a list is not a valid name"),
    ("workflow: w\nfailure_policy: abort\nsteps: [a]\n", '2:17: failure_policy: "abort" is not known'),
    (
        "workflow: w\nsteps:\n  - paralel: [a]\n",
        '3:5: no kind of step in "paralel" (did you mean "parallel"?)',
    ),
    ("workflow: w\nsteps:\n  - {wait: x, human: y}\n", "3:5: a step has one kind, not wait and human"),
    (
        "workflow: w\nsteps:\n  - operation: a\n    timout: 4h\n",
        '4:5: the key "timout" is not known (did you mean',
    ),
    (
        "workflow: w\nsteps:\n  - operation: a\n    timeout: 4 hours\n",
        '4:14: timeout: "4 hours" is not a duration',
    ),
    ("workflow: w\nsteps:\n  - operation: a\n    timeout:\n", "timeout: is empty; write a value or leave"),
    (
        "workflow: w\nsteps:\n  - operation: a\n    retry: 5\n",
        "4:12: a number is not accepted; accepted: a mapping",
    ),
    ("workflow: w\nsteps:\n  - operation: a\n    retry: {max_attempts: 0}\n", "4:27: retry.max_attempts:"),
    ("workflow: w\nsteps:\n  - operation: a\n    mandatory: yes\n", "4:16: mandatory:"),
    (
        "workflow: w\nsteps:\n  - operation: a\n    optional: true\n",
        '4:5: the key "optional" is not known (write "mandatory: false"); accepted: operation, id',
    ),
    (
        "workflow: w\nsteps:\n  - operation: a\n    inputs: {x: [1]}\n",
        "4:17: inputs.x: a list is not accepted",
    ),
    ("workflow: w\nsteps:\n  - operation: a\n    inputs: {x: $.steps.b.output}\n", "4:17: step"),
    ("workflow: w\nsteps:\n  - parallel: [a]\n    max_concurrency: 0\n", "4:22: max_concurrency:"),
    ("workflow: w\nsteps:\n  - map: $.input.x\n", '3:5: a map needs the key "do"'),
    ("workflow: w\nsteps:\n  - if: true\n    then: a\n", "3:9: if: true or false is not accepted"),
    ("workflow: w\nsteps:\n  - if: {wait: x}\n    then: a\n", "3:9: is not an operation"),
    (
        "workflow: w\nsteps:\n  - if: b\n    then: a\n",
        '3:9: step "if.a": test: reads step "b", which does not exist',
    ),
    ("workflow: w\nsteps:\n  - if: $.input.x\n", "3:5: then: has neither then nor otherwise"),
    ("workflow: w\nsteps:\n  - if: $.input.x\n    else: []\n", "4:11: an empty list"),
    ("workflow: w\nsteps:\n  - human: x\n", "no person can do the step"),
    ("workflow: w\nsteps:\n  - a\n  - operation: b\n    id: a\n", '5:9: step "a": id: the id is used twice'),
    ("workflow: w\nsteps:\n  - workflow: w\n", "3:15: step"),
    ("workflow: w\nsteps:\n  - &x a\n  - *x\n", "3:5: anchors and aliases are not accepted"),
    ("workflow: w\nsteps: [!!python/name:os.system a]\n", "2:9: the tag"),
    ("workflow: w\nsteps: [a]\n---\nworkflow: v\n", "3:1: a second document begins here"),
    ("1: w\nsteps: [a]\n", "1:1: a number is not accepted as a key"),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES)
def test_the_error_names_the_place_of_a_mistake(text: str, message: str):
    with pytest.raises(DefinitionError) as refused:
        read_yaml(text, file="order.yaml")
    for problem in refused.value.problems:
        assert str(problem).startswith(f"order.yaml:{problem.line}:{problem.column}: ")
    assert message in str(refused.value)


def test_one_error_lists_several_mistakes():
    text = "workflow: w\nsteps:\n  - operation: a\n    timout: 1\n"
    text += "  - parallel: []\n  - wait: b\n    timeout: x\n"
    with pytest.raises(DefinitionError) as refused:
        read_yaml(text)
    assert [problem.line for problem in refused.value.problems] == [4, 5, 7]


MANY = """\
workflow: order process
failure_policy: abort
steps:
  - operaton: validate
    timeout: soon
  - parallel:
      - operation: charge
        retry: {max_attempts: 0, initial: never}
        timout: 30 second
      - operation: reserve
        inputs: {order: $.input.order_id, more: [1], bad: $.stps.x}
    max_concurrency: many
  - if: $.steps.chrage.status == "completed"
    then:
      map: $.steps.reserve.output.items
      do: pack
    else: refund
    else: other
  - human: sign-off
    deadline: later
    tasks:
      - {id: one, role: clerk}
      - {id: two words, role: clerk}
      - {id: three}
    escalation: [{after: 1h}]
  - wait: carrier.picked_up
    timeout: 2 dys
  - 7
  - operation: charge
  - operation: close
    inputs: {a: $.steps.pack.output, b: $.steps.validate.output, c: $.input.x = 1}
    mandatory: perhaps
    priority: 99999999
  - *x
  - map: $.steps.charge.output
"""


def test_one_error_lists_mistakes_of_syntax_fields_references_and_expressions():
    with pytest.raises(DefinitionError) as refused:
        read_yaml(MANY)
    found = [(problem.line, problem.column) for problem in refused.value.problems]
    assert found == [
        (1, 11), (2, 17), (4, 5), (5, 14), (8, 31), (8, 43), (9, 9), (9, 17), (11, 49), (11, 59), (12, 22),
        (13, 9), (18, 5), (19, 5), (20, 15), (23, 14), (24, 9), (25, 18), (27, 14), (28, 5), (29, 5),
        (31, 17), (31, 69), (32, 16), (33, 15), (34, 5), (35, 5),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "head", ["operation", "parallel", "sequential", "if", "map", "human", "wait", "workflow"]
)
def test_an_empty_kind_is_one_mistake_and_the_rest_is_still_read(head: str):
    text = f"workflow: w\nsteps:\n  - {head}:\n    timeot: 1\n  - operation: b\n    timeout: soon\n"
    with pytest.raises(DefinitionError) as refused:
        read_yaml(text)
    lines = [problem.line for problem in refused.value.problems]
    assert lines[0] == 3
    assert 4 in lines
    assert lines[-1] == 6


def test_a_reference_to_an_unreadable_step_is_no_second_mistake():
    text = "workflow: w\nsteps:\n  - {id: first, opp: charge}\n  - operation: b\n"
    text += "    inputs: {x: $.steps.first.output, y: $.steps.frist.output}\n"
    with pytest.raises(DefinitionError) as refused:
        read_yaml(text)
    assert [(problem.line, problem.field) for problem in refused.value.problems] == [
        (3, None), (5, "inputs.y"),
    ]  # fmt: skip


PARTS = {
    "timeout: soon": "is not a duration",
    "timout: 1h": "is not known",
    "priority: high": "is not accepted",
    "inputs: {x: $.steps.nothing.output}": "does not exist",
    "retry: {max_attempts: none}": "is not accepted",
    "title: 7": "accepted: a text",
}


@sample(50)
@given(st.lists(st.sampled_from(sorted(PARTS)), min_size=1, max_size=12))
def test_every_mistake_is_listed_once_in_order(mistakes: list[str]):
    steps = "".join(f"  - operation: step{at}\n    {part}\n" for at, part in enumerate(mistakes))
    with pytest.raises(DefinitionError) as refused:
        read_yaml(f"workflow: w\nsteps:\n{steps}")
    assert [problem.line for problem in refused.value.problems] == [4 + 2 * at for at in range(len(mistakes))]
    for part, problem in zip(mistakes, refused.value.problems, strict=True):
        assert PARTS[part] in str(problem)


def test_registered_operations_can_be_checked_with_their_line():
    with pytest.raises(DefinitionError, match=r'f:3:5: step "chrage": operation: "chrage" is not registered'):
        read_yaml("workflow: w\nsteps:\n  - chrage\n", file="f", operations={"charge"})


def test_the_size_and_the_nesting_of_a_file_are_limited():
    with pytest.raises(DefinitionError, match="the limit is 1,048,576"):
        read_yaml("#" + "x" * MAX_YAML_BYTES)
    with pytest.raises(DefinitionError, match="nested more than 100 levels deep"):
        read_yaml("[" * 100_000)
    nested = "{if: $.input.x, then: " * 40 + "a" + "}" * 40
    with pytest.raises(DefinitionError, match="nested more than 32 levels deep"):
        read_yaml(f"workflow: w\nsteps: {nested}")


def test_bytes_that_are_not_utf8_are_refused():
    with pytest.raises(DefinitionError, match="not UTF-8: byte 3"):
        read_yaml(b"w: \xff"[1:])


@sample(50)
@given(st.text(max_size=80) | st.binary(max_size=80))
def test_any_text_is_read_or_refused_without_another_error(text: str | bytes):
    with pytest.raises(DefinitionError):
        read_yaml(text)
