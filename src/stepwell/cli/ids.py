"""Show and read the numbers of units: receives a number of the database or what a person typed.

A unit is numbered by the run it belongs to and its place in it: `7.3`. Runs and free-standing jobs are the
place 0 and are written without it: `7`. The whole number of the database (7340035) is accepted as well.
"""

from __future__ import annotations

import re
from typing import Annotated, Final

import typer

PLACE_BITS: Final = 20
PLACES: Final = 1 << PLACE_BITS

_UNIT = re.compile(r"\b(step|task|job|approval|receipt|unit) (\d{7,19})\b")


def short(unit_id: int) -> str:
    """The number of a unit as people read and type it."""
    run, place = unit_id >> PLACE_BITS, unit_id & (PLACES - 1)
    # From a million on a run's number alone could be taken for the whole number of a unit.
    return str(run) if place == 0 and run < PLACES else f"{run}.{place}"


def read_unit(text: str) -> int:
    """The number of a unit from `7.3`, `7` or the whole number."""
    run, dot, place = text.partition(".")
    if _is_number(run) and (not dot or _is_number(place)) and int(run) > 0:
        if dot and int(place) < PLACES:
            return (int(run) << PLACE_BITS) + int(place)
        if not dot:
            return int(run) if int(run) >= PLACES else int(run) << PLACE_BITS
    raise ValueError(f"{text!r} is not accepted; accepted: a number such as 7.3, as the lists show it")


def shortened(sentence: str) -> str:
    """A message of the database with the numbers of units as people type them."""
    return _UNIT.sub(lambda found: f"{found[1]} {short(int(found[2]))}", sentence)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 19


JobArgument = Annotated[
    int, typer.Argument(help="Number of the job, such as 12 or 7.3.", metavar="JOB", parser=read_unit)
]
JobsArgument = Annotated[
    list[int], typer.Argument(help="Numbers of jobs, such as 12 or 7.3.", metavar="JOB", parser=read_unit)
]
ApprovalArgument = Annotated[
    int,
    typer.Argument(help="Number of the approval, such as 7.3.", metavar="APPROVAL", parser=read_unit),
]
ReceiptArgument = Annotated[
    int, typer.Argument(help="Number of the receipt, such as 7.3.", metavar="RECEIPT", parser=read_unit)
]
ApprovalOption = Annotated[
    int | None,
    typer.Option(help="The granted approval, such as 7.3, where one is needed.", parser=read_unit),
]
