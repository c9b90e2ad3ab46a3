"""Which steps an expression reads, and which texts are refused as an expression."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.define import expression
from stepwell.define.expression import ExpressionError, read_expression, step_path

READABLE = [
    ("$.input", ()),
    ("$.input.order_id", ()),
    ('$.steps.charge.status == "completed"', ("charge",)),
    ('$.steps."sign-off".output.ok == true', ("sign-off",)),
    ('$."steps"."a.b"."output"', ("a.b",)),
    ('$."st\\u0065ps".\\u0061'.replace(".\\u0061", '."\\u0061".output'), ("a",)),
    ("strict $.steps.a.output[0].x", ("a",)),
    ("$.steps.a.output.items[*] ? (@.price > $.steps.b.output.limit)", ("a", "b")),
    ('exists($.steps.a.output.tags[*] ? (@ like_regex "^x" flag "i"))', ("a",)),
    ("$.steps.a.output.size() > 3 && !($.steps.b.error.code == 5)", ("a", "b")),
    ('$.steps.a.output.name starts with "A" || (($.steps.a.output.n > 1) is unknown)', ("a",)),
    ("$ /* the root */ . steps /* $.steps.hidden */ . a . output", ("a",)),
    ('$.input.text == "$.steps.not_read.output"', ()),
    ("-$.input.n + 2 * 3 % 4 - 1.5e3 / .5", ()),
    ("$.input.tree.**{2 to last}.leaf", ()),
    ("$.input[last - 1, 0 to 2]", ()),
    ('$.input.at.datetime("YYYY-MM-DD") < 5', ()),
    ("5", ()),
    ("null", ()),
    ('"text with \\" and \\u00e9"', ()),
]


@pytest.mark.parametrize(("text", "steps"), READABLE)
def test_the_steps_that_an_expression_reads_are_found(text: str, steps: tuple[str, ...]):
    assert read_expression(text).steps == steps


@pytest.mark.requirement("RX-06")
@pytest.mark.parametrize(
    ("text", "judged", "outputs"),
    [
        ("$.steps.a.status", ("a",), ()),
        ("$.steps.a.output.ok", (), ("a",)),
        ('$.steps.a.status == "failed" && $.steps.b.output.ok == true', ("a",), ("b",)),
        ('$.steps.a.error.type == "Timeout" || $."steps"."a"."output".n > 1', ("a",), ("a",)),
        ("$.input.status == 1", (), ()),
    ],
)
def test_a_status_and_an_error_are_told_from_an_output(
    text: str, judged: tuple[str, ...], outputs: tuple[str, ...]
):
    reading = read_expression(text)
    assert (reading.judged, reading.outputs) == (judged, outputs)


def test_reading_the_item_or_index_is_found():
    assert read_expression("$.item.id").reads_item
    assert read_expression("$.input[0] == $.index").reads_item
    assert not read_expression("$.input.item").reads_item


BROKEN = [
    ("", "is empty"),
    ("   ", "is empty"),
    ("$", "reads the whole document"),
    ("$.*", "reads the whole document"),
    ("$.**", "reads the whole document"),
    ("$[0]", "reads the whole document"),
    ("$.keyvalue()", "reads the whole document"),
    ("$.stpes.a.output", "$.stpes at 1 does not exist"),
    ("$.steps", "reads every step"),
    ("$.steps.*.output", "reads every step"),
    ("$.steps[*]", "reads every step"),
    ("$.steps.a", "comes nothing; accepted: .status, .output or .error"),
    ("$.steps.a.result", "comes .result; accepted"),
    ("$.steps.sign-off.output", 'written in double quotes: $.steps."sign…"'),
    ("$.steps.a.b.output", "written in double quotes"),
    ("$foo.bar", "there are no variables"),
    ('$.steps.a.status == "completed', "no closing quote"),
    ("$.steps.a.status == 'completed'", "double quotes"),
    ('$.steps.a.status = "completed"', 'compares with "=="'),
    ("$.steps.a.status == completed", "write texts in double quotes"),
    ("$.input.a and $.input.b", "writes &&"),
    ("not $.input.a", "writes !"),
    ("$.input.a == None", "writes null"),
    ("$.input.a & $.input.b", "&& and ||"),
    ("($.input.a", "no closing bracket"),
    ("$.input.a)", "has no opening bracket"),
    ("$.input[0)", "has no opening bracket"),
    ("$.input.a ==", "something is missing"),
    ("$.input.", "something is missing"),
    ("$.input /* open", "not closed"),
    ("$.input.a; drop", "is not known"),
    ("$.\\u0073teps.a.output", "does not belong"),
    ('$.steps."\\u0000".output', "not a character"),
]


@pytest.mark.parametrize(("text", "message"), BROKEN)
def test_a_text_that_is_no_path_is_refused_with_a_reason(text: str, message: str):
    with pytest.raises(ExpressionError) as refused:
        read_expression(text)
    assert message in str(refused.value)


def test_the_length_of_an_expression_is_limited():
    read_expression("$.input." + "a" * 1_992)
    with pytest.raises(ExpressionError, match="the limit is 2,000"):
        read_expression("$.input." + "a" * 1_993)


@given(st.from_regex(expression._PLAIN_PATH, fullmatch=True).filter(lambda text: len(text) < 200))
def test_the_fast_reader_of_plain_paths_finds_the_same_steps(text: str):
    # With a space in front the same path is read by the full parser.
    assert read_expression(text) == read_expression(f" {text}")


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_without_another_error(text: str):
    with suppress(ExpressionError):
        read_expression(text)


@given(st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True))
def test_the_path_of_any_step_id_reads_that_step(step_id: str):
    assert read_expression(step_path(step_id)).steps == (step_id,)
