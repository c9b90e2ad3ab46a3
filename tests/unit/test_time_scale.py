"""Idle time is folded: the scale has no gap, keeps work at its length, and is short."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from stepwell.layout.time_scale import COMING_SHARE, PARTS_LIMIT, fold, with_coming

HOUR = 3_600_000


def test_a_long_pause_is_short_and_work_keeps_its_length():
    parts = fold([(0, 60_000), (5 * HOUR, 5 * HOUR + 120_000)], 5 * HOUR + 120_000)
    assert [(start, to) for start, to, _, _ in parts] == [
        (0, 60_000),
        (60_000, 5 * HOUR),
        (5 * HOUR, 5 * HOUR + 120_000),
    ]
    lengths = [drawn_to - drawn for _, _, drawn, drawn_to in parts]
    assert lengths[0] == 60_000
    assert lengths[2] == 120_000
    assert lengths[1] < 10_000


def test_a_short_run_is_not_folded():
    assert fold([(0, 10), (5_000, 6_000)], 9_000) == [(0, 9_000, 0, 9_000)]


@given(
    st.lists(st.tuples(st.integers(0, 10**8), st.integers(0, 10**6)), max_size=30), st.integers(1, 2 * 10**8)
)
def test_parts_follow_each_other_from_the_start_to_the_end(spans: list[tuple[int, int]], end: int):
    parts = fold([(min(start, end), min(start + length, end)) for start, length in spans], end)
    assert parts[0][0] == parts[0][2] == 0
    assert parts[-1][1] == end
    for (_, to, _, drawn_to), (start, _, drawn, _) in pairwise(parts):
        assert (start, drawn) == (to, drawn_to)
    assert all(drawn_to - drawn <= to - start or to - start < 60_000 for start, to, drawn, drawn_to in parts)
    assert len(parts) <= 2 * PARTS_LIMIT + 1


def test_what_is_to_come_is_one_short_part_at_the_end():
    parts = fold([(0, 100_000)], 100_000)
    assert with_coming(parts, 50_000) == parts
    assert with_coming(parts, 110_000)[-1] == (100_000, 110_000, 100_000, 110_000)
    far = with_coming(parts, 10 * HOUR)
    assert far[-1] == (100_000, 10 * HOUR, 100_000, 100_000 + int(100_000 * COMING_SHARE))
