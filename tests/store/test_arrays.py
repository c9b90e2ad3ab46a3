"""Array literals: what Postgres reads is what was given."""

from __future__ import annotations

import psycopg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stepwell.store.connection import arrays

# Postgres keeps neither U+0000 nor half a surrogate pair.
TEXTS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])) | st.sampled_from(
    ["null", "NULL", "", " ", "{}", '"', "\\", '\\"', ",", "{a,b}", "'", "%s"]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.none() | TEXTS), numbers=st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_they_come_back_as_they_went(db: psycopg.Connection, texts, numbers):
    row = db.execute(
        "select %s::text[], %s::bigint[]", (arrays.of_texts(texts), arrays.of_numbers(numbers))
    ).fetchone()
    assert row == (texts, numbers)
