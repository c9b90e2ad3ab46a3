"""Workflows whose handlers run in processes of the worker."""

from __future__ import annotations

import os
import re
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


@app.operation(executor="process")
def compute(folder: str) -> None:
    """Computes for ever in C, so that no other thread of its process runs."""
    Path(folder, str(os.getpid())).touch()
    re.match("(a+)+$", "a" * 100 + "b")


app.publish(sw.Workflow("computes", sw.Operation("compute", id="compute")))
app.publish(sw.Workflow("rests", sw.Operation("rest", id="rest")))
app.publish(sw.Workflow("looks", sw.Operation("look", id="look")))

if __name__ == "__main__":
    sys.exit("for tests")
