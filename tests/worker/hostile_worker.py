"""The worker of the tenant that does harm, as a process: works until its standard input is closed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import stepwell as sw
from tests.support.processes import environment
from tests.support.roles import client_app
from tests.worker.hostile_tenant import declare


@contextmanager
def running(dsn: str) -> Iterator[None]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.worker.hostile_worker", dsn], env=environment(), stdin=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        try:
            yield
        finally:
            process.stdin.close()
            assert process.wait() == 0


async def work(dsn: str) -> None:
    app = client_app(dsn)
    declare(app)
    async with app, sw.Worker(app):
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1]))
