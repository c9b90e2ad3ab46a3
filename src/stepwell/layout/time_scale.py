"""Fold idle time: receives parts of time with work, returns a scale on which other time is short. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

# A pause is folded if it is longer than a minute and than this share of the whole time.
FOLD_MIN_MS: Final = 60_000
FOLD_SHARE: Final = 0.05
# A folded pause is drawn as long as this share of the time with work.
FOLDED_SHARE: Final = 0.04
PARTS_LIMIT: Final = 200
# What is to come is drawn as long as this share of what was, at most.
COMING_SHARE: Final = 0.5


def fold(work: Iterable[tuple[int, int]], end: int) -> list[tuple[int, int, int, int]]:
    """Parts from 0 to `end`: (from, to, drawn from, drawn to), without gaps, in order."""
    pauses = _pauses(work, end)
    least = max(FOLD_MIN_MS, int(end * FOLD_SHARE))
    folded = sorted(sorted((one for one in pauses if one[1] - one[0] > least), key=_length)[-PARTS_LIMIT:])
    open_ms = end - sum(to - start for start, to in folded)
    short = max(1_000, int(open_ms * FOLDED_SHARE))
    parts: list[tuple[int, int, int, int]] = []
    at = drawn = 0
    for start, to in folded:
        if start > at:
            parts.append((at, start, drawn, drawn + start - at))
            drawn += start - at
        parts.append((start, to, drawn, drawn + short))
        drawn, at = drawn + short, to
    if end > at or not parts:
        parts.append((at, end, drawn, drawn + end - at))
    return parts


def with_coming(parts: list[tuple[int, int, int, int]], until: int) -> list[tuple[int, int, int, int]]:
    """The same scale, longer: what is to come until then is one part at its end."""
    _, end, _, drawn = parts[-1]
    if until <= end:
        return parts
    length = max(1, min(until - end, max(1_000, int(drawn * COMING_SHARE))))
    return [*parts, (end, until, drawn, drawn + length)]


def _pauses(work: Iterable[tuple[int, int]], end: int) -> list[tuple[int, int]]:
    """The parts in which nothing works."""
    found, reached = [], 0
    for start, to in sorted(work):
        if start > reached:
            found.append((reached, min(start, end)))
        reached = max(reached, to)
    if reached < end:
        found.append((reached, end))
    return found


def _length(part: tuple[int, int]) -> int:
    return part[1] - part[0]
