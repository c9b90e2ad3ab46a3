"""Figures for monitoring: returns a call that reads those of the tenant of the caller."""

from __future__ import annotations

from dataclasses import dataclass

from stepwell.sql import support_text
from stepwell.store.connection.call import Call

COUNT_LIMIT = 10_000


@dataclass(frozen=True, slots=True)
class Figure:
    """One value. Its label has a name and a value, such as `executor` and `general`; or there is none."""

    name: str
    label_name: str | None
    label: str | None
    value: float


def figures() -> Call[list[Figure]]:
    text = support_text("metrics")
    return Call(text, (COUNT_LIMIT,) * text.count("%s"), lambda rows: [Figure(*row) for row in rows])
