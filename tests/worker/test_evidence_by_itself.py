"""A run that acted or was approved has its evidence bundle after its end; other runs cost nothing."""

from __future__ import annotations

import hashlib
from pathlib import Path

import psycopg
import pytest

import stepwell as sw
from stepwell.govern.verify import verify
from stepwell.keeper import Keeper
from tests.support.wait import until
from tests.worker.acting import put_in_force, rule


def keep(db: psycopg.Connection, dsn: str, to: str | None = None) -> None:
    """Passes of a keeper until no ended run waits for its bundle: an open transaction may delay the seal."""

    def nothing_waits() -> bool:
        db.execute("update stepwell.evidence_due set retry_at = null")
        Keeper(dsn, evidence=to).run_once()
        return db.execute("select count(*) from stepwell.evidence_due").fetchone() == (0,)

    until(nothing_waits)


@pytest.mark.requirement("RT-10", "RT-16")
def test_a_run_that_acted_has_its_bundle_after_its_end(app, play, db, dsn, ledger, acts, tmp_path: Path):
    put_in_force(db, rule("free", "allow"))

    @app.operation
    def plain() -> int:
        return 1

    app.publish(sw.Workflow("idle", sw.Operation("plain")))

    async def scenario():
        async with sw.Worker(app):
            acted = await acts({"fields": {"amount": 5}})
            await acted.result()
            quiet = await app.start("idle")
            await quiet.result()
            return acted.id

    run_id = play(scenario)
    # A run that did not act has no row to look at.
    assert db.execute("select count(*) from evidence_due where run_id <> %s", (run_id,)).fetchone() == (0,)
    keep(db, dsn)
    made = db.execute(
        "select run_id, bundle_sha256, stored_url, requested_by from evidence_bundle"
    ).fetchall()
    assert [(row[0], row[2], row[3]) for row in made] == [(run_id, "database", "engine")]
    (data,) = db.execute("select data from evidence_file where run_id = %s", (run_id,)).fetchone()
    assert hashlib.sha256(data).hexdigest() == made[0][1]
    assert verify(bytes(data)) == []
    assert db.execute("select count(*) from evidence_due").fetchone() == (0,)


@pytest.mark.requirement("RT-16")
def test_bundles_go_to_the_configured_place_and_a_workflow_can_be_left_out(
    app, play, db, dsn, ledger, acts, tmp_path: Path
):
    put_in_force(db, rule("free", "allow"))

    async def scenario():
        async with sw.Worker(app):
            first = await acts({"fields": {"amount": 5}})
            await first.result()
            db.execute("select fn_workflow_evidence_set(1, 'one', false)")
            await (await acts({"fields": {"amount": 6}})).result()
            return first.id

    run_id = play(scenario)
    keep(db, dsn, str(tmp_path / "kept"))
    assert [path.name for path in (tmp_path / "kept").iterdir()] == [f"evidence-run-{run_id}.zip"]
    assert db.execute("select count(*) from evidence_bundle").fetchone() == (1,)
    with pytest.raises(psycopg.DatabaseError, match="workflow two is not published"):
        db.execute("select fn_workflow_evidence_set(1, 'two', false)")


@pytest.mark.requirement("RT-16")
def test_a_bundle_that_cannot_be_stored_is_tried_again_and_does_not_stop_the_others(
    app, play, db, dsn, ledger, acts, tmp_path: Path
):
    put_in_force(db, rule("free", "allow"))

    async def scenario():
        async with sw.Worker(app):
            for amount in (1, 2):
                await (await acts({"fields": {"amount": amount}})).result()

    play(scenario)
    db.execute("update dot_config set config_value = '10' where config_key = 'limits.evidence_bytes'")

    def both_were_tried() -> bool:
        Keeper(dsn).run_once()
        rows = db.execute("select last_error from evidence_due where last_error like 'data: a bundle of%'")
        db.execute("update evidence_due set retry_at = null where last_error not like 'data:%'")
        return len(rows.fetchall()) == 2

    until(both_were_tried)
    assert db.execute("select count(*) from evidence_due where retry_at > stepwell.now()").fetchone() == (2,)
    db.execute("update dot_config set config_value = '20000000' where config_key = 'limits.evidence_bytes'")
    keep(db, dsn)
    assert db.execute("select count(*) from evidence_file").fetchone() == (2,)
