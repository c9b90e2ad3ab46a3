"""The committed snapshot of the schema equals what migrations and routines make."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from stepwell.sql import SNAPSHOT_FILE
from stepwell.store.schema import catalog, verify

HINT = "the schema changed; look at it with `make snapshot` and git diff, and commit it"
# Settings of a database or a role that change how PostgreSQL prints a definition.
ODD_SETTINGS = {
    "search_path": "stepwell, public",
    "quote_all_identifiers": "on",
    "timezone": "'Asia/Ho_Chi_Minh'",
    "datestyle": "'German, DMY'",
    "intervalstyle": "sql_standard",
    "bytea_output": "escape",
    "extra_float_digits": "-2",
}


def test_the_committed_snapshot_has_no_drift(dsn):
    committed = catalog.parse(SNAPSHOT_FILE.read_text(encoding="utf-8"))
    found = catalog.parse(verify.dump(dsn))
    drifts = [str(drift) for drift in catalog.compare(committed, found)]
    assert drifts == [], HINT


def test_the_committed_snapshot_equals_a_new_dump(dsn):
    """Order and layout are equal too: the next `make snapshot` shows only what a migration changed."""
    assert SNAPSHOT_FILE.read_text(encoding="utf-8") == verify.dump(dsn), HINT


@pytest.mark.parametrize("name", ODD_SETTINGS)
def test_the_settings_of_a_database_do_not_change_its_dump(dsn, name):
    database = conninfo_to_dict(dsn)["dbname"]
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(f"alter database {database} set {name} = {ODD_SETTINGS[name]}".encode())
    with psycopg.connect(dsn) as connection:
        found = catalog.read(connection)
    assert catalog.render(found) == SNAPSHOT_FILE.read_text(encoding="utf-8")
