"""The commands `db` and `doctor` as a user runs them: their output, and one sentence for an error."""

from __future__ import annotations

import json
import os
import re
import shutil

import psycopg
import pytest

from stepwell.store.embedded.server import EmbeddedServer
from tests.support.data_folder import data_folder
from tests.support.old_server import old_server
from tests.support.processes import stepwell


@pytest.fixture
def data_dir():
    with data_folder() as folder:
        yield folder


def fails_in_one_sentence(done, *, code: int = 1) -> str:
    """Checks the exit code, that stdout is empty, and that stderr is one sentence; returns it."""
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("stepwell: ")
    assert lines[0].endswith(".")
    return lines[0]


def test_the_version_is_printed():
    done = stepwell("--version")
    assert (done.returncode, done.stdout.split()[0]) == (0, "stepwell")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_completes_commands(shell):
    listed = stepwell(
        env={
            "_STEPWELL_COMPLETE": f"complete_{shell}",
            "COMP_WORDS": "stepwell d",
            "COMP_CWORD": "1",
            "_TYPER_COMPLETE_ARGS": "stepwell d",
            "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        }
    )
    assert "doctor" in listed.stdout


def test_migrate_status_verify_and_dump_work_on_one_database(empty_dsn):
    env = {"STEPWELL_DATABASE_URL": empty_dsn}
    before = stepwell("db", "status", env=env)
    assert before.returncode == 1
    assert "missing  0001" in before.stdout
    assert "applied 0001" in stepwell("db", "migrate", env=env).stdout
    again = stepwell("db", "migrate", env=env)
    assert again.stdout == "nothing to do, the schema is current\n"
    status = json.loads(stepwell("db", "status", "--json", env=env).stdout)
    assert status["is_current"]
    assert stepwell("db", "verify", env=env).stdout == "no drift (compared with a scratch database)\n"
    dump = stepwell("db", "dump", env=env)
    assert dump.stdout == stepwell("db", "dump", "--fresh", env=env).stdout
    assert "create table stepwell.schema_migration (" in dump.stdout


def test_verify_names_the_drift_and_exits_with_1(dsn):
    with psycopg.connect(dsn) as connection:
        connection.execute("create table stepwell.mine (a int)")
    done = stepwell("--database-url", dsn, "db", "verify")
    assert done.returncode == 1
    assert "extra table stepwell.mine" in done.stdout
    found = json.loads(stepwell("--database-url", dsn, "db", "verify", "--json").stdout)
    assert [drift["name"] for drift in found["drifts"]] == ["stepwell.mine"]


def test_the_embedded_server_is_used_by_default_and_stopped_afterwards(data_dir):
    done = stepwell("db", "migrate", env={"STEPWELL_DATA_DIR": str(data_dir)})
    assert done.returncode == 0, done.stderr
    assert EmbeddedServer(data_dir).postmaster_pid is None
    assert stepwell("--data-dir", data_dir, "db", "status").returncode == 0
    # Whoever watches the log of the server finds no error there: all these commands did their work.
    assert stepwell("--data-dir", data_dir, "db", "migrate").returncode == 0
    assert stepwell("--data-dir", data_dir, "db", "verify").returncode == 0
    assert stepwell("--data-dir", data_dir, "doctor").returncode == 0
    logged = [line for file in data_dir.glob("pg18/log/*.log") for line in file.read_text().splitlines()]
    assert any("database system is ready" in line for line in logged)
    assert [line for line in logged if re.search(r" (ERROR|PANIC|WARNING): ", line)] == []


@pytest.mark.parametrize(
    "arguments",
    [["--bogus"], ["db", "bogus"], ["db", "migrate", "--bogus"], ["bogus"], ["db", "status", "extra"]],
)
def test_the_error_for_an_unknown_option_or_command_is_one_sentence(arguments):
    assert "--help" in fails_in_one_sentence(stepwell(*arguments), code=2)


def test_the_error_for_a_wrong_setting_is_one_sentence():
    said = fails_in_one_sentence(stepwell("db", "status", env={"STEPWELL_DATABASE_URL": "mysql://x"}), code=2)
    assert "postgresql://" in said


def test_the_error_for_an_unreachable_database_is_one_sentence():
    said = fails_in_one_sentence(stepwell("--database-url", "postgresql://127.0.0.1:1/x", "db", "status"))
    assert "cannot be reached" in said


def test_the_error_for_an_unknown_database_is_one_sentence(server):
    said = fails_in_one_sentence(stepwell("--database-url", server.conninfo("nowhere"), "db", "status"))
    assert '"nowhere" does not exist' in said


def test_the_error_for_a_too_old_database_is_one_sentence():
    with old_server("14.9") as dsn:
        said = fails_in_one_sentence(stepwell("--database-url", dsn, "db", "migrate"))
    assert said == "stepwell: the server runs PostgreSQL 14.9: stepwell needs PostgreSQL 15 or newer."


def test_the_error_for_a_missing_permission_is_one_sentence(empty_dsn, plain_role):
    said = fails_in_one_sentence(stepwell("--database-url", plain_role(empty_dsn), "db", "migrate"))
    assert "permission denied" in said


def test_the_error_for_a_corrupt_data_folder_is_one_sentence(data_dir):
    (data_dir / "pg18").mkdir(parents=True)
    (data_dir / "pg18" / "stray").touch()
    said = fails_in_one_sentence(stepwell("--data-dir", data_dir, "db", "status"))
    assert "PG_VERSION is missing" in said
    assert "backup" in said


def test_the_error_for_a_damaged_cluster_is_one_sentence(data_dir):
    with EmbeddedServer(data_dir) as server:
        pass
    (server.cluster_dir / "global" / "pg_control").unlink()
    assert "pg_control is missing" in fails_in_one_sentence(stepwell("--data-dir", data_dir, "db", "status"))


def test_the_error_for_a_cluster_that_cannot_start_names_the_reason(data_dir):
    with EmbeddedServer(data_dir) as server:
        pass
    shutil.rmtree(server.cluster_dir / "pg_wal")
    said = fails_in_one_sentence(stepwell("--data-dir", data_dir, "db", "status"))
    assert "pg_wal" in said


@pytest.mark.parametrize("place", ["pg18", "pg17"])
def test_the_error_for_a_folder_of_another_major_version_is_one_sentence(data_dir, place):
    (data_dir / place).mkdir(parents=True)
    (data_dir / place / "PG_VERSION").write_text("17\n")
    said = fails_in_one_sentence(stepwell("--data-dir", data_dir, "db", "status"))
    assert "has data of PostgreSQL 17, this release runs 18" in said


def test_the_error_for_a_file_in_place_of_the_folder_is_one_sentence(data_dir):
    data_dir.touch()
    assert "cannot be written" in fails_in_one_sentence(stepwell("--data-dir", data_dir, "db", "status"))


def test_the_error_for_a_read_only_folder_is_one_sentence(data_dir):
    data_dir.mkdir()
    data_dir.chmod(0o555)
    prefix: list[str] = []
    if os.geteuid() == 0:
        # Root can write anywhere; without its capabilities the permission bits apply to it too.
        if shutil.which("setpriv") is None:
            pytest.skip("needs setpriv to drop the rights of root")
        prefix = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    said = fails_in_one_sentence(stepwell("--data-dir", data_dir, "db", "status", prefix=prefix))
    assert f"{data_dir} cannot be written: Permission denied" in said


def test_debug_shows_the_traceback():
    done = stepwell(
        "--database-url", "postgresql://127.0.0.1:1/x", "db", "status", env={"STEPWELL_DEBUG": "1"}
    )
    assert done.returncode == 1
    assert "Traceback" in done.stderr
