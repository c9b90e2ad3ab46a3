"""The CI workflow, the commit hooks, the editor settings and SECURITY.md agree with the project."""

from __future__ import annotations

import configparser
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from stepwell.store.embedded.cluster import MAJOR_VERSION
from stepwell.store.schema.migrate import MINIMUM_VERSION_NUM
from tests.tidy.sources import ROOT, files, project_files, read

WORKFLOWS = [path for path in project_files() if path.is_relative_to(".github/workflows")]
HOOKS = Path(".pre-commit-config.yaml")
EXPRESSION = re.compile(r"\$\{\{.*?\}\}")


def yaml(path: Path) -> Any:
    return YAML(typ="safe").load(read(path))


def pyproject() -> dict[str, Any]:
    return tomllib.loads(read(Path("pyproject.toml")))


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in yaml(path)["jobs"].values() for step in job["steps"]]


def targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):.*##", read(Path("Makefile")), re.MULTILINE))


def test_there_is_a_workflow():
    assert WORKFLOWS


@pytest.mark.parametrize("path", WORKFLOWS, ids=str)
def test_a_workflow_has_all_required_keys_and_pinned_actions(path):
    found = yaml(path)
    assert {"name", "on", "permissions", "jobs"} <= set(found)
    for name, job in found["jobs"].items():
        assert {"runs-on", "timeout-minutes", "steps"} <= set(job), name
    for step in steps(path):
        assert ("uses" in step) != ("run" in step), step
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"]), step


@pytest.mark.parametrize("path", WORKFLOWS, ids=str)
def test_the_scripts_of_a_workflow_parse_and_call_make_targets_that_exist(path):
    for step in steps(path):
        script = EXPRESSION.sub("x", step.get("run", ""))
        done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert set(re.findall(r"^make ([a-z]+)", script, re.MULTILINE)) <= targets()


def test_every_supported_version_is_tested():
    (matrix,) = (
        job["strategy"]["matrix"]
        for path in WORKFLOWS
        for job in yaml(path)["jobs"].values()
        if "matrix" in job.get("strategy", {})
    )
    oldest, newest = MINIMUM_VERSION_NUM // 10000, MAJOR_VERSION
    assert matrix["postgres"] == [str(version) for version in range(oldest, newest + 1)]
    project = pyproject()["project"]
    assert project["requires-python"] == f">={matrix['python'][0]}"
    classifier = "Programming Language :: Python :: "
    named = [
        text.removeprefix(classifier) for text in project["classifiers"] if text.startswith(classifier + "3")
    ]
    assert named == matrix["python"]


def test_the_hooks_call_only_tools_of_this_project():
    for repository in yaml(HOOKS)["repos"]:
        assert repository["repo"] == "local"
        for hook in repository["hooks"]:
            assert hook["language"] == "system"
            python, *call = hook["entry"].split()
            assert python == ".venv/bin/python", hook["id"]
            if call[0] != "-m":
                assert (ROOT / call[0]).is_file(), hook["id"]
            assert all((ROOT / word).exists() for word in call if word.startswith("tests/")), hook["id"]


def test_the_hooks_run_the_same_tools_as_make_check():
    """A commit that passes the hooks passes `make check`: both run the same tools on the same folders."""
    hooks = " ".join(hook["entry"] for repository in yaml(HOOKS)["repos"] for hook in repository["hooks"])
    recipes = re.findall(r"^(?:lint|check):.*?\n((?:\t.*\n)+)", read(Path("Makefile")), re.MULTILINE)
    assert len(recipes) == 2
    wanted = set(re.findall(r"ruff \w+|mypy|scripts/\w+\.py|tests/\w+", "".join(recipes)))
    assert wanted == set(re.findall(r"ruff \w+|mypy|scripts/\w+\.py|tests/\w+", hooks))


def test_the_editor_settings_agree_with_the_linter():
    config = configparser.ConfigParser()
    config.read_string("[top]\n" + read(Path(".editorconfig")))
    assert config["Makefile"]["indent_style"] == "tab"
    assert config["*"]["insert_final_newline"] == config["*"]["trim_trailing_whitespace"] == "true"
    assert int(config["*.{py,pyi}"]["max_line_length"]) == pyproject()["tool"]["ruff"]["line-length"]


def test_every_test_that_the_security_page_names_exists():
    named = re.findall(r"`(tests/[\w/.]+)`", read(Path("SECURITY.md")))
    assert named
    known = {str(path) for path in files(".py", under="tests")}
    missing = [name for name in named if not any(path.startswith(name) for path in known)]
    assert not missing


def test_the_architecture_page_names_every_folder_and_every_file_at_the_top():
    layout = read(Path("ARCHITECTURE.md")).partition("## Layout")[2].partition("\n## ")[0]
    below = Path("src/stepwell")
    paths = [path.relative_to(below) for path in files(".py", under=str(below))]
    folders = {folder.name for path in paths for folder in path.parents if folder.name}
    tops = {path.name for path in paths if len(path.parts) == 1}
    assert {name for name in folders if f"{name}/" not in layout} == set()
    assert {name for name in tops if name not in layout} == set()


def test_contributing_names_every_folder_of_tests():
    table = read(Path("CONTRIBUTING.md")).partition("## Tests")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(\w+)/", table.partition("Names read as sentences")[0]))
    present = {path.parts[1] for path in files(".py", under="tests") if len(path.parts) > 2}
    assert named == present - {"support", "strategies"}
