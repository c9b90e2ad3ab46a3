"""Write values as JSON text for Postgres: receives any value, returns its text or names the wrong place.

Only this module writes JSON for the database. JSON has no NaN and no infinity, and Postgres cannot store
U+0000: a value that contains one is refused, never changed silently.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections import deque
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from stepwell.errors import InvalidInput

if TYPE_CHECKING:
    from pydantic import TypeAdapter

# Matches an escaped NUL, but not an escaped backslash before "u0000".
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
# How deep the search for a wrong place goes; below that, the message names the place where the search ended.
PLACE_DEPTH_LIMIT = 20
_NAMES = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
# What JSON writes as a list.
_LISTS = (list, tuple, set, frozenset, deque)
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")


@functools.cache
def _core() -> ModuleType:
    """Loaded at the first value: a command that only reads writes none."""
    import pydantic_core

    return pydantic_core


def encode(
    value: Any, what: str, adapter: TypeAdapter[Any] | None = None, *, nan_as_null: bool = False
) -> str:
    """JSON text of a value; `what` names it in errors (`input`, `result`), `adapter` has its declared type.

    `nan_as_null` is for values that must be stored because the action has already happened.
    """
    encoded: bytes
    try:
        if adapter is None:
            encoded = _core().to_json(value, inf_nan_mode="null" if nan_as_null else "constants")
        else:
            encoded = adapter.dump_json(value)
    except (ValueError, RecursionError) as error:
        place = what + _place(value, _cannot_be_written)
        raise InvalidInput(f"{place}: {_reason(error)}", field=place) from error
    # Pydantic writes NaN in a model as null, and elsewhere as a constant that is not JSON.
    if not nan_as_null and (b"null" in encoded or b"NaN" in encoded or b"Infinity" in encoded):
        _refuse_non_finite(value, what, adapter, encoded)
    if holds_nul(encoded):
        place = what + _place(_core().to_jsonable_python(value), _holds_nul)
        raise InvalidInput(
            f"{place}: a text contains the character U+0000, which Postgres cannot store", field=place
        )
    return encoded.decode()


def holds_nul(encoded: bytes) -> bool:
    """True if a text in this JSON contains U+0000, which Postgres cannot store."""
    return b"\\u0000" in encoded and _NUL.search(encoded) is not None


def _refuse_non_finite(value: Any, what: str, adapter: TypeAdapter[Any] | None, encoded: bytes) -> None:
    from pydantic import TypeAdapter

    if _is_finite(value):
        return
    # Not mode="json": for a part of type Any it writes NaN as None, and the number is gone.
    plain = (TypeAdapter(Any) if adapter is None else adapter).dump_python(value)
    found = _non_finite(plain, json.loads(encoded), what)
    if found is not None:
        place, number = found
        raise InvalidInput(f"{place}: {_NAMES[str(number)]} is not JSON; give null or a text", field=place)


def _is_finite(value: Any) -> bool:
    """True if the value is plain JSON without NaN; false also if it must be converted first."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def _non_finite(plain: Any, written: Any, place: str) -> tuple[str, float] | None:
    """The first number that JSON does not have; a model may write such numbers as texts."""
    if isinstance(plain, float):
        is_bad = not math.isfinite(plain) and not isinstance(written, str)
        return (place, float(plain)) if is_bad else None
    pairs: Iterable[tuple[str, Any, Any]] = ()
    # Both have the same order; the keys are those of JSON, where each is a text.
    if isinstance(plain, dict) and isinstance(written, dict):
        both = zip(plain.values(), written.items(), strict=False)
        pairs = ((place + _key(key), part, text) for part, (key, text) in both)
    elif isinstance(plain, _LISTS) and isinstance(written, list):
        both_parts = enumerate(zip(plain, written, strict=False))
        pairs = ((f"{place}[{no}]", part, text) for no, (part, text) in both_parts)
    return next((found for inner in pairs if (found := _non_finite(inner[1], inner[2], inner[0]))), None)


def _place(value: Any, is_bad: Callable[[Any], bool], depth: int = 0) -> str:
    """The path to the innermost wrong part; empty if no single part is wrong. The limit ends cycles."""
    parts: list[tuple[str, Any]] = []
    if depth < PLACE_DEPTH_LIMIT and isinstance(value, dict):
        parts = [(_key(key), part) for key, part in value.items()]
    elif depth < PLACE_DEPTH_LIMIT and isinstance(value, list | tuple):
        parts = [(f"[{no}]", part) for no, part in enumerate(value)]
    for name, part in parts:
        if is_bad(part):
            return name + _place(part, is_bad, depth + 1)
    return ""


def _key(key: Any) -> str:
    return f".{key}" if isinstance(key, str) and _PLAIN_KEY.match(key) else f"[{key!r}]"


def _cannot_be_written(value: Any) -> bool:
    try:
        _core().to_json(value)
    except (ValueError, RecursionError):
        return True
    return False


def _holds_nul(value: Any) -> bool:
    return holds_nul(_core().to_json(value))


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    text = " ".join(str(error).split())
    return text.removeprefix("Error serializing to JSON: ")[:200]
