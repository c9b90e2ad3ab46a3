"""Tests that never end, for the test of a stopped run; their name keeps them out of every other run."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from stepwell.store.embedded.server import EmbeddedServer
from tests.support import processes
from tests.support.data_folder import data_folder


def tell(number: int, *words: object) -> None:
    """Whole or not at all: the reader waits for the name."""
    written = Path(os.environ["ENDLESS_RUN_TELLS"]) / str(number)
    written.with_suffix(".new").write_text("\n".join(map(str, words)))
    written.with_suffix(".new").rename(written)


def test_endless_on_the_server_of_the_run(dsn: str):
    tell(1, os.getpid(), conninfo_to_dict(dsn)["host"])
    threading.Event().wait()


def test_endless_with_a_server_and_a_process_of_its_own():
    with data_folder() as folder, processes.talker("tests.support.hold_server", folder) as talker:
        talker.hear()
        tell(2, os.getpid(), folder, talker.pid, EmbeddedServer(folder).postmaster_pid)
        threading.Event().wait()
