"""Read and write durations: "4h", "1h30m", "PT4H", 90 and timedelta become seconds, to the millisecond."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from decimal import Decimal
from typing import overload

from stepwell.define.limits import MAX_DURATION_SECONDS
from stepwell.define.names import kind_of
from stepwell.define.problem import DefinitionError, quoted

__all__ = ["Duration", "format_duration", "parse_duration", "parse_rate", "seconds_of"]

Duration = int | float | str | timedelta

_UNIT_MILLISECONDS = {"w": 604_800_000, "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
_SHORT = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)\s*(ms|[wdhms])", re.ASCII)
_ISO = re.compile(
    r"P(?:(?P<w>\d{1,9})W)?(?:(?P<d>\d{1,9})D)?"
    r"(?:T(?:(?P<h>\d{1,9})H)?(?:(?P<m>\d{1,9})M)?(?:(?P<s>\d{1,12}(?:[.,]\d{1,9})?)S)?)?",
    re.ASCII,
)
_ACCEPTED = (
    'accepted: "4h", "2d", "1h30m", "500ms", ISO 8601 like "PT4H", a number of seconds, or a timedelta'
)


def parse_duration(value: object, field: str, *, zero: bool = False) -> int | float:
    """Seconds; a whole number as int. Refuses negative and infinite values, and zero unless `zero`."""
    millis = round(_milliseconds(value, field))
    if millis < 0 or (millis == 0 and not zero):
        raise DefinitionError.one(f"{quoted(value)} is not a duration above zero; {_ACCEPTED}", field=field)
    if millis > MAX_DURATION_SECONDS * 1000:
        raise DefinitionError.one(
            f"{quoted(value)} is longer than the limit of {MAX_DURATION_SECONDS // 86_400} days", field=field
        )
    return _as_seconds(millis)


def parse_rate(value: str, field: str) -> tuple[int, float]:
    """The count and the seconds of a rate: "100/1m" → (100, 60)."""
    count, slash, time = value.partition("/")
    if not slash or not re.fullmatch(r"[1-9]\d{0,6}", count.strip(), re.ASCII):
        raise DefinitionError.one(
            f'{quoted(value)} is not a rate; accepted: a number, a slash and a duration, such as "100/1m"',
            field=field,
        )
    return int(count), float(parse_duration(time, field))


@overload
def seconds_of(value: None) -> None: ...
@overload
def seconds_of(value: Duration) -> int | float: ...
def seconds_of(value: Duration | None) -> int | float | None:
    """The seconds of a value that a template has already accepted."""
    return None if value is None else parse_duration(value, "duration", zero=True)


def format_duration(seconds: int | float) -> str:
    """The short form, which `parse_duration` reads as the same number: 5400 → "1h30m"."""
    left = round(Decimal(str(seconds)) * 1000)
    if left == 0:
        return "0s"
    parts: list[str] = []
    # Weeks are accepted but not written: "14d" is clearer than "2w".
    for unit in ("d", "h", "m", "s", "ms"):
        count, left = divmod(left, _UNIT_MILLISECONDS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts)


def _as_seconds(millis: int) -> int | float:
    return millis // 1000 if millis % 1000 == 0 else millis / 1000


def _milliseconds(value: object, field: str) -> Decimal:
    if isinstance(value, timedelta):
        return Decimal(value // timedelta(microseconds=1)) / 1000
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise DefinitionError.one(f"{kind_of(value)} is not a duration; {_ACCEPTED}", field=field)
    if isinstance(value, str):
        return _from_text(value.strip(), field)
    if isinstance(value, float) and not math.isfinite(value):
        raise DefinitionError.one(f"{value} is not a duration; {_ACCEPTED}", field=field)
    return Decimal(str(value)) * 1000


def _from_text(text: str, field: str) -> Decimal:
    if len(text) <= 100:
        iso = _ISO.fullmatch(text)
        if iso and any(iso.groupdict().values()):
            found = {unit: amount for unit, amount in iso.groupdict().items() if amount}
            return sum(
                (Decimal(a.replace(",", ".")) * _UNIT_MILLISECONDS[u] for u, a in found.items()), Decimal(0)
            )
        parts = _SHORT.findall(text)
        units = [unit for _, unit in parts]
        in_order = units == sorted(set(units), key=list(_UNIT_MILLISECONDS).index)
        if parts and in_order and not _SHORT.sub("", text).strip():
            return sum((Decimal(amount) * _UNIT_MILLISECONDS[unit] for amount, unit in parts), Decimal(0))
    hint = f'; write "{text}s" for seconds' if re.fullmatch(r"\d{1,9}", text, re.ASCII) else ""
    if re.fullmatch(r"P\d+[YM].*", text):
        hint = "; years and months differ in length, write days"
    raise DefinitionError.one(f"{quoted(text)} is not a duration{hint}; {_ACCEPTED}", field=field)
