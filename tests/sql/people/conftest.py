"""Fixtures of the tests of human steps: `people` calls the functions as a person."""

from __future__ import annotations

import pytest

from tests.sql.drive import Engine
from tests.sql.people.asking import People


@pytest.fixture
def people(engine: Engine) -> People:
    made = People(engine)
    made.add("ada", "office")
    made.add("ben", "office", "lead", "reviewer")
    made.add("cleo", "warehouse")
    return made
