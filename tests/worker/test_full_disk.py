"""A disk that is really full: no run is lost, and all go on soon after there is space again."""

from __future__ import annotations

import asyncio
import logging
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import stepwell as sw
from stepwell.keeper import keeper
from stepwell.logs import Line
from stepwell.store.connection import listen
from stepwell.worker import exchange

SIZE_MIB = 300
FAILURES = 12


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, of 300 MiB; only root can mount it."""
    place = tmp_path / "disk"
    place.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={SIZE_MIB}m,mode=755", "tmpfs"]
    mounted = subprocess.run(["mount", *options, str(place)], capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


class Pauses(logging.Handler):
    """The pauses that a worker logs before it tries again."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []
        self.has_paused = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if isinstance(record.msg, Line) and "pause_seconds" in record.msg.fields:
            self.seconds.append(record.msg.fields["pause_seconds"])
            self.has_paused.set()


def fill(file: Path) -> None:
    """Take all space that is left."""
    with file.open("ab", buffering=0) as stream:
        for size in (1 << 20, 1 << 12):
            try:
                while stream.write(b"x" * size):
                    pass
            except OSError:
                continue


@pytest.mark.timeout(300)
def test_runs_complete_after_a_full_disk_and_every_pause_is_short(small_disk: Path):
    app = sw.App(data_dir=str(small_disk / "data"))
    # No run ends before the disk is full, however fast the worker is.
    is_full = asyncio.Event()

    @app.operation(retry=sw.Retry(max_attempts=50, initial="100ms", max="500ms"))
    async def one(n: int) -> int:
        await is_full.wait()
        return n

    app.publish(sw.Workflow("w", sw.Sequential(sw.Operation("one"), sw.Operation("one", id="two"))))
    pauses = Pauses()
    filler = small_disk / "filler"

    async def scenario() -> None:
        async with app, sw.Worker(app, slots=4):
            runs = await app.start_many("w", [{"n": n} for n in range(300)])
            while len(pauses.seconds) < FAILURES:
                # What the server frees is taken again.
                await asyncio.to_thread(fill, filler)
                is_full.set()
                pauses.has_paused.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(pauses.has_paused.wait(), 1.0)
            filler.unlink()
            waited = await app.wait(runs, limit_seconds=200)
            assert {run.state for run in waited.ended} == {"completed"}
            assert waited.open == []

    logger = logging.getLogger("stepwell.worker")
    logger.addHandler(pauses)
    try:
        asyncio.run(asyncio.wait_for(scenario(), 280))
    finally:
        logger.removeHandler(pauses)
    assert max(pauses.seconds) <= exchange.RETRY_LIMIT_SECONDS


def test_nobody_pauses_for_more_than_two_seconds_while_the_database_is_away():
    assert exchange.RETRY_LIMIT_SECONDS <= 2
    assert keeper.RECONNECT_MAX_SECONDS <= 2
    assert listen.RETRY_MAX_SECONDS <= 2
