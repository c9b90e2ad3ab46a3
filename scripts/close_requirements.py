"""Remove every requirement that has a test from the list of open requirements.

Receives the markers in tests/; rewrites tests/requirements_open.txt; never adds a line.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.tidy.requirement_list import OPEN, marked_ids, open_ids  # noqa: E402 - the path comes first

HEADER = (
    "# Requirements without a test yet. This list only shrinks; scripts/close_requirements.py shortens it.\n"
)


def main() -> int:
    before = open_ids()
    after = sorted(set(before) - set(marked_ids()))
    (ROOT / OPEN).write_text(HEADER + "".join(f"{requirement}\n" for requirement in after), encoding="utf-8")
    print(f"{len(before) - len(after)} closed, {len(after)} open")
    return 0


if __name__ == "__main__":
    sys.exit(main())
