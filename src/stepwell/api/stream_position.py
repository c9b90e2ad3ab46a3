"""Positions of a stream: receives the text of a snapshot, says what it has seen. Pure.

A position is `xmin:xmax:open,open…` of PostgreSQL: all transactions below `xmax` have been seen, except the
open ones. A position inside a page is `position;position;number`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from stepwell.errors import InvalidInput

# As many connections as a server has; each number has up to 20 digits.
LENGTH_LIMIT: Final = 20_000
_SNAPSHOT: Final = r"[0-9]{1,19}:[0-9]{1,19}:(?:[0-9]{1,19}(?:,[0-9]{1,19})*)?"
_POSITION: Final = re.compile(rf"({_SNAPSHOT})(?:;({_SNAPSHOT});([0-9]{{1,19}}))?")


@dataclass(frozen=True, slots=True)
class Seen:
    """One snapshot."""

    xmax: int
    open: frozenset[int]

    @classmethod
    def of(cls, text: str) -> Seen:
        _, xmax, opened = text.split(":")
        return cls(int(xmax), frozenset(int(one) for one in opened.split(",") if one))

    def covers(self, other: Seen) -> bool:
        """Whether everything that the other has seen is seen here too."""
        return other.xmax <= self.xmax and all(tx in other.open for tx in self.open if tx < other.xmax)


def checked(text: str, field: str) -> str:
    """The same text, if it is a position."""
    found = _POSITION.fullmatch(text) if len(text) <= LENGTH_LIMIT else None
    if found is None or not all(_is_snapshot(one) for one in found.group(1, 2) if one):
        raise InvalidInput(
            "this is not a position",
            hint="give `position` of a snapshot, or the id of an earlier message",
            field=field,
        )
    return text


def _is_snapshot(text: str) -> bool:
    """As PostgreSQL reads it: what is open is in order, and between the two ends."""
    first, last, opened = text.split(":")
    numbers = [int(first), *(int(one) for one in opened.split(",") if one), int(last)]
    return (
        numbers[0] >= 1
        and numbers[-1] < 2**63
        and numbers == sorted(numbers)
        and int(last) not in numbers[1:-1]
    )


def last_seen(position: str) -> Seen:
    """The newest snapshot in a position."""
    found = _POSITION.fullmatch(position)
    assert found is not None
    return Seen.of(found[2] or found[1])
