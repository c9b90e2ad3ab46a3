"""When a worker is killed, the processes of its handlers end too, busy or idle."""

from __future__ import annotations

import os
import select
from pathlib import Path

import pytest

from tests.acceptance.working import worker
from tests.support.processes import stepwell
from tests.support.roles import api
from tests.support.wait import until, until_row

APP = str(Path(__file__).parent / "processes_app.py") + ":app"
LIMIT_SECONDS = 60


@pytest.mark.parametrize("workflow", ["rests", "looks", "computes"])
def test_no_process_outlives_a_killed_worker(dsn, db, tmp_path, workflow):
    folder = tmp_path / "pids"
    folder.mkdir()
    with worker(dsn, tmp_path / "log", "--executor", "process", app=APP) as running:
        started = stepwell(
            "start", workflow, "-i", f"folder={folder}", env={"STEPWELL_DATABASE_URL": api(dsn)}
        )
        assert started.returncode == 0, started.stderr
        until(lambda: any(folder.iterdir()))
        if workflow == "looks":
            until_row(db, "select state_code = 'completed' from workflow_run")
        (pid,) = (int(path.name) for path in folder.iterdir())
        end = os.pidfd_open(pid)
        try:
            # kill() ends only the worker, not the processes that it started.
            running.process.kill()
            assert select.select([end], [], [], LIMIT_SECONDS)[0], f"process {pid} is still there"
        finally:
            os.close(end)
