"""Check a JSON Schema: receives a type or a JSON Schema, returns the schema as it is stored.

Clients check forms with the full JSON Schema. Only the database checks the input of a run: a keyword that it
cannot check is refused here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any, Final

from typing_extensions import is_typeddict

from stepwell.define.limits import MAX_FORM_BYTES
from stepwell.define.names import UNSTORABLE, kind_of
from stepwell.define.problem import DefinitionError, did_you_mean, quoted
from stepwell.json_text import holds_nul

if TYPE_CHECKING:
    from jsonschema import ValidationError

__all__ = ["input_problem", "problem_of", "require_form", "require_schema"]

# Keywords that the database checks, and keywords that are only descriptions.
CHECKED: Final = (
    "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
    "minLength", "maxLength", "pattern", "properties", "required", "additionalProperties", "propertyNames",
    "minProperties", "maxProperties", "items", "prefixItems", "minItems", "maxItems", "uniqueItems",
    "anyOf", "oneOf", "allOf", "$ref", "$defs", "definitions",
)  # fmt: skip
FOR_READERS: Final = (
    "title", "description", "default", "example", "examples", "format", "deprecated", "readOnly", "writeOnly",
    "discriminator", "contentMediaType", "contentEncoding", "$schema", "$id", "$comment",
)  # fmt: skip
# Keyword → what it accepts, in words.
_ACCEPTED: Final = {
    "type": "the type {} is required",
    "enum": "accepted are {}",
    "const": "only {} is accepted",
    "minimum": "at least {} is accepted",
    "maximum": "at most {} is accepted",
    "exclusiveMinimum": "more than {} is accepted",
    "exclusiveMaximum": "less than {} is accepted",
    "minLength": "a text of at least {} characters is required",
    "maxLength": "a text of at most {} characters is accepted",
    "minItems": "at least {} items are required",
    "maxItems": "at most {} items are accepted",
    "pattern": "a text that matches {} is required",
    "format": "a text of the format {} is required",
}
SHOWN_CHARACTERS: Final = 100
_NAMED: Final = ("properties", "$defs", "definitions")
_LISTED: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE: Final = ("additionalProperties", "propertyNames", "items")


def require_schema(value: object, field: str) -> dict[str, Any]:
    """A JSON Schema of an object; refuses keywords that the database does not check."""
    found = require_form(value, field)
    for path, keyword in _unknown(found, field):
        raise DefinitionError.one(
            f"the keyword {quoted(keyword)} is not checked by the database{did_you_mean(keyword, CHECKED)}; "
            f"accepted: {', '.join(CHECKED)}",
            field=f"{path}.{keyword}",
        )
    return found


def input_problem(schema: Mapping[str, Any] | None, value: Any) -> str | None:
    """The problem of an input, for simulated runs in memory; the database checks real runs."""
    if schema is None:
        return None
    import jsonschema

    error = next(jsonschema.Draft202012Validator(schema).iter_errors(value), None)
    return None if error is None else problem_of(error, "input")


def problem_of(error: ValidationError, root: str) -> str:
    """One problem of a value in plain words: the field, and what is accepted."""
    place, keyword, accepted = error.json_path.replace("$", root, 1), error.validator, error.validator_value
    if keyword == "required" and isinstance(error.instance, dict):
        # The library reports each missing field by itself, and names it only in its message.
        missing = next(name for name in accepted if error.message.startswith(repr(name)))
        return f"{place}.{missing}: the field is missing"
    if keyword == "additionalProperties" and accepted is False and isinstance(error.instance, dict):
        known = error.schema.get("properties", {}) if isinstance(error.schema, Mapping) else {}
        unknown = [name for name in error.instance if name not in known]
        return f"{place}: unknown field {', '.join(unknown)}; accepted: {', '.join(known) or 'none'}"
    found = _shortened(json.dumps(error.instance, ensure_ascii=False, default=str))
    words = _ACCEPTED.get(str(keyword))
    if words is None:
        return f"{place}: {error.message}"
    if isinstance(accepted, list):
        accepted = ", ".join(one if isinstance(one, str) else json.dumps(one) for one in accepted)
    return f"{place}: {words.format(accepted)}, not {found}"


def _shortened(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"


def _unknown(schema: object, path: str) -> Iterator[tuple[str, str]]:
    if not isinstance(schema, Mapping):
        return
    for keyword, value in schema.items():
        if keyword not in CHECKED and keyword not in FOR_READERS and not keyword.startswith("x-"):
            yield path, keyword
        elif keyword in _NAMED and isinstance(value, Mapping):
            for name, inner in value.items():
                yield from _unknown(inner, f"{path}.{keyword}.{name}")
        elif keyword in _LISTED and isinstance(value, list):
            for at, inner in enumerate(value):
                yield from _unknown(inner, f"{path}.{keyword}[{at}]")
        elif keyword in _SINGLE:
            yield from _unknown(value, f"{path}.{keyword}")


def require_form(value: object, field: str = "form") -> dict[str, Any]:
    """A JSON Schema from a type or a mapping; a copy, so that later changes have no effect."""
    value = _described(value, field)
    if not isinstance(value, Mapping):
        raise DefinitionError.one(
            f"{kind_of(value)} is not accepted; accepted: a Pydantic model, a dataclass, a TypedDict "
            "or a JSON Schema",
            field=field,
        )
    try:
        text = json.dumps(dict(value), allow_nan=False, ensure_ascii=False)
        copied: dict[str, Any] = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise DefinitionError.one(
            f"is not JSON: {error}; accepted: a JSON Schema object", field=field
        ) from None
    # A lone surrogate has no bytes, so the search for it comes first.
    if UNSTORABLE.search(text) or holds_nul(text.encode()):
        raise DefinitionError.one(
            "contains a character that cannot be stored (U+0000 or a lone surrogate)", field=field
        )
    size = len(text.encode())
    if size > MAX_FORM_BYTES:
        raise DefinitionError.one(f"has {size:,} bytes; the limit is {MAX_FORM_BYTES:,}", field=field)
    if copied.get("type", "object") != "object":
        raise DefinitionError.one(
            f'describes a {quoted(copied["type"])}; accepted: a JSON Schema with "type": "object"',
            field=field,
        )
    return copied


def _described(value: object, field: str) -> object:
    """The schema of a type; any other value unchanged."""
    if not isinstance(value, type):
        return value
    from pydantic import BaseModel, TypeAdapter
    from pydantic.errors import PydanticUserError

    if not (issubclass(value, BaseModel) or is_dataclass(value) or is_typeddict(value)):
        return value
    try:
        return TypeAdapter(value).json_schema()
    except PydanticUserError as error:
        raise DefinitionError.one(
            f"{value.__name__} cannot be described as a JSON Schema: {error.message.splitlines()[0]}",
            field=field,
        ) from error
