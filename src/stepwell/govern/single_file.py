"""Make the verifier of a bundle: receives the modules of `stepwell.govern.verify`, returns one Python file.

The file needs only Python 3.9 and its standard library. The same modules always make the same bytes.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from stepwell.govern import verify

# A module comes after those that it imports.
MODULES = (
    "words", "hashes", "signatures", "files", "shapes", "story", "anchors", "reading", "checks", "command",
)  # fmt: skip
HEAD = '''"""Verify an evidence bundle offline: receives a file, returns its findings.

This file needs only Python 3.9:

    python verify.py bundle.zip [--head HASH] [--anchor FILE [--keys FILE]] [--later FILE]

`docs/evidence-format.md` defines every byte and every check; `verify.mjs` is the same verifier in JavaScript.
"""

from __future__ import annotations

'''
TAIL = """

if __name__ == "__main__":
    sys.exit(main())
"""


@cache
def single_file() -> bytes:
    folder = Path(verify.__file__).parent
    imports: dict[str, set[str]] = {}
    bodies = []
    for name in MODULES:
        text = (folder / f"{name}.py").read_text(encoding="utf-8")
        title, body = _cut(text, imports)
        bodies.append(f"# {title}\n\n{body}")
    plain = sorted(f"import {name}\n" for name in imports if not imports[name])
    named = sorted(
        f"from {name} import {', '.join(sorted(imports[name]))}\n" for name in imports if imports[name]
    )
    return (HEAD + "".join(plain + named) + "\n" + "\n\n\n".join(bodies) + TAIL).encode()


def _cut(text: str, imports: dict[str, set[str]]) -> tuple[str, str]:
    """First line of the docstring, and the module without docstring and imports, which are collected."""
    tree = ast.parse(text)
    lines = text.split("\n")
    last = 0
    for node in tree.body:
        if isinstance(node, ast.Import):
            for one in node.names:
                imports.setdefault(one.name, set())
        elif isinstance(node, ast.ImportFrom):
            if str(node.module).split(".")[0] not in ("stepwell", "__future__"):
                imports.setdefault(str(node.module), set()).update(one.name for one in node.names)
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            break
        last = node.end_lineno or 0
    title = (ast.get_docstring(tree) or "").split("\n")[0]
    return title, "\n".join(lines[last:]).strip("\n")
