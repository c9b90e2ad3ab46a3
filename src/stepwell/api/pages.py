"""Pages of lists: receives the sort key of the last item, returns an opaque cursor, and reads it again.

A page is found by seeking behind the sort key, never by counting rows: a list grows while it is read.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel, Field

from stepwell.api.accepted import in_utc
from stepwell.errors import InvalidInput

T = TypeVar("T")
V = TypeVar("V")

PAGE_LIMIT = 200
CURSOR_LENGTH_LIMIT = 1_000

Limit = Annotated[int, Query(ge=1, le=PAGE_LIMIT, description="number of items on a page")]
Cursor = Annotated[
    str | None,
    Query(
        max_length=CURSOR_LENGTH_LIMIT,
        pattern=r"^[A-Za-z0-9_-]+$",
        description="`next` of the page before; without it the first page",
    ),
]


class Page(BaseModel, Generic[T]):
    """A part of a list. `next` is null on the last page."""

    items: list[T]
    next: str | None = Field(description="the cursor of the next page", examples=["WyJhcHByb3ZhbHMiLDQyXQ"])


def page_of(
    found: Sequence[V], limit: int, view: Callable[[V], T], key: Callable[[V], Sequence[Any]], name: str
) -> Page[T]:
    """The page of a list that was read with one row more than `limit`; `name` is that of the list."""
    more = next_of(found, limit, key, name)
    return Page(items=[view(one) for one in found[:limit]], next=more)


def next_of(found: Sequence[V], limit: int, key: Callable[[V], Sequence[Any]], name: str) -> str | None:
    """The cursor of the next page; None if this one is the last."""
    return cursor(name, key(found[limit - 1])) if len(found) > limit else None


def cursor(name: str, key: Sequence[Any]) -> str:
    """The sort key as an opaque text. `name` is the list and its order."""
    written = json.dumps([name, *key], separators=(",", ":"), default=str).encode()
    return base64.urlsafe_b64encode(written).rstrip(b"=").decode()


def seek(text: str | None, name: str, *kinds: type) -> tuple[Any, ...] | None:
    """The sort key in a cursor of this list; its parts have these types."""
    if text is None:
        return None
    try:
        found = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        found = None
    is_right = (
        isinstance(found, list)
        and found[:1] == [name]
        and len(found) == len(kinds) + 1
        and all(type(one) is kind for one, kind in zip(found[1:], kinds, strict=True))
        and all(abs(one) < 2**63 for one in found[1:] if isinstance(one, int))
        and all("\x00" not in one and one.isprintable() for one in found[1:] if isinstance(one, str))
    )
    if not is_right:
        raise _foreign()
    return tuple(found[1:])


def moment(text: str) -> datetime:
    """The time in a cursor."""
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is not None:
            return in_utc(found)
    except ValueError:
        pass
    raise _foreign()


def _foreign() -> InvalidInput:
    return InvalidInput(
        "the cursor does not belong to this list",
        hint="give `next` of the page before, with the same filters and order",
        field="query.cursor",
    )
