"""Whatever an event contains, the database and the verifier compute the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.govern.sealing import append, check, seal, without_rows
from tests.support.databases import Databases
from tests.support.sample import sample

# Texts that PostgreSQL can store: no NUL character, no lone surrogate.
TEXT = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=30)
NUMBER = st.one_of(
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False, allow_infinity=False),
    st.decimals(0, 1, places=9),
).map(lambda value: value if isinstance(value, (int, float)) else float(value))
VALUE = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBER, TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXT, inner, max_size=4)),
    max_leaves=12,
)
LAST_RUN = 2**42
EVENT = st.fixed_dictionaries(
    {
        "unit": st.integers(0, LAST_RUN << 20),
        "event_type": TEXT,
        "payload": VALUE,
        "actor": st.one_of(st.none(), TEXT),
        "from": st.one_of(st.none(), TEXT),
        "to": st.one_of(st.none(), TEXT),
    }
)


@pytest.fixture(scope="module")
def log(databases: Databases, template: str) -> Iterator[psycopg.Connection]:
    """One log for all examples: each seals its own events and checks the whole chain."""
    with (
        databases.fresh(template) as dsn,
        psycopg.connect(dsn, autocommit=True, options="-csearch_path=stepwell,public") as db,
    ):
        without_rows(db, last=LAST_RUN)
        yield db


@sample(20)
@given(events=st.lists(EVENT, min_size=1, max_size=6))
def test_any_event_can_be_sealed_and_checked(log: psycopg.Connection, events: list[dict[str, Any]]):
    for event in events:
        append(log, **event)
    seal(log)
    verdict = check(log)
    assert (verdict.problems, verdict.unsealed_count) == ([], 0)
