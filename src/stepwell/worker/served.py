"""Which operations this worker serves: receives its handlers, tells the database what it may claim.

Several services may share a database, and releases are rolled out one worker after the other: another worker
serves what this one does not.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from stepwell.handlers import Handler

# Evaluates the expression of a step of the engine that is too costly to be evaluated while other work waits.
# Every worker serves it; it has no handler.
EVALUATE = "stepwell.evaluate"
# Refreshes the job workflows of a tenant; the keeper enqueues it.
REFRESH = "job_workflow_refresh"


class Served:
    """The names that a session was opened with, and those that came later."""

    def __init__(
        self, handlers: Mapping[str, Handler], tell: Callable[[Sequence[str]], Awaitable[None]]
    ) -> None:
        self._handlers = handlers
        self._tell = tell
        self._told: tuple[str, ...] = ()

    def names(self) -> tuple[str, ...]:
        """For a session that opens now."""
        self._told = tuple(sorted({*self._handlers, EVALUATE, REFRESH}))
        return self._told

    def takes(self) -> dict[str, list[str]]:
        """The names of the inputs that a handler takes; not of handlers that take all."""
        return {
            name: [parameter.name for parameter in handler.parameters]
            for name, handler in self._handlers.items()
            if not handler.takes_any
        }

    async def look_again(self) -> None:
        """A handler may have been registered since."""
        before = self._told
        names = self.names()
        if names != before:
            try:
                await self._tell(names)
            except BaseException:
                self._told = before
                raise
