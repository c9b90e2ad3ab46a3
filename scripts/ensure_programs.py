"""Find or install the programs that the tests need: a Chromium, PostgreSQL with plpgsql_check, PgBouncer.

Receives nothing; prints what was found. As root with apt it installs Debian's packages; else it prints how.
Without a browser it fails; without plpgsql_check or PgBouncer their tests are skipped, unless CI=true.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

# The names the UI tests look for; tests/ui/browsing.py holds the same list.
# The first is the same browser without its own windows, which cost a third of the time.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
BROWSER_PACKAGES = ("chromium-headless-shell", "fonts-liberation")
OTHER_BROWSER_PACKAGES = ("chromium", "fonts-liberation")
# Where Debian puts each version; tests/support/checker.py looks in the same place.
SERVERS = Path("/usr/lib/postgresql")
OLDEST_SERVER = 15
# The Debian package would start a server; the tests start their own.
NO_CLUSTER = Path("/etc/postgresql-common/createcluster.d/stepwell-tests.conf")
APT_SECONDS = 600
HOW_BROWSER = (
    "No Chromium was found for the UI tests. Install one and run `make test` again:\n"
    "  Debian, Ubuntu   sudo apt-get install chromium\n"
    "  Fedora           sudo dnf install chromium\n"
    "  elsewhere        put a `chromium` executable on the PATH"
)
HOW_CHECKER = (
    "No PostgreSQL with plpgsql_check was found; the test that checks every function body is skipped.\n"
    "  Debian, Ubuntu   sudo apt-get install postgresql-15-plpgsql-check   (or another version from 15 on)"
)
HOW_POOLER = (
    "No PgBouncer was found; the tests behind a pooler are skipped.\n"
    "  Debian, Ubuntu   sudo apt-get install pgbouncer"
)


def find_pooler() -> str | None:
    """The path of PgBouncer, or None. Debian puts it where only root looks."""
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")


def find_browser() -> str | None:
    """The path of a usable browser, or None."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def find_checker(servers: Path = SERVERS) -> Path | None:
    """The library plpgsql_check of the newest PostgreSQL that has it, or None."""
    found = {
        int(path.parent.parent.name): path
        for path in servers.glob("*/lib/plpgsql_check.so")
        if path.parent.parent.name.isdigit()
    }
    newest = max(found, default=0)
    return found[newest] if newest >= OLDEST_SERVER else None


def can_use_apt() -> bool:
    return shutil.which("apt-get") is not None and hasattr(os, "geteuid") and os.geteuid() == 0


def apt(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=APT_SECONDS,
        check=False,
    )


def install(packages: Sequence[str]) -> None:
    """Installs the packages; the output of apt is shown only when it fails."""
    command = ("apt-get", "install", "--yes", "--no-install-recommends", *packages)
    # The package lists may be absent (a container image) or old: `apt-get update` runs only when needed.
    done = apt(*command)
    if done.returncode != 0:
        apt("apt-get", "update")
        done = apt(*command)
    if done.returncode != 0:
        print(done.stdout, file=sys.stderr)


def checker_package() -> str | None:
    """The package for the oldest PostgreSQL we support that apt knows; PGDG offers several."""
    for attempt in ("known", "updated"):
        if attempt == "updated":
            apt("apt-get", "update")
        names = apt("apt-cache", "search", "--names-only", r"^postgresql-[0-9]+-plpgsql-check$").stdout
        versions = [
            int(found) for found in re.findall(r"^postgresql-(\d+)-plpgsql-check", names, re.MULTILINE)
        ]
        if fitting := [version for version in versions if version >= OLDEST_SERVER]:
            return f"postgresql-{min(fitting)}-plpgsql-check"
    return None


def ensure_browser() -> bool:
    if shutil.which(BROWSERS[0]) is None and can_use_apt():
        print("Installing Debian's chromium-headless-shell for the UI tests", flush=True)
        install(BROWSER_PACKAGES)
    if find_browser() is None and can_use_apt():
        print("Installing Debian's chromium for the UI tests", flush=True)
        install(OTHER_BROWSER_PACKAGES)
    browser = find_browser()
    print(HOW_BROWSER if browser is None else f"Browser for the UI tests: {browser}", file=_stream(browser))
    return browser is not None


def ensure_checker() -> bool:
    if find_checker() is None and can_use_apt() and (package := checker_package()) is not None:
        print(f"Installing Debian's {package} for the test of function bodies", flush=True)
        if not NO_CLUSTER.parent.parent.exists():
            NO_CLUSTER.parent.mkdir(parents=True)
            NO_CLUSTER.write_text("create_main_cluster = false\n", encoding="utf-8")
        install((package,))
    checker = find_checker()
    print(HOW_CHECKER if checker is None else f"Checker of function bodies: {checker}", file=_stream(checker))
    return checker is not None or os.environ.get("CI") != "true"


def ensure_pooler() -> bool:
    if find_pooler() is None and can_use_apt():
        print("Installing Debian's pgbouncer for the tests behind a pooler", flush=True)
        install(("pgbouncer",))
    pooler = find_pooler()
    print(HOW_POOLER if pooler is None else f"Pooler for the tests: {pooler}", file=_stream(pooler))
    return pooler is not None or os.environ.get("CI") != "true"


def _stream(found: object) -> object:
    return sys.stderr if found is None else sys.stdout


def main() -> int:
    # A list, so that all run: the output then names everything that must be installed.
    return 0 if all([ensure_browser(), ensure_checker(), ensure_pooler()]) else 1


if __name__ == "__main__":
    sys.exit(main())
