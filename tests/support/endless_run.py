"""Tests that never end, for the test of a stopped run; by its name no other run collects this file."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from stepwell.store.embedded.server import EmbeddedServer
from tests.support import processes
from tests.support.data_folder import data_folder


def write(number: int, *words: object) -> None:
    """Writes the file under another name first: when the reader sees the name, the file is complete."""
    written = Path(os.environ["ENDLESS_RUN_FOLDER"]) / str(number)
    written.with_suffix(".new").write_text("\n".join(map(str, words)))
    written.with_suffix(".new").rename(written)


def test_that_never_ends_on_the_server_of_the_run(dsn: str):
    write(1, os.getpid(), conninfo_to_dict(dsn)["host"])
    threading.Event().wait()


def test_that_never_ends_with_its_own_server_and_process():
    with data_folder() as folder, processes.talker("tests.support.hold_server", folder) as talker:
        talker.hear()
        write(2, os.getpid(), folder, talker.pid, EmbeddedServer(folder).postmaster_pid)
        threading.Event().wait()
