"""Durations: which forms are read, which are refused, and that a written duration reads back the same."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.define import DefinitionError, format_duration, parse_duration
from stepwell.define.limits import MAX_DURATION_SECONDS


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("4h", 14_400),
        ("2d", 172_800),
        ("1w", 604_800),
        ("1h30m", 5_400),
        ("1h 30m", 5_400),
        ("1.5h", 5_400),
        ("500ms", 0.5),
        ("PT4H", 14_400),
        ("P2D", 172_800),
        ("P1DT12H", 129_600),
        ("PT0.5S", 0.5),
        ("P1W", 604_800),
        (90, 90),
        (90.0, 90),
        (0.25, 0.25),
        (timedelta(minutes=5), 300),
        (timedelta(milliseconds=1500), 1.5),
    ],
)
def test_every_accepted_form_becomes_seconds(written: object, seconds: float):
    found = parse_duration(written, "timeout")
    assert found == seconds
    assert type(found) is type(seconds)


@pytest.mark.parametrize(
    "written",
    [
        *("", "4", "4 hours", "h", "-4h", "30m1h", "1h1h", "P", "PT", "P1Y", "P2M", "4h!", "١h", "9" * 200),
        *(0, -1, float("nan"), float("inf"), True, None, [], timedelta(0), timedelta(seconds=-5)),
    ],
)
def test_any_other_form_is_refused_with_the_field_and_the_accepted_forms(written: object):
    with pytest.raises(DefinitionError) as refused:
        parse_duration(written, "timeout")
    assert refused.value.field == "timeout"
    assert "accepted:" in str(refused.value)


def test_the_error_suggests_what_was_probably_meant():
    with pytest.raises(DefinitionError, match='write "90s" for seconds'):
        parse_duration("90", "deadline")
    with pytest.raises(DefinitionError, match="years and months differ in length"):
        parse_duration("P1M", "deadline")


def test_there_is_a_longest_duration():
    assert parse_duration(MAX_DURATION_SECONDS, "timeout") == MAX_DURATION_SECONDS
    with pytest.raises(DefinitionError, match="longer than the limit"):
        parse_duration(MAX_DURATION_SECONDS + 1, "timeout")


@given(st.integers(min_value=1, max_value=MAX_DURATION_SECONDS * 1000))
def test_a_written_duration_reads_back_to_the_same_number(milliseconds: int):
    seconds = parse_duration(timedelta(milliseconds=milliseconds), "timeout")
    assert parse_duration(format_duration(seconds), "timeout") == seconds
