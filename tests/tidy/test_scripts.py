"""The scripts that make calls say what is missing, instead of failing later at another place."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from scripts import ensure_programs
from tests.tidy.sources import ROOT
from tests.ui import browsing


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_a_browser_the_script_says_how_to_install_one(tmp_path):
    done = run(sys.executable, "scripts/ensure_programs.py", PATH=str(tmp_path))
    assert done.returncode == 1
    assert "apt-get install chromium" in done.stderr


def test_the_browser_on_the_path_is_found(tmp_path):
    browser = tmp_path / "chromium"
    browser.write_text("#!/bin/sh\n")
    browser.chmod(0o755)
    done = run(sys.executable, "scripts/ensure_programs.py", PATH=str(tmp_path))
    assert done.returncode == 0
    assert str(browser) in done.stdout


def test_the_newest_server_that_has_plpgsql_check_is_found(tmp_path):
    assert ensure_programs.find_checker(tmp_path) is None
    for version in ("14", "15", "16"):
        (tmp_path / version / "lib").mkdir(parents=True)
    (tmp_path / "14" / "lib" / "plpgsql_check.so").touch()
    assert ensure_programs.find_checker(tmp_path) is None, "14 is not supported"
    (tmp_path / "15" / "lib" / "plpgsql_check.so").touch()
    assert ensure_programs.find_checker(tmp_path) == tmp_path / "15" / "lib" / "plpgsql_check.so"


def test_the_ui_tests_look_for_the_same_browsers():
    assert ensure_programs.BROWSERS == browsing.BROWSERS


def test_without_a_python_the_script_says_how_to_name_one(tmp_path):
    done = run("/bin/sh", "scripts/find_python.sh", PATH=str(tmp_path))
    assert done.returncode == 1
    assert "make PYTHON=" in done.stderr


@pytest.mark.parametrize(("version", "accepted"), [("3.10", False), ("3.11", True)])
def test_only_an_interpreter_that_passes_the_check_is_chosen(tmp_path, version, accepted):
    """A shell script replaces the interpreter and ends with the code that this version would end with."""
    stand_in = tmp_path / "python3"
    stand_in.write_text(f"#!/bin/sh\nexit {0 if accepted else 1}\n")
    stand_in.chmod(0o755)
    done = run("/bin/sh", "scripts/find_python.sh", PATH=str(tmp_path))
    assert (done.returncode == 0) is accepted, version
    assert (done.stdout.strip() == str(stand_in)) is accepted


def test_make_without_a_target_lists_the_targets():
    done = run("make")
    assert done.returncode == 0
    for target in ("run", "test", "check", "bench", "chaos", "docs", "snapshot", "ui", "clean"):
        assert f"  {target} " in done.stdout
