"""Show and read the numbers of units: receives a number of the database or the text that a person typed.

The number of a unit is the number of its run and its place in the run: `7.3`. Runs and free-standing jobs
have place 0, which is not written: `7`. The number in the database (7340035) is accepted as well.
"""

from __future__ import annotations

from typing import Final

PLACE_BITS: Final = 20
PLACES: Final = 1 << PLACE_BITS


def short(unit_id: int) -> str:
    """The number of a unit as people read and type it."""
    run, place = unit_id >> PLACE_BITS, unit_id & (PLACES - 1)
    # From 2^20 on, the number of a run without a place would be read as a number of the database.
    return str(run) if place == 0 and run < PLACES else f"{run}.{place}"


def read_unit(text: str) -> int:
    """The number of a unit in the database, from `7.3`, `7` or that number itself."""
    run, dot, place = text.partition(".")
    if _is_number(run) and (not dot or _is_number(place)) and int(run) > 0:
        if dot and int(place) < PLACES:
            return (int(run) << PLACE_BITS) + int(place)
        if not dot:
            return int(run) if int(run) >= PLACES else int(run) << PLACE_BITS
    raise ValueError(f"{text!r} is not accepted; accepted: a number such as 7.3, as the lists show it")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 19
