"""The progress of a handler is shown while it runs: in coroutines, threads and processes, with few writes."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import stepwell as sw
from stepwell import present_handler
from stepwell.handler_progress import Progress
from stepwell.store.calls.leases import Lease, Report
from stepwell.worker import progress_reports
from stepwell.worker.progress_reports import ProgressReports
from tests.support.processes import stepwell
from tests.support.roles import client_environment
from tests.support.wait import until_async
from tests.worker.crunching import count_to_the_end


def progress_of(db: Any) -> dict[str, Any] | None:
    row = db.execute("select progress - 'at' from step_run").fetchone()
    found: dict[str, Any] | None = row[0]
    return found


def publish(app: sw.App, name: str) -> None:
    app.publish(sw.Workflow("one", sw.Operation(name, id="work")))


@pytest.fixture
def at_sixty(app, play, db):
    """Runs a question while a handler is at 60 of 100."""
    may_end = asyncio.Event()

    @app.operation
    async def work(ctx: sw.Context):
        ctx.progress(60, 100, "reading")
        await may_end.wait()

    publish(app, "work")

    def run(question: Callable[[sw.RunHandle], Awaitable[None]]) -> None:
        async def scenario():
            async with sw.Worker(app):
                run = await app.start("one")
                await until_async(lambda: progress_of(db) is not None)
                await question(run)
                may_end.set()
                await run.result()

        play(scenario)

    return run


def test_python_shows_progress_while_the_handler_runs(app, db, at_sixty):
    async def question(run):
        assert progress_of(db) == {"done": 60, "total": 100, "note": "reading"}
        step = await app.step((run.id, "work"))
        assert (step.progress["done"], step.progress["total"]) == (60, 100)
        (step,) = await run.steps()
        assert step.progress["note"] == "reading"

    at_sixty(question)
    assert progress_of(db) is None


@pytest.mark.parametrize(
    "command", ["runs show {0}", "step show {0}/work", "jobs show {0}.1", "jobs list --run {0}"]
)
def test_every_command_that_shows_steps_shows_progress(dsn, at_sixty, command):
    async def question(run):
        words, env = command.format(run.id).split(), client_environment(dsn)
        text, as_json = await asyncio.gather(
            asyncio.to_thread(stepwell, *words, env=env),
            asyncio.to_thread(stepwell, *words, "--json", env=env),
        )
        assert "60 / 100 (60%), reading" in text.stdout, text
        assert '"note": "reading"' in json.dumps(json.loads(as_json.stdout))

    at_sixty(question)


@pytest.mark.parametrize("way", ["ctx", "function"])
def test_a_handler_in_a_thread_reports_progress(app, play, db, way):
    may_end = threading.Event()

    @app.operation
    def work(ctx: sw.Context):
        (ctx.progress if way == "ctx" else sw.progress)(1, 2)
        assert may_end.wait(60)

    publish(app, "work")

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one")
            await until_async(lambda: progress_of(db) == {"done": 1, "total": 2})
            may_end.set()
            await run.result()

    play(scenario)


def test_a_handler_in_a_process_reports_progress(app, play, db, tmp_path):
    app.operation(count_to_the_end, name="work", executor="process")
    publish(app, "work")
    gate = tmp_path / "gate"

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one", {"gate": str(gate)})
            await until_async(lambda: progress_of(db) == {"done": 3, "total": 4, "note": "counting"})
            gate.touch()
            assert await run.result() == "ended"

    play(scenario)


def test_a_failed_step_keeps_its_last_progress(app, play, db):
    @app.operation(retry=sw.Retry(max_attempts=1))
    async def work(ctx: sw.Context):
        for row in range(5):
            ctx.progress(row, 10, f"row {row}")
        raise ValueError("broken row")

    publish(app, "work")

    async def scenario():
        async with sw.Worker(app):
            with pytest.raises(sw.Conflict):
                await (await app.start("one")).result()

    play(scenario)
    assert progress_of(db) == {"done": 4, "total": 10, "note": "row 4"}


def test_many_progress_reports_are_sent_in_few_writes(monkeypatch):
    """The first progress is sent at once, later ones wait; that of a completed unit is not sent."""
    monkeypatch.setattr(progress_reports, "PAUSE_SECONDS", 3600)
    sent = []
    leases = [Lease(1, (no << 20) + 1, 1, 1, "work", 1, 1, *[None] * 9) for no in range(1, 4)]

    async def send(batch):
        sent.append(batch)

    async def scenario():
        reports = ProgressReports(send, None)
        running = asyncio.create_task(reports.run())
        for lease in leases:
            reports.note(lease, Progress(0, None, None))
        await until_async(lambda: sent)
        for done in range(100_000):
            for lease in leases:
                reports.note(lease, Progress(done, None, None))
        await reports.end(leases[0], Report(1, leases[0].unit_id, 1, "completed", None))
        await reports.end(leases[1], Report(1, leases[1].unit_id, 1, "failed", None))
        await reports.end(leases[2], None)
        running.cancel()

    asyncio.run(scenario())
    first, last = sent
    assert [progress.done for _, progress in first] == [0, 0, 0]
    assert last == [((1, leases[1].unit_id, 1), Progress(99_999, None, None))]


def test_progress_raises_when_the_lease_is_lost(app, play, db):
    began, lost = threading.Event(), threading.Event()

    @app.operation
    def work(ctx: sw.Context):
        began.set()
        try:
            while not lost.wait(0.01):
                ctx.progress(1, 2)
        except sw.LeaseLost:
            lost.set()
            raise

    publish(app, "work")

    async def scenario():
        async with sw.Worker(app, lease_seconds=1):
            run = await app.start("one")
            await asyncio.to_thread(began.wait, 60)
            await run.cancel()
            await asyncio.to_thread(lost.wait, 60)

    play(scenario)
    assert lost.is_set()


@pytest.mark.parametrize(
    ("done", "total", "field"),
    [(-1, 2, "done"), (1, -2, "total"), (float("nan"), 2, "done"), (True, 2, "done"), ("1", 2, "done"),
     (None, 2, "done")],
)  # fmt: skip
def test_an_invalid_number_is_refused_at_once(done, total, field):
    with pytest.raises(sw.InvalidInput, match=f"progress: {field} is") as raised:
        sw.progress(done, total)
    assert raised.value.field == field


class Reporting:
    """A handler that keeps what it reports."""

    def __init__(self, reported: list[Progress]) -> None:
        self._reported = reported

    def log_fields(self) -> dict[str, object]:
        return {}

    def note_progress(self, said: Progress) -> None:
        self._reported.append(said)


def test_a_note_is_shortened_and_can_be_stored():
    reported: list[Progress] = []

    def inside() -> None:
        present_handler.enter(Reporting(reported))
        sw.progress(1, note="\x00\ud800" + "x" * 500)

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert reported == [Progress(1, None, "\ufffd?" + "x" * 198)]


def test_progress_outside_of_a_handler_does_nothing():
    sw.progress(1, 2, "alone")
