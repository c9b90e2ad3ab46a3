"""Find the floor: how many single-row insert commits a second this server makes, by pgbench.

Receives a database URL; returns commits/s with 1 and with 8 clients. An engine that commits
each step separately cannot be faster than that; an engine that commits in batches can.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

import psycopg

from stepwell.store.embedded.cluster import tool

CLIENTS = (1, 8)
_SCRIPT = "insert into bench_floor (value) values (1);\n"


def commits_per_second(database_url: str, *, seconds: int) -> dict[str, float]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            "create table if not exists bench_floor"
            " (id bigint generated always as identity primary key, value int not null)"
        )
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write(_SCRIPT)
        script.flush()
        return {
            str(clients): _run(database_url, Path(script.name), clients=clients, seconds=seconds)
            for clients in CLIENTS
        }


def _run(database_url: str, script: Path, *, clients: int, seconds: int) -> float:
    command = [str(tool("pgbench")), "--no-vacuum", "--protocol=prepared", f"--file={script}"]
    command += [f"--client={clients}", f"--jobs={min(clients, 2)}", f"--time={seconds}", database_url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 60)
    found = re.search(r"^tps = ([\d.]+)", done.stdout, re.MULTILINE)
    if done.returncode != 0 or found is None:
        raise SystemExit(f"bench: pgbench failed\n{done.stderr.strip()}")
    return float(found.group(1))
