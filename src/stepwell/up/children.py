"""One child process: receives a specification, starts and stops the process, returns its exit code."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

CRASH_DELAYS_SECONDS = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
# Exit code of every command for a wrong command line or setting; a restart would fail again.
REFUSED_EXIT_CODE = 2
# After a child has run for so long, its earlier crashes no longer count.
STABLE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """A stepwell command to keep running. Children are started in the order given and stopped in reverse."""

    name: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    handles: tuple[int, ...] = ()
    grace_seconds: float = 10.0
    # If it ends by itself, it waits for `restart`, which a changed file causes; other children keep running.
    is_reloaded: bool = False


class Child:
    """The process of a specification, in its own process group: Ctrl-C reaches only the supervisor."""

    def __init__(self, spec: ChildSpec, process: asyncio.subprocess.Process, watch_handle: int) -> None:
        self.spec = spec
        self.process = process
        self.started_at = asyncio.get_running_loop().time()
        self._watch_handle = watch_handle

    @classmethod
    async def start(cls, spec: ChildSpec) -> Child:
        # The child reads one end of the pipe. It closes when this process, which has the other end, dies.
        read_handle, write_handle = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "stepwell.up.launch",
                str(os.getpid()),
                str(read_handle),
                *spec.arguments,
                stdin=asyncio.subprocess.DEVNULL,
                env={**os.environ, **spec.environment},
                pass_fds=(read_handle, *spec.handles),
                start_new_session=True,
            )
        except BaseException:
            os.close(write_handle)
            raise
        finally:
            os.close(read_handle)
        return cls(spec, process, write_handle)

    @property
    def is_running(self) -> bool:
        return self.process.returncode is None

    @property
    def lived_seconds(self) -> float:
        return asyncio.get_running_loop().time() - self.started_at

    async def wait(self) -> int:
        code = await self.process.wait()
        if self._watch_handle >= 0:
            os.close(self._watch_handle)
            self._watch_handle = -1
        # Kill what the child started and left running, so that it does not run together with the next child.
        self._signal_group(signal.SIGKILL)
        return code

    async def stop(self) -> None:
        """Send SIGTERM, wait for the grace time, then kill."""
        if self.is_running:
            self.process.send_signal(signal.SIGTERM)
            try:
                await asyncio.wait_for(asyncio.shield(self.process.wait()), self.spec.grace_seconds)
            except TimeoutError:
                self.kill()
        await self.wait()

    def kill(self) -> None:
        self._signal_group(signal.SIGKILL)

    def _signal_group(self, number: signal.Signals) -> None:
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass
        except PermissionError:
            # macOS raises this if all processes of the group are zombies.
            pass


def describe_exit(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
