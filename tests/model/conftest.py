"""The Postgres side of the comparison of both engines: one database for all examples."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.model.postgres_side import PostgresSide
from tests.support.databases import Databases


@pytest.fixture(scope="module")
def side(databases: Databases, template: str) -> Iterator[PostgresSide]:
    with (
        databases.fresh(template) as dsn,
        psycopg.connect(dsn, autocommit=True, options="-csearch_path=stepwell,public") as db,
    ):
        db.execute("set synchronous_commit = off")
        yield PostgresSide(db)
