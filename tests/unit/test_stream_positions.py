"""A position covers another if it has seen everything that the other has seen."""

from __future__ import annotations

import pytest

from stepwell.api.stream_position import Seen, checked, last_seen
from stepwell.errors import InvalidInput


@pytest.mark.parametrize(
    ("one", "other", "covers"),
    [
        ("10:10:", "10:10:", True),
        ("10:12:", "10:10:", True),
        ("10:10:", "10:12:", False),
        ("10:15:12", "10:12:", True),
        ("10:15:11", "10:12:", False),
        ("10:15:11", "10:12:11", True),
    ],
)
def test_what_a_position_covers(one: str, other: str, covers: bool):
    assert Seen.of(one).covers(Seen.of(other)) is covers


def test_a_position_inside_a_page_has_two_snapshots():
    assert last_seen("10:12:11;12:20:;77") == Seen.of("12:20:")


@pytest.mark.parametrize(
    "text", ["", "1", "1:2", "1:2:x", "1:2:3;4:5:", "1:2:;1:2:;", "1:2:" + "9," * 20_000,
             "0:0:", "1:0:", "5:2:", "1:5:9", "1:5:4,3", "1:5:5", "1:9223372036854775808:", "1:5:;5:2:;7"]
)  # fmt: skip
def test_anything_else_is_refused(text: str):
    with pytest.raises(InvalidInput) as caught:
        checked(text, "query.after")
    assert caught.value.field == "query.after"
