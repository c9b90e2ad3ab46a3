"""Write array literals: receives numbers or texts, returns an array in the text format of Postgres.

The driver converts a list item by item, which costs several times as much; frequent calls have thousands of
items.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stepwell import json_text


def of_numbers(numbers: Iterable[int]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"


def of_words(words: Iterable[str]) -> str:
    """Of names that need no quotes: letters and `_`."""
    return "{" + ",".join(words) + "}"


def of_texts(texts: Iterable[str | None]) -> str:
    return "{" + ",".join(map(_quoted, texts)) + "}"


def of_objects(values: Sequence[object], what: str) -> str:
    """`what` is the name of a value in errors."""
    return of_texts(
        json_text.encode(value, what if len(values) == 1 else f"{what}s[{no}]") if value else "{}"
        for no, value in enumerate(values)
    )


def _quoted(text: str | None) -> str:
    if text is None:
        return "null"
    if '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
