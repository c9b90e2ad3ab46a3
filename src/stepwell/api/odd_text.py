"""Refuse text that PostgreSQL cannot store: receives a path, a query or a body, raises InvalidInput.

These are NUL, halves of surrogate pairs, bytes that are no UTF-8, and numbers that JSON does not have.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn
from urllib.parse import unquote_to_bytes

from stepwell.errors import InvalidInput

# Only a body with one of these can contain odd text, so other bodies are not read twice.
_SUSPECT = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])|\x00|NaN|Infinity")
_SURROGATE = re.compile("[\ud800-\udfff]")


def check_address(raw_path: bytes, query: bytes) -> None:
    """The path and the query of a request, as they were sent."""
    for where, raw in (("path", raw_path), ("query", query)):
        if b"%" not in raw:
            continue
        try:
            text = unquote_to_bytes(raw).decode()
        except UnicodeDecodeError:
            raise InvalidInput(f"the {where} is not UTF-8", hint="encode it as UTF-8", field=where) from None
        if "\x00" in text:
            raise InvalidInput(f"the {where} contains NUL (U+0000)", hint="remove the character", field=where)


def check_body(body: bytes) -> None:
    """A JSON body. A body that is no JSON is left to the framework, which names the place."""
    if not _SUSPECT.search(body):
        return
    try:
        _check(json.loads(body, parse_constant=_no_number), "body")
    except (ValueError, RecursionError):
        return


def _no_number(name: str) -> NoReturn:
    raise InvalidInput(
        f"the body contains {name}, which JSON does not have", hint="send a number", field="body"
    )


def _check(value: Any, place: str) -> None:
    match value:
        case str():
            if "\x00" in value or _SURROGATE.search(value):
                raise InvalidInput(
                    f"{place} contains NUL or half of a surrogate pair",
                    hint="remove the character",
                    field=place,
                )
        case list():
            for no, one in enumerate(value):
                _check(one, f"{place}.{no}"[:200])
        case dict():
            for name, one in value.items():
                _check(name, place)
                _check(one, f"{place}.{name}"[:200])
