"""Know the handler that runs: the code that runs it enters it here; log lines and progress ask for it.

One variable for both, because every handler of a worker sets it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, Final, Protocol


class PresentHandler(Protocol):
    def log_fields(self) -> Mapping[str, Any]:
        """Its run, step and attempt. Called only when a line is written: most handlers log nothing."""
        ...

    def note_progress(self, said: Any) -> None:
        """It has reported a `handler_progress.Progress`; may be called from a thread."""
        ...


_present: Final[ContextVar[PresentHandler | None]] = ContextVar("stepwell_present_handler", default=None)

# For this task or thread: enter a handler; the handler, or None outside of one.
enter: Final = _present.set
get: Final = _present.get
