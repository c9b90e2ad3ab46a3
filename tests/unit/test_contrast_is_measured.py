"""Contrast is computed by the WCAG formula, in Python and in SQL, and every colour token tells the truth."""

from __future__ import annotations

import psycopg
import pytest

from stepwell.machines.contrast import contrast_ratio, darker_of

# Pairs whose ratio is known from elsewhere.
KNOWN = [
    ("#000000", "#FFFFFF", 21.0),
    ("#FFFFFF", "#FFFFFF", 1.0),
    ("#777777", "#FFFFFF", 4.48),
    ("#767676", "#FFFFFF", 4.54),
    ("#FF0000", "#FFFFFF", 4.0),
    ("#0000FF", "#FFFFFF", 8.59),
]


@pytest.mark.parametrize(("fg", "bg", "ratio"), KNOWN)
def test_known_pairs(fg: str, bg: str, ratio: float):
    assert round(contrast_ratio(fg, bg), 2) == ratio
    assert contrast_ratio(fg, bg) == contrast_ratio(bg, fg)


def test_lines_are_drawn_in_the_darker_colour():
    assert darker_of("#FFFFFF", "#047857") == "#047857"
    assert darker_of("#92400E", "#FEF3C7") == "#92400E"


def test_sql_measures_the_same(db: psycopg.Connection):
    for fg, bg, ratio in KNOWN:
        row = db.execute("select _contrast_ratio(%s, %s)::float8", (fg, bg)).fetchone()
        assert row == (ratio,)
    assert db.execute("select _contrast_ratio('red', '#FFFFFF')").fetchone() == (None,)


@pytest.mark.requirement("SM-02")
def test_every_token_declares_its_true_ratio_and_can_be_read(db: psycopg.Connection):
    query = "select config_key, config_value from dot_config where config_key like 'ui.traffic\\_light.%'"
    tokens = dict(db.execute(query).fetchall())
    assert len(tokens) == 9
    for key, token in tokens.items():
        high = token["high_contrast"]
        assert token["contrast_ratio"] == round(contrast_ratio(token["fg"], token["bg"]), 2), key
        assert high["contrast_ratio"] == round(contrast_ratio(high["fg"], high["bg"]), 2), key
        assert token["contrast_ratio"] >= 4.5, key
        assert high["contrast_ratio"] >= 7, key
    assert len({token["shape"] for token in tokens.values()}) == 9, "colour alone must tell nothing"
