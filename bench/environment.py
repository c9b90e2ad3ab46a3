"""Prepare the peers' environment: receives `peers.lock`, returns the Python that has the peers installed.

It is a second environment, because the versions that the peers need and those that we need are independent.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "bench" / "peers.lock"
FOLDER = ROOT / ".venv-bench"
INSTALL_SECONDS = 600


def peers_python() -> Path:
    """Installs once per lock file; raises `CalledProcessError` when the packages cannot be installed."""
    python = FOLDER / "bin" / "python"
    stamp = FOLDER / ".installed"
    wanted = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if python.exists() and stamp.exists() and stamp.read_text() == wanted:
        return python
    print("bench: installing the peers into .venv-bench", file=sys.stderr)
    venv.create(FOLDER, with_pip=True, clear=True, symlinks=True)
    install = [
        str(python),
        "-m",
        "pip",
        "install",
        "-qqq",
        "--disable-pip-version-check",
        "--require-hashes",
    ]
    subprocess.run([*install, "-r", str(LOCK)], check=True, timeout=INSTALL_SECONDS)
    stamp.write_text(wanted)
    return python
