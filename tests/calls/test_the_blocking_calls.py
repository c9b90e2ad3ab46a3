"""`app.sync` has every call of the app, blocking and with the same signature; nothing is open at exit."""

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

# Coroutines of the app that only an event loop needs.
ONLY_ASYNC = {"address", "client", "disconnect"}


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
    ("coroutine_class", "blocking_class"),
    [(App, SyncApp), (sw.RunHandle, SyncRunHandle), (sw.JobHandle, SyncJobHandle)],
    ids=lambda kind: kind.__name__,
)
def test_every_call_has_a_blocking_form_with_the_same_parameters(coroutine_class, blocking_class):
    for name in coroutines(coroutine_class) - ONLY_ASYNC:
        assert hasattr(blocking_class, name), f"{blocking_class.__name__} has no {name}"
        assert parameters(getattr(blocking_class, name)) == parameters(getattr(coroutine_class, name)), name


def test_runs_and_jobs_work_with_blocking_calls(square, dsn):
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


def test_a_blocking_call_in_a_thread_uses_the_event_loop_of_the_app(square, play):
    async def scenario():
        async with sw.Worker(square):
            return await asyncio.to_thread(lambda: square.sync.run("square", {"n": 7}))

    assert play(scenario) == 49


def test_a_blocking_call_on_the_event_loop_is_refused(square, play):
    async def scenario():
        with pytest.raises(sw.StepwellError, match=r"app\.sync was called on the event loop"):
            square.sync.run_count()

    play(scenario)


def test_a_program_that_does_not_close_the_app_ends_without_a_warning(dsn, tmp_path):
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
    # On a busy machine the event loop says in this mode how long a call took; that is no warning.
    said = [line for line in done.stderr.splitlines() if not line.startswith("Executing <")]
    assert (done.returncode, done.stdout, said) == (0, "in_progress\n", [])


def test_a_closed_app_leaves_no_thread(square):
    before = threading.active_count()
    with square.sync as calls:
        assert calls.run_count() == 0
        assert threading.active_count() > before
    assert threading.active_count() == before
