"""Report the progress of a handler: receives done, total and a note, passes them to the handler.

`progress` works in every handler, also in a thread or a process. Outside of a handler it does nothing, so
that a test can call the function.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from stepwell import present_handler
from stepwell.errors import InvalidInput

NOTE_LIMIT = 200


class Progress(NamedTuple):
    """`done` of `total`, in any unit; `total` is None if it is not known."""

    done: float
    total: float | None
    note: str | None


def progress(done: float, total: float | None = None, note: str | None = None) -> None:
    """Report the progress of this handler. The worker sends the last report every few seconds."""
    said = checked(done, total, note)
    handler = present_handler.get()
    if handler is not None:
        handler.note_progress(said)


def checked(done: float, total: float | None, note: str | None) -> Progress:
    _require_number("done", done)
    if total is not None:
        _require_number("total", total)
    if note is not None:
        # Postgres cannot store U+0000 and half surrogate pairs.
        note = str(note).replace("\x00", "\ufffd").encode("utf-8", "replace").decode()[:NOTE_LIMIT]
    return Progress(float(done), None if total is None else float(total), note)


def _require_number(field: str, number: object) -> None:
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    if not (is_number and math.isfinite(number) and number >= 0):  # type: ignore[arg-type,operator]
        raise InvalidInput(f"progress: {field} is {number!r}", hint="accepted: a number from 0", field=field)
