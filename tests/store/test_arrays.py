"""Array literals: Postgres reads the same values that were given."""

from __future__ import annotations

import psycopg
from hypothesis import given
from hypothesis import strategies as st

from stepwell.store.connection import arrays
from tests.support.sample import sample

# Postgres stores neither U+0000 nor a lone surrogate.
TEXTS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])) | st.sampled_from(
    ["null", "NULL", "", " ", "{}", '"', "\\", '\\"', ",", "{a,b}", "'", "%s"]
)


@sample(100)
@given(texts=st.lists(st.none() | TEXTS), numbers=st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_postgres_reads_the_same_values_from_an_array_literal(db: psycopg.Connection, texts, numbers):
    row = db.execute(
        "select %s::text[], %s::bigint[]", (arrays.of_texts(texts), arrays.of_numbers(numbers))
    ).fetchone()
    assert row == (texts, numbers)
