"""Wrong options of `stepwell up`: one sentence, an exit code, no traceback, no database left."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.running import postmaster, run

EXIT_FAILED = 1
EXIT_USAGE = 2


def sentence(done: subprocess.CompletedProcess[str]) -> str:
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("stepwell: ")]
    assert len(lines) == 1, done.stderr
    return lines[0]


def test_a_given_port_that_is_in_use_is_refused(data_dir: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("up", "--data-dir", str(data_dir), "--port", str(port))
    assert done.returncode == EXIT_USAGE
    assert f"port {port} is in use" in sentence(done)
    assert "--port" in sentence(done)
    assert postmaster(data_dir) is None


@pytest.mark.parametrize("port", ["65536", "-1", "http"])
def test_an_impossible_port_is_refused(data_dir: Path, port: str):
    done = run("up", "--data-dir", str(data_dir), "--port", port)
    assert done.returncode == EXIT_USAGE
    assert "--port" in sentence(done)
    assert not data_dir.exists()


@pytest.mark.parametrize("host", ["203.0.113.77", "no such host"])
def test_a_host_of_another_machine_is_refused(data_dir: Path, host: str):
    done = run("up", "--data-dir", str(data_dir), "--host", host)
    assert done.returncode == EXIT_USAGE
    assert "--host" in sentence(done)
    assert postmaster(data_dir) is None


def test_an_unknown_option_is_refused():
    done = run("up", "--colour", "red")
    assert done.returncode == EXIT_USAGE
    assert "--colour" in sentence(done)


def test_a_database_that_does_not_answer_is_named_without_its_password():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    url = f"postgresql://someone:secret-word@127.0.0.1:{port}/none"
    done = run("up", "--port", "0", environment={"STEPWELL_DATABASE_URL": url})
    assert done.returncode == EXIT_FAILED
    assert "secret-word" not in done.stderr
    assert str(port) in sentence(done)


def test_a_folder_that_cannot_be_written_is_refused():
    done = run("up", "--data-dir", "/proc/stepwell", "--port", "0")
    assert done.returncode == EXIT_FAILED
    assert "/proc/stepwell" in sentence(done)
    assert "--data-dir" in sentence(done)


def test_a_file_instead_of_a_folder_is_refused(tmp_path: Path):
    place = tmp_path / "file"
    place.write_text("here already")
    done = run("up", "--data-dir", str(place), "--port", "0")
    assert done.returncode == EXIT_FAILED
    assert str(place) in sentence(done)


def test_a_folder_without_a_cluster_is_refused(data_dir: Path):
    (data_dir / "pg18").mkdir(parents=True)
    (data_dir / "pg18" / "notes.txt").write_text("not a database")
    done = run("up", "--data-dir", str(data_dir), "--port", "0")
    assert done.returncode == EXIT_FAILED
    assert "is not a PostgreSQL cluster" in sentence(done)


def test_an_app_that_does_not_exist_is_refused(used_dir: Path):
    done = run("up", "--data-dir", str(used_dir), "--port", "0", "--app", "nowhere:app")
    assert done.returncode == EXIT_FAILED
    assert "Traceback" not in done.stderr
    reasons = [line for line in done.stderr.splitlines() if line.startswith("stepwell: ")]
    assert "nowhere" in reasons[0]
    assert "the worker did not start" in reasons[-1]
    assert postmaster(used_dir) is None
