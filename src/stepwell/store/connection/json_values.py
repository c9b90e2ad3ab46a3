"""Read JSON values of the database: receives their text, returns the value, or why it cannot be read.

An answer has the values of many units. PostgreSQL stores values that a parser refuses: lists nested too deep,
numbers with too many digits. New ones are refused when they are given; one that is already stored must affect
only its own unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json


@dataclass(frozen=True)
class Unreadable:
    """Stands for a value that cannot be read."""

    reason: str


def read(text: str | bytes) -> Any:
    try:
        return from_json(text)
    except ValueError as error:
        return Unreadable(f"the value is JSON that cannot be read: {error}")
