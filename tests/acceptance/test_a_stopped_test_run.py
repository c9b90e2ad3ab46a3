"""A test run that is stopped or killed leaves no server, no process and no folder behind."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.support import processes
from tests.support.run import MARK
from tests.support.wait import until


def marked(controller: int) -> list[psutil.Process]:
    """The processes that carry the mark of the test run of this controller."""
    found = []
    for process in psutil.process_iter(["environ"]):
        mark = (process.info["environ"] or {}).get(MARK, "")
        if mark.startswith(f"{controller}-"):
            found.append(process)
    return found


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_test_run_leaves_no_process_and_no_folder(tmp_path: Path, sent: signal.Signals):
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider"]
    with subprocess.Popen(
        [*command, "tests/support/endless_run.py"],
        cwd=processes.ROOT,
        env=processes.environment({"ENDLESS_RUN_FOLDER": str(tmp_path)}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as pytest_run:
        until(lambda: len(list(tmp_path.glob("[12]"))) == 2, what="both tests running")
        (first_pid, server_folder), (second_pid, data_dir, holder_pid, server_pid) = (
            (tmp_path / name).read_text().splitlines() for name in "12"
        )
        pids = [int(pid) for pid in (first_pid, second_pid, holder_pid, server_pid)]
        folders = [Path(server_folder), Path(data_dir)]
        assert all(psutil.pid_exists(pid) for pid in pids)
        assert all(folder.exists() for folder in folders)
        assert marked(pytest_run.pid)
        pytest_run.send_signal(sent)
    until(lambda: not any(psutil.pid_exists(pid) for pid in pids), what="every server and process ended")
    until(lambda: not any(folder.exists() for folder in folders), what="every folder removed")
    until(lambda: not marked(pytest_run.pid), what="no process of the run left")
