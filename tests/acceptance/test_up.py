"""`stepwell up` starts server, worker, keeper and database, and starts again what was killed."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest

from stepwell.store.embedded.server import EmbeddedServer
from stepwell.up.address import DEFAULT_PORT
from tests.acceptance.running import LIMIT_SECONDS, Running, clean_environment, postmaster, up
from tests.support.wait import until


def args(data_dir: Path) -> tuple[str, ...]:
    return ("--data-dir", str(data_dir), "--port", "0")


def all_gone(processes: list[psutil.Process]) -> bool:
    return not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in processes)


def tree_of(running: Running) -> list[psutil.Process]:
    parent = psutil.Process(running.process.pid)
    return [parent, *parent.children(recursive=True)]


def store(data_dir: Path, word: str) -> None:
    with (
        EmbeddedServer(data_dir) as server,
        psycopg.connect(server.conninfo(), autocommit=True) as connection,
    ):
        connection.execute("create table if not exists public.kept (word text)")
        connection.execute("insert into public.kept values (%s)", (word,))


def stored(data_dir: Path) -> list[str]:
    with EmbeddedServer(data_dir) as server, psycopg.connect(server.conninfo()) as connection:
        return [word for (word,) in connection.execute("select word from public.kept order by word")]


def test_up_serves_the_web_console_and_the_api_and_prints_the_address(data_dir: Path):
    with up(*args(data_dir)) as running, running.wait_ready() as client:
        assert str(data_dir) in running.output
        assert client.get("/readyz").status_code == 200
        assert client.get("/api/v1/health").json()["database"]["kind"] == "embedded"
        assert "<title>Stepwell</title>" in client.get("/", headers={"Accept": "text/html"}).text
        with httpx.Client(base_url=client.base_url) as neighbour:
            assert neighbour.get("/api/v1/health").status_code == 401, "the port is enough to act"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_processes_and_the_database(used_dir: Path, number: signal.Signals):
    with up(*args(used_dir)) as running, running.wait_ready():
        tree = tree_of(running)
        database = postmaster(used_dir)
        assert database is not None
        running.signal(number)
        assert running.wait_end() == 0
        assert running.lines[-1] == "Stopped."
        assert all_gone([*tree, database])
        assert "Traceback" not in running.output


def test_up_stops_although_its_output_is_closed(used_dir: Path):
    arguments = [sys.executable, "-m", "stepwell", "up", *args(used_dir)]
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=clean_environment()
    ) as process:
        assert process.stdout is not None
        assert any("Ctrl-C stops everything" in line for line in process.stdout)
        tree = psutil.Process(process.pid).children(recursive=True)
        process.stdout.close()
        process.send_signal(signal.SIGTERM)
        process.wait(LIMIT_SECONDS)
    assert all_gone(tree)
    assert postmaster(used_dir) is None


def test_a_second_start_finds_the_data_of_the_first(used_dir: Path):
    with up(*args(used_dir)) as running, running.wait_ready():
        store(used_dir, "first")
        running.signal(signal.SIGINT)
        assert running.wait_end() == 0
    with up(*args(used_dir)) as running, running.wait_ready():
        assert stored(used_dir) == ["first"]


def test_the_children_of_a_killed_parent_end_and_the_next_start_works(used_dir: Path):
    with up(*args(used_dir)) as running, running.wait_ready():
        store(used_dir, "before the kill")
        children = list(running.children().values())
        assert children
        running.signal(signal.SIGKILL)
        assert running.wait_end() == -signal.SIGKILL
        until(lambda: all_gone(children), what="the end of the children")
    with up(*args(used_dir)) as running, running.wait_ready() as client:
        assert client.get("/readyz").status_code == 200
        assert stored(used_dir) == ["before the kill"]


def test_up_starts_again_after_all_processes_and_the_database_were_killed(used_dir: Path):
    with up(*args(used_dir)) as running, running.wait_ready():
        store(used_dir, "before the crash")
        database = postmaster(used_dir)
        assert database is not None
        for process in [*tree_of(running), database]:
            process.kill()
        running.wait_end()
    with up(*args(used_dir)) as running, running.wait_ready() as client:
        assert client.get("/readyz").status_code == 200
        assert stored(used_dir) == ["before the crash"]


def test_a_killed_server_is_started_again_at_the_same_address(used_dir: Path):
    with up(*args(used_dir)) as running, running.wait_ready() as client:
        before = client.get("/api/v1/health").json()["server_started_at"]
        running.children()["serve"].kill()
        running.wait_for(r"server ended \(killed by SIGKILL\) and restarts now")
        client.close()
        with httpx.Client(base_url=client.base_url, timeout=60, cookies=client.cookies) as again:
            assert again.get("/api/v1/health").json()["server_started_at"] > before


def test_a_killed_database_is_started_again(used_dir: Path):
    with up(*args(used_dir)) as running, running.wait_ready() as client:
        database = postmaster(used_dir)
        assert database is not None
        database.kill()
        running.wait_for("database ended and restarts")
        until(lambda: client.get("/readyz").status_code == 200, what="the database's return")


def test_a_second_signal_does_not_wait_for_a_child_that_hangs(used_dir: Path):
    with up(*args(used_dir)) as running, running.wait_ready():
        server = running.children()["serve"]
        server.suspend()
        until(lambda: server.status() == psutil.STATUS_STOPPED, what="the stop")
        running.signal(signal.SIGINT)
        running.wait_for("Stopping. Ctrl-C again")
        running.signal(signal.SIGINT)
        running.wait_for("Stopping at once")
        assert running.wait_end() == 0
        assert all_gone([server])


def test_instead_of_a_busy_port_the_next_free_one_is_used_and_printed(used_dir: Path):
    taken = socket.socket()
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind(("127.0.0.1", DEFAULT_PORT))
        taken.listen()
    except OSError:
        pass  # Another process already uses the port.
    with taken, up("--data-dir", str(used_dir)) as running, running.wait_ready() as client:
        port = client.base_url.port
        assert port is not None
        assert port > DEFAULT_PORT
        running.wait_for(f"Port {DEFAULT_PORT} is in use; port {port} is used instead")
        assert client.get("/healthz").status_code == 200


def test_two_installations_can_use_one_database(used_dir: Path):
    with up(*args(used_dir)) as first, first.wait_ready() as one:
        with up(*args(used_dir)) as second, second.wait_ready() as other:
            assert other.get("/readyz").status_code == 200
            second.signal(signal.SIGINT)
            assert second.wait_end() == 0
        assert one.get("/readyz").status_code == 200


def test_the_option_no_worker_starts_only_the_server(used_dir: Path):
    with up(*args(used_dir), "--no-worker") as running, running.wait_ready():
        assert set(running.children()) == {"serve"}


APP = """
import stepwell as sw

app = sw.App()


@app.operation
def greet(name: str) -> str:
    return f"hello {name}"
"""


@pytest.fixture
def app_file(tmp_path: Path) -> Path:
    place = tmp_path / "greeting.py"
    place.write_text(APP)
    return place


def test_with_an_app_a_worker_runs_and_is_started_again_when_killed(used_dir: Path, app_file: Path):
    with up(*args(used_dir), "--app", f"{app_file}:app") as running, running.wait_ready() as client:
        assert set(running.children()) == {"serve", "worker", "keeper"}
        running.wait_for("Worker .* is ready; operations: greet")
        until(lambda: counts(client)["workers_live"] == 1, what="the worker on the health page")
        worker = running.children()["worker"]
        worker.kill()
        running.wait_for(r"worker ended \(killed by SIGKILL\) and restarts now")
        until(lambda: running.children().get("worker", worker) != worker, what="the next worker")
        running.signal(signal.SIGINT)
        assert running.wait_end() == 0
        assert running.lines[-1] == "Stopped."


def counts(client: httpx.Client) -> dict[str, int]:
    return {entry["code"]: entry["count"] for entry in client.get("/api/v1/health").json()["counts"]}


def test_without_an_app_there_is_no_worker_and_a_hint_is_printed(used_dir: Path):
    with up(*args(used_dir)) as running, running.wait_ready():
        assert set(running.children()) == {"serve", "keeper"}
        assert "--app module:app" in running.output
