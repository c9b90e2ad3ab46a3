"""Make sure a Chromium is there for the UI tests.

Receives nothing; prints the browser found. As root with apt it installs Debian's package, else it says how.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

# The names the UI tests look for; tests/ui/browsing.py holds the same list.
NAMES = ("chromium", "chromium-browser", "google-chrome")
PACKAGES = ("chromium", "fonts-liberation")
APT_SECONDS = 600
HOW = (
    "No Chromium was found for the UI tests. Install one and run `make test` again:\n"
    "  Debian, Ubuntu   sudo apt-get install chromium\n"
    "  Fedora           sudo dnf install chromium\n"
    "  elsewhere        put a `chromium` executable on the PATH"
)


def find_browser() -> str | None:
    """The path of a usable browser, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def can_use_apt() -> bool:
    return shutil.which("apt-get") is not None and hasattr(os, "geteuid") and os.geteuid() == 0


def install_with_apt() -> bool:
    """Whether apt could install the packages; its output is shown only when it fails."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "--yes", "--no-install-recommends", *PACKAGES]
    # The package lists may be absent (a container image), stale, or fine: try the cheap way first.
    for command in (install, ["apt-get", "update"], install):
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=APT_SECONDS,
            check=False,
        )
        if command is install and done.returncode == 0:
            return True
    print(done.stdout, file=sys.stderr)
    return False


def main() -> int:
    browser = find_browser()
    if browser is None and can_use_apt():
        print("Installing Debian's chromium for the UI tests", flush=True)
        if install_with_apt():
            browser = find_browser()
    if browser is None:
        print(HOW, file=sys.stderr)
        return 1
    print(f"Browser for the UI tests: {browser}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
