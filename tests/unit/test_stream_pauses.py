"""How often the feed of the streams reads: soon where it costs little, and never much of the time."""

from __future__ import annotations

import pytest

from stepwell.api.stream_feed import READING_SHARE, TICK_SECONDS, TICK_SECONDS_LIMIT, pause


def test_a_read_that_costs_little_comes_at_the_usual_pace():
    assert pause(0.0) == TICK_SECONDS
    assert pause(TICK_SECONDS * READING_SHARE) == TICK_SECONDS


@pytest.mark.parametrize("spent", [0.01, 0.02, 0.05, 0.08])
def test_beside_a_full_load_reading_takes_less_than_a_twentieth_of_the_time(spent: float):
    assert spent / (spent + pause(spent)) < 0.05


def test_no_stream_is_later_than_the_limit():
    assert pause(10.0) == TICK_SECONDS_LIMIT
