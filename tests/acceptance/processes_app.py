"""Workflows whose handlers run in processes of the worker."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import stepwell as sw

app = sw.App()


@app.operation(executor="process")
def rest(folder: str) -> None:
    """Writes a file named after its process, and never returns."""
    Path(folder, str(os.getpid())).touch()
    while True:
        signal.pause()


@app.operation(executor="process")
def look(folder: str) -> int:
    Path(folder, str(os.getpid())).touch()
    return os.getpid()


app.publish(sw.Workflow("rests", sw.Operation("rest", id="rest")))
app.publish(sw.Workflow("looks", sw.Operation("look", id="look")))

if __name__ == "__main__":
    sys.exit("for tests")
