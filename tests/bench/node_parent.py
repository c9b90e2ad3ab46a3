"""Starts a Node program, writes its process id to stdout, and never ends."""

import asyncio
import sys

from bench.node_program import running
from tests.bench.test_node_program import ODD


async def main() -> None:
    async with running(ODD) as program:
        sys.stdout.write(f"{program.pid}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


asyncio.run(main())
