"""A bundle carries its verifier as one file, made of the modules of the package: it does the same, alone."""

from __future__ import annotations

import ast
import importlib.util
import random
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from stepwell.govern import single_file as maker
from stepwell.govern import verify
from stepwell.govern.single_file import MODULES, single_file
from tests.govern.bundle_tamper import cases
from tests.govern.conftest import Sample

FOLDER = Path(verify.__file__).parent
CASES = 40


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The file of a bundle, loaded as a module."""
    path = tmp_path_factory.mktemp("verifier") / "verify_alone.py"
    path.write_bytes(single_file())
    spec = importlib.util.spec_from_file_location("verify_alone", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def names_of(text: str) -> list[str]:
    """What a module defines at its top level."""
    found = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.append(node.name)
        elif isinstance(node, ast.Assign):
            found += [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.append(node.target.id)
    return found


def test_every_module_is_in_the_file():
    assert {path.stem for path in FOLDER.glob("*.py")} == {*MODULES, "__init__"}


def test_no_name_has_two_meanings():
    """In one file, the second would replace the first. Constants may be extended."""
    names = [name for module in MODULES for name in names_of((FOLDER / f"{module}.py").read_text())]
    assert sorted(names) == sorted(set(names))


def test_the_file_imports_only_the_standard_library():
    tree = ast.parse(single_file())
    modules = [one.name for node in ast.walk(tree) if isinstance(node, ast.Import) for one in node.names]
    modules += [str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {name.split(".")[0] for name in modules} <= sys.stdlib_module_names
    assert b"stepwell.govern" not in single_file()


def test_the_same_modules_make_the_same_bytes(sample: Sample):
    maker.single_file.cache_clear()
    entries = verify.unpack(sample.data)
    assert entries is not None
    assert entries["verify.py"] == single_file()


@pytest.mark.parametrize("kind", ["metadata", "values"])
def test_the_file_has_the_findings_of_the_package(sample: Sample, alone: ModuleType, kind: str):
    data = sample.data if kind == "metadata" else sample.data_with_payloads
    assert alone.verify(data) == verify.verify(data) == []
    for case in random.Random(18).sample(list(cases(data)), CASES):
        made = verify.pack(case.files())
        assert [tuple(one) for one in alone.verify(made)] == [tuple(one) for one in verify.verify(made)]


def test_the_file_needs_nothing_of_this_environment(sample: Sample, tmp_path: Path):
    """Isolated from the environment, from installed packages and from the folder of the project."""
    bundle, script = tmp_path / "b.zip", tmp_path / "verify.py"
    bundle.write_bytes(sample.data)
    script.write_bytes(single_file())
    ran = subprocess.run(
        [sys.executable, "-I", "-S", script, bundle, "--head", sample.exported.head_hash],
        capture_output=True, text=True, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith(f"verified: run {sample.run_id} ")
