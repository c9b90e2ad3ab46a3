"""Every command has --json, except commands that run until they are stopped or that print a file."""

from __future__ import annotations

import typer.main

from scripts.write_reference import commands
from stepwell.cli.main import app

# Command → why it has no --json.
WITHOUT = {
    "up": "runs until it is stopped",
    "dev": "runs until it is stopped",
    "serve": "runs until it is stopped",
    "worker": "runs until it is stopped",
    "keeper": "runs until it is stopped",
    "runs watch": "draws until the run ends; runs events and runs show have --json",
    "db dump": "prints SQL",
    "evidence later": "prints only JSON",
    "machine draw": "prints a drawing",
    "machine reference": "prints a page",
}


def test_every_command_has_json():
    found = {
        path.removeprefix("stepwell "): {name for option in command.params for name in option.opts}
        for path, command in commands("stepwell", typer.main.get_command(app))
        if not hasattr(command, "commands")
    }
    without = {path for path, options in found.items() if "--json" not in options}
    assert without == set(WITHOUT)
