"""Fixtures of the SQL tests: `engine` drives the functions of the test's database."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.drive import Engine


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    return Engine(db)
