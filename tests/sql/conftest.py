"""Fixtures of the SQL tests: `engine` drives the functions of the test's database.

`dsn` and `db` are those of a database that several tests use, one after another.
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.sql.drive import Engine
from tests.support.databases import Databases
from tests.support.recycled import Recycled, Recycler


@pytest.fixture(scope="session")
def recycler(databases: Databases, template: str) -> Iterator[Recycler]:
    made = Recycler(databases, template)
    yield made
    made.close()


@pytest.fixture
def recycled(recycler: Recycler) -> Iterator[Recycled]:
    with recycler.used() as found:
        yield found


@pytest.fixture
def dsn(recycled: Recycled) -> str:
    return recycled.dsn


@pytest.fixture
def db(recycled: Recycled) -> psycopg.Connection:
    return recycled.connection


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    return Engine(db)
