"""Node program: a worker that runs in Node; receives questions, returns its answers.

The program and what it starts belong to the process group of the contestant and end with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from bench.contestant import IDLE_GAP_SECONDS, Order, Tally, percentiles
from bench.environment import FOLDER, ROOT, node_home

PROGRAMS = ROOT / "bench" / "peers" / "node"
WARM_UP_CALLS = 5
END_SECONDS = 10
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


def end_with_parent() -> None:
    """In a new process: it ends when its parent does, however that happens."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class NodeProgram:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.pid = process.pid
        self._questions, self._answers = process.stdin, process.stdout

    async def ask(self, call: str, **values: Any) -> Any:
        self._questions.write(json.dumps({"call": call, **values}).encode() + b"\n")
        await self._questions.drain()
        line = await self._answers.readline()
        if not line:
            raise RuntimeError(f"the Node program ended at {call!r}")
        said = json.loads(line)
        if "error" in said:
            raise RuntimeError(f"{call}: {said['error']}")
        return said["value"]

    async def sampled(self, order: Order, call: str, *, spaced: bool, **what: Any) -> dict[str, Any]:
        """As `contestant.sample_one_by_one`, with the clock of the program."""
        samples = await self.ask(
            call,
            samples=order.sizes["samples"],
            seconds=order.budget_seconds,
            spaced=spaced,
            gaps=IDLE_GAP_SECONDS,
            warmUp=WARM_UP_CALLS,
            **what,
        )
        return {**percentiles(samples), "partial": len(samples) < order.sizes["samples"]}


class CountedThere(Tally):
    """Calls of handlers that the program counts."""

    def __init__(self, program: NodeProgram, target: int) -> None:
        super().__init__(target)
        self._program = program

    async def wait(self, timeout_seconds: float) -> bool:
        said = await self._program.ask("wait", seconds=timeout_seconds)
        self.count = said["count"]
        return bool(said["inTime"])


async def counted_there(program: NodeProgram, target: int) -> CountedThere:
    await program.ask("aim", target=target)
    return CountedThere(program, target)


@contextlib.asynccontextmanager
async def running(script: str | Path) -> AsyncIterator[NodeProgram]:
    process = await asyncio.create_subprocess_exec(
        str(node_home() / "bin" / "node"),
        str(PROGRAMS / script),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "NODE_PATH": str(FOLDER / "node_modules")},
        preexec_fn=end_with_parent,
    )
    try:
        yield NodeProgram(process)
    finally:
        await ended(process)


async def ended(process: asyncio.subprocess.Process) -> None:
    """Asks for the end, and ends the process itself when that takes too long."""
    if process.stdin is not None:
        process.stdin.close()
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), END_SECONDS)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def version_of(package: str) -> str:
    """The version that is installed, as the package names it."""
    text = (FOLDER / "node_modules" / Path(package) / "package.json").read_text(encoding="utf-8")
    return str(json.loads(text)["version"])
