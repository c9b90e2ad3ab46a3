"""One child process at a time: receives a specification, returns its start, its end and its exit code."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

CRASH_DELAYS_SECONDS = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
# What every command answers to a wrong command line or setting: the same again would be refused again.
REFUSED_EXIT_CODE = 2
# A child that lived this long starts with a clean record.
STABLE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """A stepwell command to keep running. Children are started in the order given and stopped in reverse."""

    name: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    handles: tuple[int, ...] = ()
    grace_seconds: float = 10.0
    # One that ends by itself waits for `restart`, which a changed file brings; nothing else ends with it.
    is_reloaded: bool = False


class Child:
    """The process of a specification, in a group of its own: Ctrl-C at the terminal reaches only us."""

    def __init__(self, spec: ChildSpec, process: asyncio.subprocess.Process, watch_handle: int) -> None:
        self.spec = spec
        self.process = process
        self.started_at = asyncio.get_running_loop().time()
        self._watch_handle = watch_handle

    @classmethod
    async def start(cls, spec: ChildSpec) -> Child:
        # The child reads one end until we, the only holder of the other, are gone.
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
        # What it started and left behind goes too: a second worker beside its successor is nobody's wish.
        self._signal_group(signal.SIGKILL)
        return code

    async def stop(self) -> None:
        """Ask, wait for the grace, then end it."""
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
            # macOS answers so for a group whose members are all zombies.
            pass


def describe_exit(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
