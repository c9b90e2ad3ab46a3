"""Write array literals: receives numbers or texts, returns what Postgres reads as an array of them.

A list that the driver adapts item by item costs several times as much, and hot calls carry thousands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stepwell import json_text


def of_numbers(numbers: Iterable[int]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"


def of_texts(texts: Iterable[str | None]) -> str:
    return "{" + ",".join(map(_quoted, texts)) + "}"


def of_objects(values: Sequence[object], what: str) -> str:
    """`what` names one of them in errors."""
    return of_texts(
        json_text.encode(value, what if len(values) == 1 else f"{what}s[{no}]") if value else "{}"
        for no, value in enumerate(values)
    )


def _quoted(text: str | None) -> str:
    if text is None:
        return "null"
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
