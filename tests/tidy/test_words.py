"""No file names a path of one machine, the address of a private registry, or a tool that wrote it."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.tidy.sources import ROOT, project_files, read

# The patterns are written in parts, so that this file does not match them.
MACHINE_PATH = re.compile(r"(?<![\w.$}/*])/(?:" + "|".join(("root", "work", "home", "Users")) + r")/\w")
PRIVATE_URL = re.compile(r"\bfile:" + r"//[/\w]|--(?:extra-)?index" + r"-url|--find" + r"-links")
SIGNATURE = re.compile(r"(?i)co-authored" + r"-by|generated (?:with|by) (?:an? )?(?:ai|assistant|model)\b")
RULES = {"machine path": MACHINE_PATH, "private registry": PRIVATE_URL, "signature": SIGNATURE}


def texts() -> list[tuple[Path, str]]:
    found = []
    for path in project_files():
        try:
            found.append((path, read(path)))
        except UnicodeDecodeError:
            continue  # an image
    return found


def test_no_file_names_a_machine_path_a_private_registry_or_a_signature():
    found = [
        f"{path}:{number} {rule}: {line.strip()[:80]}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), start=1)
        for rule, pattern in RULES.items()
        if pattern.search(line)
    ]
    assert not found


def test_lock_files_name_no_registry():
    for path in project_files():
        if path.suffix == ".lock":
            assert "://" not in read(path), f"{path} names an address"
        if path.name == "package-lock.json":
            packages = json.loads(read(path))["packages"]
            addressed = [name for name, entry in packages.items() if "resolved" in entry]
            assert not addressed, (
                f"{path}: npm config set omit-lockfile-registry-resolved true, then lock again"
            )


def test_text_files_end_with_one_newline_and_hold_no_tabs_or_trailing_blanks():
    wrong = []
    for path, text in texts():
        if path.name in ("Makefile", "LICENSE", "schema.snapshot.sql") or path.suffix in (
            ".lock",
            ".json",
            ".svg",
        ):
            continue
        if text and (not text.endswith("\n") or text.endswith("\n\n")):
            wrong.append(f"{path}: end of file")
        wrong += [
            f"{path}:{number}"
            for number, line in enumerate(text.splitlines(), start=1)
            if line != line.rstrip() or "\t" in line
        ]
    assert not wrong


def test_only_package_markers_are_empty_files():
    empty = [
        str(path)
        for path in project_files()
        if path.name not in ("__init__.py", "py.typed") and (ROOT / path).stat().st_size == 0
    ]
    assert not empty
