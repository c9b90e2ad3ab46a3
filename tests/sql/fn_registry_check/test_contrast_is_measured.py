"""Contrast is computed by the WCAG formula, and every colour token declares its correct ratio."""

from __future__ import annotations

import psycopg
import pytest

# Pairs of colours with their published ratio.
KNOWN = [
    ("#000000", "#FFFFFF", 21.0),
    ("#FFFFFF", "#FFFFFF", 1.0),
    ("#777777", "#FFFFFF", 4.48),
    ("#767676", "#FFFFFF", 4.54),
    ("#FF0000", "#FFFFFF", 4.0),
    ("#0000FF", "#FFFFFF", 8.59),
]


def ratio(db: psycopg.Connection, fg: str, bg: str) -> float | None:
    row = db.execute("select _contrast_ratio(%s, %s)::float8", (fg, bg)).fetchone()
    assert row is not None
    return row[0]


def test_the_ratio_of_known_pairs_is_right(db: psycopg.Connection):
    for fg, bg, known in KNOWN:
        assert ratio(db, fg, bg) == ratio(db, bg, fg) == known


@pytest.mark.parametrize("colour", ["red", "#FFF", "#GGGGGG", ""])
def test_a_text_that_is_no_colour_has_no_contrast(db: psycopg.Connection, colour: str):
    assert ratio(db, colour, "#FFFFFF") is None


@pytest.mark.requirement("SM-02")
def test_every_token_declares_its_correct_ratio_and_has_enough_contrast(db: psycopg.Connection):
    query = "select config_key, config_value from dot_config where config_key like 'ui.traffic\\_light.%'"
    tokens = dict(db.execute(query).fetchall())
    assert len(tokens) == 9
    for key, token in tokens.items():
        high = token["high_contrast"]
        assert token["contrast_ratio"] == ratio(db, token["fg"], token["bg"]), key
        assert high["contrast_ratio"] == ratio(db, high["fg"], high["bg"]), key
        assert token["contrast_ratio"] >= 4.5, key
        assert high["contrast_ratio"] >= 7, key
    assert len({token["shape_token"] for token in tokens.values()}) == 9, (
        "two colours have the same shape: only the colour would distinguish them"
    )
