"""The operations of the demo: receives functions, registers them under names that only the demo has.

A name is one operation for all apps of a tenant. Whoever tries an own app beside the demo calls its
functions `charge` or `pack` too, as the documents do; a worker of the demo must not run its steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import stepwell as sw

PREFIX: Final = "demo."

F = TypeVar("F", bound=Callable[..., Any])


def step(name: str, *, id: str | None = None, **options: Any) -> sw.Operation:
    """A step that calls an operation of the demo; its id has no prefix."""
    return sw.Operation(f"{PREFIX}{name}", id=id or name, **options)


def handler(app: sw.App, retry: sw.Retry | None = None) -> Callable[[F], F]:
    def register(function: F) -> F:
        return app.operation(function, name=f"{PREFIX}{function.__name__}", retry=retry)

    return register
