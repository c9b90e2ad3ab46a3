"""Compare what was measured with what is wanted: receives figures, returns the missed ones in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet


def below(
    wanted: Mapping[str, float], found: Mapping[str, float], *, at_least: AbstractSet[str] = frozenset()
) -> list[str]:
    """The figures of `wanted` that were not reached. Each is the most that is accepted, or the least."""
    missed = []
    for name, limit in wanted.items():
        is_least = name in at_least
        if found[name] < limit if is_least else found[name] > limit:
            side = "at least" if is_least else "at most"
            missed.append(f"{name} is {found[name]:,.2f}, wanted is {side} {limit:,.2f}")
    return missed


def verdict(missed: Sequence[str]) -> str:
    return f"**Missed:** {'; '.join(missed)}." if missed else "Every wanted figure was reached."
