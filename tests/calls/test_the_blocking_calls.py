"""`app.sync`: every call of the app, blocking, with the same signature; nothing is left pending at exit."""

from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import sys
import textwrap
import threading

import pytest

import stepwell as sw
from stepwell.app import App
from stepwell.sync import SyncApp
from stepwell.sync_handles import SyncJobHandle, SyncRunHandle

# Of the app, not of its calls: what an event loop needs, and the halves of `close`.
ONLY_ASYNC = {"client", "disconnect"}


def coroutines(kind: type) -> set[str]:
    return {
        name
        for name, member in inspect.getmembers(kind, inspect.iscoroutinefunction)
        if not name.startswith("_")
    }


def parameters(function: object) -> list[tuple[str, object, object]]:
    found = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    return [(one.name, one.kind, one.default) for one in found if one.name != "self"]


@pytest.mark.parametrize(
    ("asked", "blocking"),
    [(App, SyncApp), (sw.RunHandle, SyncRunHandle), (sw.JobHandle, SyncJobHandle)],
    ids=lambda kind: kind.__name__,
)
def test_every_call_is_there_with_the_same_parameters(asked, blocking):
    for name in coroutines(asked) - ONLY_ASYNC:
        assert hasattr(blocking, name), f"{blocking.__name__} has no {name}"
        assert parameters(getattr(blocking, name)) == parameters(getattr(asked, name)), name


def test_runs_and_jobs_by_calls_that_block(square, dsn):
    with square.sync as calls:
        run = calls.start("square", {"n": 3}, key="K")
        assert (run.state(), run.is_new) == ("in_progress", True)
        assert calls.find_run("square", "K").id == run.id
        assert calls.run_count(state="in_progress") == 1
        assert calls.acting_as("ada").start("square", {"n": 1}).info().started_by == "ada"
        assert calls.signal(run, "early").accepted
        assert run.cancel("not needed") == "cancelled"
        job = calls.enqueue("square", {"n": 5})
        assert (job.state(), job.cancel()) == ("ready", "cancelled")
        assert [one.name for one in calls.workflows()] == ["broken", "square"]
    assert square.sync.run_count() == 2
    square.sync.close()


def test_a_thread_beside_a_connected_app_uses_its_event_loop(square, play):
    async def scenario():
        async with sw.Worker(square):
            return await asyncio.to_thread(lambda: square.sync.run("square", {"n": 7}))

    assert play(scenario) == 49


def test_a_call_on_the_loop_it_would_wait_for_is_refused(square, play):
    async def scenario():
        with pytest.raises(sw.StepwellError, match=r"app\.sync was called on the event loop"):
            square.sync.run_count()

    play(scenario)


def test_a_program_that_closes_nothing_ends_without_a_warning(dsn, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        textwrap.dedent("""
            import stepwell as sw

            app = sw.App()
            app.operation(lambda: None, name="nothing")
            app.publish(sw.Workflow("w", sw.Operation("nothing")))
            print(app.sync.start("w").state())
            app.sync.runs()
        """)
    )
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", str(script)],
        env={**os.environ, "STEPWELL_DATABASE_URL": dsn},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "in_progress\n", "")


def test_a_closed_app_leaves_no_thread(square):
    before = threading.active_count()
    with square.sync as calls:
        assert calls.run_count() == 0
        assert threading.active_count() > before
    assert threading.active_count() == before
