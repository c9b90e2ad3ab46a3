"""What a person filled in wrongly is said in sentences: the field, and what is accepted."""

from __future__ import annotations

from typing import Any

import pytest

from stepwell.errors import InvalidInput
from stepwell.people import check_form

FORM = {
    "type": "object",
    "required": ["ok", "count"],
    "properties": {
        "ok": {"type": "boolean"},
        "count": {"type": "integer", "minimum": 3},
        "size": {"enum": ["small", "large"]},
        "note": {"type": "string", "maxLength": 3},
        "lines": {"type": "array", "items": {"type": "object", "required": ["sku"]}},
    },
    "additionalProperties": False,
}
GOOD = {"ok": True, "count": 3}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "output.ok: the field is missing; output.count: the field is missing"),
        ({**GOOD, "ok": "yes"}, 'output.ok: the type boolean is required, not "yes"'),
        ({**GOOD, "count": 2}, "output.count: at least 3 is accepted, not 2"),
        ({**GOOD, "size": "huge"}, 'output.size: accepted are small, large, not "huge"'),
        ({**GOOD, "note": "long"}, 'output.note: a text of at most 3 characters is accepted, not "long"'),
        ({**GOOD, "lines": [{}]}, "output.lines[0].sku: the field is missing"),
        ({**GOOD, "okay": 1}, "output: unknown field okay; accepted: ok, count, size, note, lines"),
    ],
)
def test_a_problem_names_the_field_and_what_is_accepted(given: dict[str, Any], said: str):
    with pytest.raises(InvalidInput) as raised:
        check_form(FORM, given)
    assert str(raised.value).startswith(said)


def test_a_good_form_is_accepted():
    check_form(FORM, GOOD)
