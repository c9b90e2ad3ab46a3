"""Bundles in the database are deleted after their own retention, which is longer than that of their runs."""

from __future__ import annotations

import pytest

from stepwell.store.health.examine import examine
from stepwell.store.health.finding import Level
from tests.sql.drive import Engine, operation
from tests.support.clock import Clock
from tests.support.roles import process_settings


def sweep(engine: Engine) -> dict[str, int]:
    rows = engine.db.execute("select swept, removed_count from fn_retention_sweep() where removed_count > 0")
    return dict(rows.fetchall())


@pytest.mark.requirement("RT-16")
def test_a_bundle_is_kept_longer_than_its_run_and_then_deleted(engine: Engine, clock: Clock):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    engine.drain(engine.worker())
    engine.db.execute(
        """insert into evidence_file (tenant_id, run_id, contents_digest, data, stored_at)
           values (1, %s, repeat('a', 64), 'x', stepwell.now())""",
        (run_id,),
    )
    engine.db.execute(
        "insert into evidence_due (tenant_id, run_id, asked_at) values (1, %s, stepwell.now())", (run_id,)
    )
    clock.advance(days=91)
    engine.db.execute("select fn_partitions_ensure()")
    removed = sweep(engine)
    assert removed["runs"] == 1
    assert "evidence_file" not in removed
    assert engine.one("select count(*) from evidence_due") == 0
    engine.db.execute(
        "update dot_config set config_value = '92' where config_key = 'retention.evidence_file_days'"
    )
    clock.advance(days=2)
    assert sweep(engine)["evidence_file"] == 1
    assert engine.one("select count(*) from evidence_file") == 0


@pytest.mark.requirement("RT-16")
def test_the_doctor_names_runs_that_wait_too_long_for_their_bundle(engine: Engine, dsn: str, clock: Clock):
    def finding() -> tuple[Level, str]:
        (found,) = [one for one in examine(process_settings(dsn), dsn) if one.check == "evidence"]
        return found.level, found.detail

    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    engine.drain(engine.worker())
    engine.db.execute(
        """insert into evidence_due (tenant_id, run_id, asked_at, last_error)
           values (1, %s, stepwell.now(), 'the store is full')""",
        (run_id,),
    )
    assert finding() == (Level.OK, "no ended run waits too long for its bundle")
    clock.advance(hours=2)
    level, detail = finding()
    assert level is Level.WARNING
    assert detail == "1 ended runs wait for their bundle for more than an hour; last error: the store is full"
