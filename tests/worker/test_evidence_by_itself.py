"""A run that acted or was approved has its evidence bundle after its end; other runs cost nothing."""

from __future__ import annotations

import hashlib
import io
import zipfile
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

import stepwell as sw
from stepwell.govern.verify import verify
from stepwell.keeper import Keeper
from stepwell.store.calls.keep import leading
from tests.support.roles import as_process
from tests.support.wait import until, until_async
from tests.worker.acting import put_in_force, rule


def keep(db: psycopg.Connection, dsn: str, to: str | None = None) -> None:
    """Passes of a keeper until no ended run waits for its bundle: an open transaction may delay the seal."""

    def nothing_waits() -> bool:
        db.execute("update stepwell.evidence_due set retry_at = null")
        Keeper(as_process(dsn, "keeper"), evidence=to).run_once()
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
def test_a_run_that_was_approved_and_did_not_act_has_its_bundle_too(app, play, db, dsn):
    db.execute("select fn_person_set(1, 'ben', '{reviewer}')")

    @app.operation
    def plain() -> int:
        return 1

    app.publish(sw.Workflow("asked", sw.Sequential(sw.Operation("plain"), sw.Wait("go"))))

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("asked")
            approval = db.execute(
                "select fn_approval_request(1, 'spend', %s, 'ben', 'why')", (run.id << 20,)
            ).fetchone()
            await app.signal(run, "go")
            await run.result()
            return run.id, approval[0]

    with leading(dsn):
        run_id, approval = play(scenario)
    keep(db, dsn)
    assert db.execute("select run_id, requested_by from evidence_bundle").fetchall() == [(run_id, "engine")]
    (data,) = db.execute("select data from evidence_file").fetchone()
    with zipfile.ZipFile(io.BytesIO(data)) as bundle:
        assert str(approval) in "".join(
            bundle.read(name).decode() for name in bundle.namelist() if "approval" in name
        )
    assert verify(bytes(data)) == []


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

    # The keeper of the worker has no place for bundles; it must not make them.
    with leading(dsn):
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

    db.execute("update dot_config set config_value = '10' where config_key = 'limits.evidence_bytes'")
    play(scenario)

    def both_were_tried() -> bool:
        Keeper(as_process(dsn, "keeper")).run_once()
        rows = db.execute("select last_error from evidence_due where last_error like 'data: a bundle of%'")
        db.execute("update evidence_due set retry_at = null where last_error not like 'data:%'")
        return len(rows.fetchall()) == 2

    until(both_were_tried)
    assert db.execute("select count(*) from evidence_due where retry_at > stepwell.now()").fetchone() == (2,)
    db.execute("update dot_config set config_value = '20000000' where config_key = 'limits.evidence_bytes'")
    keep(db, dsn)
    assert db.execute("select count(*) from evidence_file").fetchone() == (2,)


@pytest.mark.requirement("RT-10", "RT-16")
def test_the_keeper_of_a_worker_makes_the_bundle_with_its_own_role(app, play, db, clock, ledger, acts):
    """Nobody exports: the worker runs its keeper as `stepwell_keeper`, which reads no table."""
    put_in_force(db, rule("free", "allow"))
    db.execute("update dot_config set config_value = '1' where config_key = 'audit.seal_interval_seconds'")

    def file() -> tuple[bytes] | None:
        db.execute("update evidence_due set retry_at = null")
        return db.execute("select data from evidence_file").fetchone()

    async def scenario():
        async with sw.Worker(app):
            run = await acts({"fields": {"amount": 5}})
            await run.result()
            # The keeper reads the interval at its first look, and looks again a minute later.
            clock.advance(timedelta(minutes=2))
            await until_async(lambda: file() is not None)
            return run.id

    run_id = play(scenario)
    made = db.execute("select run_id, stored_url, requested_by from evidence_bundle").fetchall()
    assert made == [(run_id, "database", "engine")]
    found = file()
    assert found is not None
    assert verify(bytes(found[0])) == []
    assert db.execute("select count(*) from evidence_due").fetchone() == (0,)


READS = (
    "fn_evidence_due_run(1, %(run)s)",
    "fn_evidence_due_chain(1, %(run)s)",
    "fn_evidence_due_blocks(1, %(run)s)",
    "fn_evidence_due_entries(1, %(run)s, null)",
    "fn_evidence_due_hashes(1, %(run)s, 1)",
    "fn_evidence_due_places(1, %(run)s, 1)",
    "fn_evidence_due_events(1, %(run)s)",
    "fn_evidence_due_values(1, %(run)s, array[%(run)s << 20])",
    "fn_evidence_due_seal(1, %(run)s, repeat('a', 64))",
    "fn_evidence_due_store(1, %(run)s, repeat('a', 64), repeat('b', 64), 1, 'x', null)",
)


@pytest.mark.requirement("RT-16")
def test_a_keeper_reads_only_the_run_that_waits_and_only_after_its_end(app, play, db, dsn, ledger, acts):
    put_in_force(db, rule("free", "allow"))

    @app.operation
    def plain() -> int:
        return 1

    app.publish(sw.Workflow("idle", sw.Operation("plain")))
    app.publish(sw.Workflow("open", sw.Wait("go")))

    async def scenario():
        async with sw.Worker(app):
            quiet = await app.start("idle")
            await quiet.result()
            acted = await acts({"fields": {"amount": 5}})
            await acted.result()
            return acted.id, quiet.id, (await app.start("open")).id

    with leading(dsn):
        acted, quiet, still_open = play(scenario)
    # This one acted, and goes on.
    db.execute("insert into evidence_due (tenant_id, run_id, asked_at) values (1, %s, now())", (still_open,))
    with psycopg.connect(as_process(dsn, "keeper"), autocommit=True) as keeper:
        keeper.execute("set search_path = stepwell")
        for run in (quiet, still_open, 999):
            for read in READS:
                with pytest.raises(psycopg.DatabaseError, match=f"run {run} does not wait for a bundle"):
                    keeper.execute(f"select {read}", {"run": run})
        streams = {
            row[0] for row in keeper.execute("select run_id from fn_evidence_due_events(1, %s)", (acted,))
        }
        assert acted in streams
        assert not streams & {quiet, still_open}

        def shown() -> set[int]:
            """An open transaction of another test may keep the events from being sealed for a while."""
            db.execute("select fn_audit_seal(1)")
            places = keeper.execute(
                """select p.event_id from (select distinct block_no from
                       fn_evidence_due_entries(1, %(run)s, null)) as e
                   cross join fn_evidence_due_places(1, %(run)s, e.block_no) as p""",
                {"run": acted},
            ).fetchall()
            found = db.execute(
                "select distinct run_id from event_log where event_id = any (%s)",
                ([one for (one,) in places],),
            )
            return {run for (run,) in found}

        until(lambda: shown() >= streams)
        assert shown() == streams
        values = "select count(*) from fn_evidence_due_values(1, %s, array[%s::bigint << 20])"
        assert keeper.execute(values, (acted, acted)).fetchone() == (1,)
        assert keeper.execute(values, (acted, quiet)).fetchone() == (0,)
    db.execute("delete from evidence_due where run_id = %s", (still_open,))
    keep(db, dsn)
    with (
        psycopg.connect(as_process(dsn, "keeper")) as keeper,
        pytest.raises(psycopg.DatabaseError, match="does not wait"),
    ):
        keeper.execute("select stepwell.fn_evidence_due_run(1, %s)", (acted,))
