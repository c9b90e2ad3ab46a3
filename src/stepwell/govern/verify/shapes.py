"""The shape of a value: receives a JSON text, returns its names and types without its values."""

from __future__ import annotations

from typing import Any

from stepwell.govern.verify.files import loads, nesting
from stepwell.govern.verify.words import (
    SHAPE_DEPTH_LIMIT,
    SHAPE_NAMES_LIMIT,
    SHAPE_NESTING_LIMIT,
    SHAPE_PATHS_LIMIT,
)


def shape(text: str) -> list[str]:
    """The names in a JSON text with their types, but without the values: `$.items[].price: number`."""
    if nesting(text) > SHAPE_NESTING_LIMIT:
        return ["$: deep"]
    found: dict[str, None] = {}
    try:
        _walk(loads(text), "$", 0, found)
    except ValueError:
        return ["$: no JSON"]
    paths = list(found)
    if len(paths) > SHAPE_PATHS_LIMIT:
        return [*paths[:SHAPE_PATHS_LIMIT], f"and {len(paths) - SHAPE_PATHS_LIMIT} more"]
    return paths


def _walk(value: Any, at: str, depth: int, found: dict[str, None]) -> None:
    kinds = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}
    found[f"{at}: {kinds.get(type(value), 'number')}"] = None
    if depth >= SHAPE_DEPTH_LIMIT:
        return
    if isinstance(value, dict):
        is_table = len(value) > SHAPE_NAMES_LIMIT
        for name in sorted(value):
            _walk(value[name], f"{at}.*" if is_table else f"{at}.{name}", depth + 1, found)
    elif isinstance(value, list):
        for inner in value:
            _walk(inner, f"{at}[]", depth + 1, found)
