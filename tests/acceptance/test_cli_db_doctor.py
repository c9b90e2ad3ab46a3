"""`stepwell doctor` prints one line for each check, with the remedy; the exit code is 1 if one fails."""

from __future__ import annotations

import json

import psycopg

from tests.support.data_folder import data_folder
from tests.support.old_server import old_server
from tests.support.processes import stepwell


def findings(*arguments, env=None) -> dict[str, dict]:
    done = stepwell(*arguments, "doctor", "--json", env=env)
    assert done.stderr == ""
    return {found["check"]: found for found in json.loads(done.stdout)}


def test_a_healthy_embedded_installation_passes_every_check():
    with data_folder() as folder:
        assert stepwell("--data-dir", folder, "db", "migrate").returncode == 0
        done = stepwell("--data-dir", folder, "doctor")
    assert done.returncode == 0, done.stdout
    checks = [line.split()[1].rstrip(":") for line in done.stdout.splitlines()]
    expected = [
        "database",
        "fsync",
        "full_page_writes",
        "synchronous_commit",
        "max_connections",
        "schema",
        "partitions",
        "clock",
    ]
    assert checks[:13] == [*expected, "permissions", "roles", "disk", "notify", "pooler"]
    assert "✗" not in done.stdout
    # It only reads: the owner of the embedded server is not needed. A keeper is asked about all tenants.
    assert "stepwell_reader" in next(line for line in done.stdout.splitlines() if "permissions" in line)
    assert {"seal", "receipts", "evidence"} <= set(checks)


def test_a_missing_schema_fails_with_the_remedy(empty_dsn):
    found = findings("--database-url", empty_dsn)
    assert found["schema"]["level"] == "failed"
    assert "stepwell db migrate" in found["schema"]["remedy"]
    assert stepwell("--database-url", empty_dsn, "doctor").returncode == 1


def test_unsafe_settings_fail_with_the_remedy(dsn, server):
    with psycopg.connect(dsn, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f"alter database {name} set synchronous_commit = off")
    found = findings("--database-url", dsn)
    assert found["synchronous_commit"]["level"] == "failed"
    assert "synchronous_commit = on" in found["synchronous_commit"]["remedy"]


def test_a_role_without_rights_fails_with_the_remedy(dsn, plain_role):
    found = findings("--database-url", plain_role(dsn))
    assert found["permissions"]["level"] == "failed"
    assert "create in the database" in found["permissions"]["detail"]


def test_a_damaged_registry_fails_its_check(dsn):
    with psycopg.connect(dsn) as connection:
        connection.execute("delete from stepwell.i18n_text where lang = 'en'")
    found = findings("--database-url", dsn)
    assert [name for name, one in found.items() if name.startswith("registry ") and one["level"] == "failed"]


def test_an_unreachable_database_is_one_failed_line():
    done = stepwell("--database-url", "postgresql://127.0.0.1:1/x", "doctor")
    assert done.returncode == 1
    assert done.stdout.startswith("✗ database: the database cannot be reached")
    assert len(done.stdout.splitlines()) == 1
    assert "→" in done.stdout


def test_a_too_old_database_fails_its_check():
    with old_server("13.2") as dsn:
        done = stepwell("--database-url", dsn, "doctor")
    assert done.returncode == 1
    assert (
        "✗ database: the server runs PostgreSQL 13.2 → stepwell needs PostgreSQL 15 or newer" in done.stdout
    )


def test_a_corrupt_data_folder_is_one_failed_line():
    with data_folder() as folder:
        (folder / "pg18").mkdir(parents=True)
        (folder / "pg18" / "stray").touch()
        done = stepwell("--data-dir", folder, "doctor")
    assert done.returncode == 1
    assert "PG_VERSION is missing" in done.stdout


def test_pgbouncer_in_transaction_mode_is_detected(pgbouncer, dsn):
    found = findings("--database-url", pgbouncer)
    assert found["pooler"]["level"] == "warning"
    assert "STEPWELL_LISTEN_URL" in found["pooler"]["remedy"]
    found = findings("--database-url", pgbouncer, env={"STEPWELL_LISTEN_URL": dsn})
    assert (found["pooler"]["level"], found["notify"]["level"]) == ("ok", "ok")


def test_migrate_works_behind_pgbouncer(pgbouncer):
    assert stepwell("--database-url", pgbouncer, "db", "migrate").returncode == 0
