"""Supervise the children: start them in order, restart after a crash or on request, stop in reverse order."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any

from stepwell.up.children import (
    CRASH_DELAYS_SECONDS,
    REFUSED_EXIT_CODE,
    STABLE_SECONDS,
    Child,
    ChildSpec,
    describe_exit,
)

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Say = Callable[[str], None]


class ChildFailed(Exception):
    """A child did not start; it has already printed its reason on the terminal."""

    def __init__(self, name: str, code: int) -> None:
        super().__init__(f"the {name} did not start ({describe_exit(code)})")
        self.name = name
        self.code = code


class Supervisor:
    """`ready` is awaited once, after all children have started; the loops in `also` run at the same time."""

    def __init__(
        self,
        specs: Sequence[ChildSpec],
        *,
        say: Say,
        ready: Callable[[], Awaitable[None]],
        also: Sequence[Callable[[], Awaitable[None]]] = (),
        stops_together: bool = False,
    ) -> None:
        self._specs = specs
        self._say = say
        self._ready = ready
        self._also = also
        # Children of the same kind need no order, so their grace times run at the same time.
        self._stops_together = stops_together
        self._children: dict[str, Child] = {}
        # Set by `restart`, cleared by the loop that keeps the child.
        self._restarts = {spec.name: asyncio.Event() for spec in specs}
        self._stop = asyncio.Event()
        self._signal_count = 0
        self._was_ready = False

    async def run(self) -> None:
        """Run until a signal. Raise `ChildFailed` if a child refuses its command or ends before `ready`."""
        loop = asyncio.get_running_loop()
        for number in STOP_SIGNALS:
            loop.add_signal_handler(number, self._on_signal, number)
        tasks: list[asyncio.Task[None]] = []
        try:
            for spec in self._specs:
                self._children[spec.name] = await Child.start(spec)
            tasks = [asyncio.create_task(self._keep(spec)) for spec in self._specs]
            tasks += [asyncio.create_task(self._announce())]
            tasks += [asyncio.ensure_future(_as_task(loop_of)) for loop_of in self._also]
            await self._until_stopped(tasks)
        finally:
            await self._end(tasks)
            for number in STOP_SIGNALS:
                loop.remove_signal_handler(number)

    async def _until_stopped(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        stopping = asyncio.create_task(self._stop.wait())
        try:
            pending = {stopping, *tasks}
            while not self._stop.is_set():
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    if (error := task.exception()) is not None:
                        raise error
        finally:
            stopping.cancel()

    async def _announce(self) -> None:
        await self._ready()
        self._was_ready = True

    def is_running(self, name: str) -> bool:
        return self._children[name].is_running

    async def restart(self, name: str) -> None:
        """Stop a child within its grace time and start it again; a child that has ended is only started."""
        self._restarts[name].set()
        child = self._children[name]
        if child.is_running:
            await child.stop()

    async def _keep(self, spec: ChildSpec) -> None:
        crash_count = 0
        restart = self._restarts[spec.name]
        while True:
            child = self._children[spec.name]
            code = await child.wait()
            if self._stop.is_set():
                return
            if not restart.is_set() and spec.is_reloaded and code >= 0:
                self._tell(f"The {spec.name} ended ({describe_exit(code)}). It starts when a file changes.")
                await self._until(restart.wait())
            if restart.is_set():
                restart.clear()
                crash_count = 0
            elif not self._stop.is_set():
                crash_count = 1 if child.lived_seconds >= STABLE_SECONDS else crash_count + 1
                await self._pause_after_crash(spec, code, crash_count)
            if self._stop.is_set():
                return
            self._children[spec.name] = await Child.start(spec)

    async def _pause_after_crash(self, spec: ChildSpec, code: int, crash_count: int) -> None:
        if not self._was_ready or code == REFUSED_EXIT_CODE:
            raise ChildFailed(spec.name, code)
        delay_seconds = CRASH_DELAYS_SECONDS[min(crash_count, len(CRASH_DELAYS_SECONDS)) - 1]
        when = f"in {delay_seconds:g} s" if delay_seconds else "now"
        self._tell(f"The {spec.name} ended ({describe_exit(code)}) and restarts {when}.")
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), delay_seconds)

    async def _until(self, event: Coroutine[Any, Any, Any]) -> None:
        """Wait for an event, or until everything stops."""
        waits = [asyncio.ensure_future(event), asyncio.ensure_future(self._stop.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def _on_signal(self, number: int) -> None:
        self._signal_count += 1
        if self._signal_count == 1:
            self._stop.set()
            self._tell("Stopping. Ctrl-C again stops at once." if number == signal.SIGINT else "Stopping.")
            return
        for child in self._children.values():
            child.kill()
        self._tell("Stopping at once.")

    def _tell(self, sentence: str) -> None:
        # The terminal or pipe may be closed; that must not prevent the stop.
        with suppress(OSError):
            self._say(sentence)

    async def _end(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        self._stop.set()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        children = [
            self._children[spec.name] for spec in reversed(self._specs) if spec.name in self._children
        ]
        if self._stops_together:
            await asyncio.gather(*(child.stop() for child in children))
        else:
            for child in children:
                await child.stop()


async def _as_task(loop_of: Callable[[], Awaitable[None]]) -> None:
    await loop_of()
