"""A worker that only a notification can wake: receives a database and a file, works until stdin ends."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import stepwell as sw
from stepwell.worker import worker
from tests.support.roles import client_app
from tests.worker.acting import Ledger

POLL_SECONDS = 3600.0


def made(dsn: str, ledger: Path) -> sw.App:
    app = client_app(dsn)
    app.connector(Ledger(ledger))

    @app.operation
    async def after() -> str:
        return "done"

    @app.operation
    async def slept(ctx: sw.Context) -> str:
        await ctx.sleep("1h")
        return "done"

    @app.operation(retry=sw.Retry(initial="1h", max="1h"))
    async def shaky(ctx: sw.Context) -> str:
        if ctx.attempt == 1:
            raise ConnectionError("not yet")
        return "done"

    @app.operation
    async def mortal(dies: bool = False) -> sw.Dead | str:
        return sw.Dead("it dies") if dies else "done"

    @app.operation
    async def book(ctx: sw.Context, op: str = "put", fail: str | None = None) -> str:
        await ctx.act("ledger", op, "A", {"fail": fail})
        return "done"

    return app


async def main(dsn: str, ledger: str) -> None:
    worker.POLL_FIRST_SECONDS = worker.POLL_LIMIT_SECONDS = POLL_SECONDS
    app = made(dsn, Path(ledger))
    async with app, sw.Worker(app, name="resting"):
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
