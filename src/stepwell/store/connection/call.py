"""A database call as data: receives a statement and its parameters, returns a `Call`.

`perform.py` performs it on a pool or on a connection of the caller, sync or async.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from stepwell.errors import InvalidInput

T = TypeVar("T")
Rows = list[tuple[Any, ...]]

PAGE_LIMIT = 500


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One statement, its parameters, and the function that turns its rows into a value."""

    text: str
    parameters: tuple[Any, ...]
    decode: Callable[[Rows], T]


def value(rows: Rows) -> Any:
    return rows[0][0]


def value_or_none(rows: Rows) -> Any:
    return rows[0][0] if rows else None


def nothing(rows: Rows) -> None:
    return None


def page_size(limit: int) -> int:
    """The limit of a list, which is one page."""
    if not 1 <= limit <= PAGE_LIMIT:
        raise InvalidInput(f"limit is {limit}", hint=f"accepted is 1 to {PAGE_LIMIT}", field="limit")
    return limit
