"""The committed picture of the schema is what migrations and routines make."""

from __future__ import annotations

from stepwell.sql import SNAPSHOT_FILE
from stepwell.store.schema import catalog, verify


def test_the_committed_snapshot_is_the_schema(dsn):
    committed = catalog.parse(SNAPSHOT_FILE.read_text(encoding="utf-8"))
    found = catalog.parse(verify.dump(dsn))
    drifts = [str(drift) for drift in catalog.compare(committed, found)]
    assert drifts == [], "the schema changed; look at it with `make snapshot` and git diff, and commit it"


def test_the_snapshot_is_written_the_same_every_time(dsn):
    assert verify.dump(dsn) == verify.dump(dsn)
