"""Code and commands in the documents work."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.conftest import data_dir, used_dir
from tests.docs.documents import blocks, commands, documents
from tests.support.commands import run_command
from tests.support.processes import environment
from tests.tidy.sources import ROOT, read

__all__ = ["data_dir", "used_dir"]

PYTHON_BLOCKS = [block for path in documents() for block in blocks(path) if block.language == "python"]
TARGETS = set(re.findall(r"^([a-z]+):", read(Path("Makefile")), re.MULTILINE))
OWN_FOLDERS = ("tests/", "scripts/", "docs/", "src/", "examples/", "bench/", ".ci/")


@pytest.mark.parametrize("block", PYTHON_BLOCKS, ids=str)
def test_python_blocks_compile(block):
    compile(block.code, str(block), "exec")


@pytest.mark.parametrize("block", [block for block in PYTHON_BLOCKS if block.is_run], ids=str)
def test_python_blocks_marked_run_are_executed(block, used_dir, tmp_path):
    """As a reader runs them: on the embedded server, with the rights that a program has there."""
    script = tmp_path / "block.py"
    script.write_text(block.code, encoding="utf-8")
    done = run_command(
        (),
        environment=environment({"STEPWELL_DATA_DIR": str(used_dir)}),
        cwd=tmp_path,
        limit_seconds=100,
        program=script,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", documents(), ids=str)
def test_make_targets_exist(path):
    named = {match[1] for typed in commands(path) if (match := re.match(r"make ([a-z]+)\b", typed))}
    assert named <= TARGETS


@pytest.mark.parametrize("path", documents(), ids=str)
def test_paths_of_the_project_exist(path):
    missing = [
        typed
        for typed in commands(path)
        if typed.startswith(OWN_FOLDERS)
        and re.fullmatch(r"[\w./-]+", typed)
        and not (ROOT / typed).exists()
        and not is_made_later(typed)
    ]
    assert not missing


def is_made_later(path: str) -> bool:
    """Whether git ignores the path: results and builds are not in a new clone."""
    return subprocess.run(["git", "check-ignore", "-q", path], cwd=ROOT, check=False).returncode == 0


def test_every_make_target_is_explained():
    makefile = read(Path("Makefile"))
    explained = set(re.findall(r"^([a-z]+):.*## \S", makefile, re.MULTILINE))
    assert explained == TARGETS
    assert set(re.findall(r"`make ([a-z]+)`", read(Path("CONTRIBUTING.md")))) >= TARGETS - {"help", "setup"}


def test_the_example_in_the_readme_stays_short():
    (example,) = [block for block in PYTHON_BLOCKS if block.path == Path("README.md")]
    assert len([line for line in example.code.splitlines() if line.strip()]) <= 20
