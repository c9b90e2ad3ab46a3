"""The numbers of steps and jobs as people read and type them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.unit_numbers import read_unit, short


def test_a_unit_is_numbered_by_its_run_and_its_place():
    assert short((7 << 20) + 3) == "7.3"
    assert short(12 << 20) == "12"
    assert read_unit("7.3") == (7 << 20) + 3
    assert read_unit("12") == 12 << 20


def test_the_whole_number_of_the_database_is_accepted():
    assert read_unit(str((7 << 20) + 3)) == (7 << 20) + 3


@given(run=st.integers(1, 2**43 - 1), place=st.integers(0, 2**20 - 1))
def test_a_shown_number_is_read_back(run: int, place: int):
    unit_id = (run << 20) + place
    assert read_unit(short(unit_id)) == unit_id


@pytest.mark.parametrize("text", ["", "x", "7.", ".3", "7.3.1", "-1", "0", "7.1048576", "7/3", "٣"])
def test_any_other_text_is_refused_with_an_example(text: str):
    with pytest.raises(ValueError, match=r"accepted: a number such as 7\.3"):
        read_unit(text)
