"""Every command and every setting is documented."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import typer.main

from scripts.write_conformance import conformance_page
from scripts.write_reference import CALLS, calls_of, calls_reference, cli_reference, renames_reference
from scripts.write_reference import commands as command_tree
from scripts.write_ui_types import TYPES, header
from stepwell.cli.main import app
from tests.docs.documents import commands, documents
from tests.tidy.sources import files, read

SETTING = re.compile(r"\bSTEPWELL_[A-Z][A-Z_]*[A-Z]\b")


def test_the_page_of_commands_is_up_to_date():
    assert read(Path("docs/cli.md")) == cli_reference(), "run `make docs`"


def test_the_page_of_calls_in_python_is_up_to_date():
    assert read(Path("docs/python-calls.md")) == calls_reference(), "run `make docs`"


def test_every_call_in_python_says_what_it_does():
    assert [
        line for owner, _, group in CALLS for line, meaning in calls_of(owner, group) if not meaning
    ] == []


def test_the_page_of_renames_is_up_to_date():
    assert read(Path("docs/renames.md")) == renames_reference(), "run `make docs`"


def test_the_page_of_conformance_is_up_to_date():
    assert read(Path("docs/conformance.md")) == conformance_page(), "run `make docs`"


def test_the_types_of_the_web_console_are_those_of_the_server():
    """The first line names the shapes of the document; `make lint` compares the whole file."""
    assert TYPES.read_text(encoding="utf-8").splitlines(keepends=True)[0] == header(), "run `make docs`"


def test_every_row_of_the_documents_part_002_to_004_says_how_it_is_met():
    rows = tomllib.loads(read(Path("docs/conformance.toml")))
    parts = {id: row for id, row in rows.items() if id[:2] in ("RX", "RT", "LN")}
    assert len(parts) == 16 + 18 + 11
    assert [id for id, row in parts.items() if "where" not in row] == []
    assert [id for id, row in parts.items() if not {"how", "open"} & row.keys()] == []


def test_every_command_and_option_has_a_help_text():
    silent = []
    for path, command in command_tree("stepwell", typer.main.get_command(app)):
        if not command.help:
            silent.append(path)
        silent += [
            f"{path} {parameter.opts[0]}"
            for parameter in command.params
            if not getattr(parameter, "hidden", False) and not getattr(parameter, "help", None)
        ]
    assert not silent


@pytest.mark.parametrize("path", documents(), ids=str)
def test_commands_named_in_documents_exist(path):
    known = {name for name, _ in command_tree("stepwell", typer.main.get_command(app))}
    unknown = []
    for typed in commands(path):
        words = re.match(r"stepwell((?: [a-z][a-z-]*)+)", typed)
        if words and not any(typed == name or typed.startswith(f"{name} ") for name in known - {"stepwell"}):
            unknown.append(typed)
    assert not unknown


def test_every_setting_is_documented_and_every_documented_setting_exists():
    sources = [*files(".py", ".ts", ".sh"), Path("Makefile")]
    used = {name for path in sources for name in SETTING.findall(read(path))}
    documented = set(SETTING.findall(read(Path("docs/settings.md"))))
    assert used == documented
