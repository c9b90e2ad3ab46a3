"""Check ids, texts and numbers of a definition: receives a value, returns it or raises DefinitionError."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from stepwell.define.limits import (
    MAX_EXPRESSION_LENGTH,
    MAX_INPUTS,
    MAX_NAME_LENGTH,
    MAX_TITLE_LENGTH,
)
from stepwell.define.problem import DefinitionError, quoted

__all__ = [
    "is_id",
    "require_id",
    "require_inputs",
    "require_int",
    "require_number",
    "require_text",
]

_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", re.ASCII)
ID_RULE = (
    f"accepted: 1 to {MAX_NAME_LENGTH} letters a-z, digits, '_', '-' and '.', "
    "beginning with a letter, a digit or '_'"
)
# PostgreSQL stores neither U+0000 nor half a surrogate pair.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


_KINDS: dict[type, str] = {
    type(None): "nothing",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
    tuple: "a list",
    dict: "a mapping",
}


def kind_of(value: object) -> str:
    """The kind of a value in words: nothing, a list, a number; of other values the name of their class."""
    return _KINDS.get(type(value)) or f"a {type(value).__name__}"


def is_id(value: str) -> bool:
    return len(value) <= MAX_NAME_LENGTH and _ID.fullmatch(value) is not None


def require_id(value: object, field: str, *, step_id: str | None = None) -> str:
    if isinstance(value, str) and is_id(value):
        return value
    shown = quoted(value) if isinstance(value, str) else kind_of(value)
    length = f" ({len(value)} characters)" if isinstance(value, str) and len(value) > MAX_NAME_LENGTH else ""
    raise DefinitionError.one(f"{shown}{length} is not a valid name; {ID_RULE}", field=field, step_id=step_id)


def require_text(value: object, field: str, *, limit: int = MAX_TITLE_LENGTH) -> str:
    if not isinstance(value, str) or not value.strip():
        shown = "empty" if isinstance(value, str) else kind_of(value)
        raise DefinitionError.one(f"is {shown}; accepted: a text of 1 to {limit} characters", field=field)
    if len(value) > limit:
        raise DefinitionError.one(f"has {len(value)} characters; the limit is {limit}", field=field)
    if UNSTORABLE.search(value):
        raise DefinitionError.one(
            "contains a character that cannot be stored (U+0000 or a lone surrogate)", field=field
        )
    return value


def require_int(value: object, field: str, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise DefinitionError.one(
            f"{quoted(value)} is not accepted; accepted: a whole number from {low:,} to {high:,}", field=field
        )
    return value


def require_number(value: object, field: str, low: int, high: int) -> int | float:
    """A number in the range; a whole number as int, so that 2 and 2.0 are stored in the same way."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise DefinitionError.one(
            f"{quoted(value)} is not accepted; accepted: a number from {low:,} to {high:,}", field=field
        )
    return int(value) if value == int(value) else value


def require_inputs(value: object, field: str = "inputs") -> dict[str, str]:
    """Parameter → SQL/JSON path. Numbers, booleans and None become literals of the path."""
    if not isinstance(value, Mapping):
        raise DefinitionError.one(
            f"{kind_of(value)} is not accepted; accepted: a mapping of names to expressions",
            field=field,
        )
    if len(value) > MAX_INPUTS:
        raise DefinitionError.one(f"has {len(value)} parameters; the limit is {MAX_INPUTS}", field=field)
    return {
        require_id(name, f"{field}.{name}"): _as_path(given, f"{field}.{name}")
        for name, given in value.items()
    }


def _as_path(value: object, field: str) -> str:
    if isinstance(value, str):
        return require_text(value, field, limit=MAX_EXPRESSION_LENGTH)
    if value is None or isinstance(value, int | float):
        try:
            return json.dumps(value, allow_nan=False)
        except ValueError:
            pass
    raise DefinitionError.one(
        f"{kind_of(value)} is not accepted; accepted: an expression like $.input.order_id, "
        "a number, true, false or null",
        field=field,
    )
