"""One database for all examples of a property test: they write nothing to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.support.databases import Databases


@pytest.fixture(scope="module")
def template_db(databases: Databases, template: str) -> Iterator[psycopg.Connection[Any]]:
    with databases.fresh(template) as dsn, psycopg.connect(dsn, autocommit=True) as connection:
        yield connection
