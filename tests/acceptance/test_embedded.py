"""The embedded server is shared and durable, and starts again whatever happened before."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
from contextlib import ExitStack
from pathlib import Path

import psutil
import psycopg
import pytest

from stepwell.errors import DatabaseUnavailable
from stepwell.store.embedded.server import SOCKET_DIR_BYTES_LIMIT, EmbeddedServer
from tests.support import wait
from tests.support.data_folder import copied, data_folder, made_once
from tests.support.processes import python_for_others, talker

HOLDER = "tests.support.hold_server"


@pytest.fixture
def data_dir():
    with data_folder() as folder:
        yield folder


def _created(folder: Path) -> None:
    with EmbeddedServer(folder):
        pass


@pytest.fixture
def made_dir(data_dir):
    """A data folder with a cluster that was created before this test, and stopped."""
    return copied(made_once("cluster", _created), data_dir)


def query(server: EmbeddedServer, statement: str):
    with psycopg.connect(server.conninfo(), autocommit=True) as connection:
        found = connection.execute(statement)
        return found.fetchone()[0] if found.description else None


def ready(line: str) -> int:
    word, pid, _ = line.split(" ", 2)
    assert word == "ready"
    return int(pid)


def test_the_server_starts_in_an_empty_folder_and_keeps_its_data(data_dir):
    with EmbeddedServer(data_dir) as server:
        query(server, "create table kept as select 42 as answer")
    assert server.postmaster_pid is None
    with EmbeddedServer(data_dir) as server:
        assert query(server, "select answer from kept") == 42


def test_the_settings_of_the_server_are_durable(data_dir):
    with EmbeddedServer(data_dir) as server:
        for name in ("fsync", "synchronous_commit", "full_page_writes", "data_checksums"):
            assert query(server, f"show {name}") == "on"
        assert query(server, "show max_connections") == "200"
        assert query(server, "show server_encoding") == "UTF8"
        assert query(server, "select datlocale from pg_database where datname = 'stepwell'") == "C.UTF-8"
        assert query(server, "show server_version_num").startswith("18")


def test_only_the_owner_can_reach_the_server(made_dir):
    with EmbeddedServer(made_dir) as server:
        process = psutil.Process(server.postmaster_pid)
        assert not [found for found in process.net_connections() if found.family != socket.AF_UNIX]
        assert query(server, "show listen_addresses") == ""
        run = made_dir / "run"
        assert stat.S_IMODE(run.stat().st_mode) == 0o700
        assert run.stat().st_uid == process.uids().real
        assert process.uids().real != 0


def test_two_processes_share_the_server_and_the_last_one_stops_it(made_dir):
    with talker(HOLDER, made_dir) as first, talker(HOLDER, made_dir) as second:
        pid = ready(first.hear())
        assert ready(second.hear()) == pid
        assert first.ask("stop") == "stopped False"
        assert psutil.pid_exists(pid)
        assert second.ask("stop") == "stopped True"
    assert EmbeddedServer(made_dir).postmaster_pid is None


def test_four_processes_that_start_at_once_get_one_server(data_dir):
    with ExitStack() as stack:
        holders = [stack.enter_context(talker(HOLDER, data_dir)) for _ in range(4)]
        assert len({ready(holder.hear()) for holder in holders}) == 1
        answers = [holder.ask("stop") for holder in holders]
    assert answers == ["stopped False"] * 3 + ["stopped True"]


def test_two_uses_in_one_process_count_as_two(made_dir):
    with EmbeddedServer(made_dir) as outer:
        inner = EmbeddedServer(made_dir)
        inner.start()
        assert inner.stop() is False
        assert query(outer, "select 1") == 1


def test_the_next_process_uses_and_stops_the_server_of_a_killed_process(made_dir):
    with talker(HOLDER, made_dir) as holder:
        pid = ready(holder.hear())
        holder.kill()
    server = EmbeddedServer(made_dir)
    server.start()
    assert server.postmaster_pid == pid
    assert server.stop() is True
    assert server.postmaster_pid is None


def test_a_killed_process_no_longer_counts_as_a_user(made_dir):
    with talker(HOLDER, made_dir) as first, talker(HOLDER, made_dir) as second:
        ready(first.hear())
        ready(second.hear())
        first.kill()
        assert second.ask("stop") == "stopped True"


def test_a_forked_child_neither_uses_nor_stops_the_server(made_dir):
    with talker(HOLDER, made_dir) as holder:
        ready(holder.hear())
        child = int(holder.ask("fork").split()[1])
        try:
            assert holder.ask("stop") == "stopped True"
        finally:
            os.kill(child, signal.SIGKILL)


def test_committed_work_survives_a_killed_server(made_dir):
    server = EmbeddedServer(made_dir)
    server.start()
    query(server, "create table kept as select generate_series(1, 1000) as n")
    postmaster = psutil.Process(server.postmaster_pid)
    family = [postmaster, *postmaster.children()]
    postmaster.kill()
    psutil.wait_procs(family, timeout=60)
    server.stop()
    with EmbeddedServer(made_dir) as again:
        assert query(again, "select count(*) from kept") == 1000


def test_the_server_starts_again_after_only_the_postmaster_was_killed(made_dir):
    """Backends of the killed server may still run for a moment; the start waits for them."""
    server = EmbeddedServer(made_dir)
    server.start()
    busy = psycopg.connect(server.conninfo(), autocommit=True)
    busy.execute("select 1")
    os.kill(server.postmaster_pid, signal.SIGKILL)
    server.stop()
    with EmbeddedServer(made_dir) as again:
        assert query(again, "select 1") == 1
    busy.close()


@pytest.mark.parametrize(
    "pid", [os.getpid(), 1, 99_999_998], ids=["of this process", "of init", "of no process"]
)
def test_a_stale_pid_file_does_not_stop_the_start(made_dir, pid):
    with EmbeddedServer(made_dir) as server:
        text = (server.cluster_dir / "postmaster.pid").read_text()
    lines = text.splitlines()
    lines[0] = str(pid)
    path = server.cluster_dir / "postmaster.pid"
    path.write_text("\n".join(lines) + "\n")
    owner = server.cluster_dir.stat()
    os.chown(path, owner.st_uid, owner.st_gid)
    assert server.postmaster_pid is None
    with EmbeddedServer(made_dir) as again:
        assert query(again, "select 1") == 1
        assert again.postmaster_pid != pid


def test_a_copy_of_a_running_folder_is_not_confused_with_the_original(made_dir):
    copy = made_dir.with_name("copy")
    with EmbeddedServer(made_dir) as original:
        query(original, "checkpoint")
        shutil.copytree(made_dir, copy, copy_function=_with_owner, ignore=shutil.ignore_patterns("run"))
        _own_as(copy, made_dir)
        # The server of the copy cannot start. The socket in its copied pid file is that of the original.
        (copy / "pg18" / "global" / "pg_control").write_bytes(b"x" * 8192)
        with pytest.raises(DatabaseUnavailable, match="did not start"), EmbeddedServer(copy):
            pass
        assert query(original, "select 1") == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can own a folder that PostgreSQL may not")
def test_a_folder_that_root_copied_is_refused_with_the_remedy(made_dir):
    with EmbeddedServer(made_dir):
        pass
    copy = made_dir.with_name("copy")
    shutil.copytree(made_dir, copy, ignore=shutil.ignore_patterns("run"))
    with pytest.raises(DatabaseUnavailable, match="belongs to root") as caught, EmbeddedServer(copy):
        pass
    assert "chown -R" in str(caught.value.hint)


def _with_owner(source: str, target: str) -> None:
    shutil.copy2(source, target)
    status = Path(source).stat()
    os.chown(target, status.st_uid, status.st_gid)


def _own_as(copy: Path, original: Path) -> None:
    for folder in (copy, *(path for path in copy.rglob("*") if path.is_dir())):
        status = (original / folder.relative_to(copy)).stat()
        os.chown(folder, status.st_uid, status.st_gid)
        folder.chmod(status.st_mode)


def test_an_empty_pid_file_does_not_stop_the_start(made_dir):
    with EmbeddedServer(made_dir) as server:
        pass
    (server.cluster_dir / "postmaster.pid").touch()
    with EmbeddedServer(made_dir) as again:
        assert query(again, "select 1") == 1


def test_the_server_starts_after_a_process_was_killed_during_initdb(data_dir):
    with talker(HOLDER, data_dir) as holder:
        wait.until(lambda: list(data_dir.glob("pg18.new-*/global")), what="initdb began")
        holder.kill()
    with EmbeddedServer(data_dir) as server:
        assert query(server, "select 1") == 1


def test_an_unfinished_cluster_of_a_killed_process_is_removed(data_dir):
    (data_dir / "pg18.new-123" / "base").mkdir(parents=True)
    with EmbeddedServer(data_dir):
        pass
    assert not list(data_dir.glob("pg18.new-*"))


def test_a_path_too_long_for_a_socket_works(data_dir):
    long = data_dir / ("long" * 20) / ("er" * 30)
    assert len(str(long)) > SOCKET_DIR_BYTES_LIMIT
    with EmbeddedServer(long) as server:
        assert query(server, "select 1") == 1
        folder = Path(query(server, "show unix_socket_directories").strip('"'))
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        # A process with another TMPDIR finds the same server.
        with talker(HOLDER, long, env={"TMPDIR": str(data_dir), "XDG_RUNTIME_DIR": None}) as other:
            assert ready(other.hear()) == server.postmaster_pid
    assert not folder.exists()


def test_an_odd_path_works(data_dir):
    with EmbeddedServer(data_dir / "with space, it's" / 'a "quote" comma,dollar$HOME dấu') as server:
        assert query(server, "select 1") == 1


def test_root_starts_the_server_in_a_folder_of_an_ordinary_user(data_dir, ordinary_uid):
    data_dir.parent.chmod(0o755)
    data_dir.mkdir()
    os.chown(data_dir, ordinary_uid, ordinary_uid)
    with talker(HOLDER, data_dir, uid=ordinary_uid) as holder:
        pid = ready(holder.hear())
        assert psutil.Process(pid).uids().real == ordinary_uid
        with EmbeddedServer(data_dir) as server:
            assert server.postmaster_pid == pid
            assert query(server, "select 1") == 1
        assert holder.ask("stop") == "stopped True"
    with EmbeddedServer(data_dir) as server:
        assert psutil.Process(server.postmaster_pid).uids().real == ordinary_uid


def test_an_ordinary_user_cannot_use_a_folder_of_root(made_dir, ordinary_uid):
    made_dir.parent.chmod(0o755)
    with EmbeddedServer(made_dir):
        pass
    with talker(HOLDER, made_dir, uid=ordinary_uid) as holder:
        said = holder.hear()
    assert said.startswith(f"refused the data folder {made_dir} cannot be written")


@pytest.fixture
def ordinary_uid():
    """The id of an ordinary account. Only root can switch to it, and only if it may read our files."""
    if os.geteuid() != 0:
        pytest.skip("needs root to become another user")
    if python_for_others() is None:
        pytest.skip("checkout or interpreter are in a folder that only its owner may enter")
    return 65534
