"""A call of the database as data: receives a statement and its parameters, returns a `Call`.

Whoever has a connection, sync or async, its own or the caller's, carries it out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Rows = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One statement, its parameters, and how its rows become a value."""

    text: str
    parameters: tuple[Any, ...]
    decode: Callable[[Rows], T]


def value(rows: Rows) -> Any:
    return rows[0][0]


def value_or_none(rows: Rows) -> Any:
    return rows[0][0] if rows else None


def nothing(rows: Rows) -> None:
    return None
