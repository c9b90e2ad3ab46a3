"""Suggest the next commands: receives the workflows of an app, returns commands that work without change.

A command contains the input that the workflow reads, the events that it waits for, and what a person does.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stepwell import config
from stepwell.config import Settings

if TYPE_CHECKING:
    from stepwell.define import Graph
    from stepwell.handlers import Handler, Parameter

# JSON type of a parameter → a sample value.
SAMPLES: Final = {"integer": "1", "number": "1.5", "boolean": "true", "array": "[]", "object": "{}"}
TEXT_SAMPLE: Final = "A-1"
# Not the key of the example in the README: whoever has run it would be told that the run was started before.
KEY_SAMPLE: Final = "mine-1"
PERSON_SAMPLE: Final = "ada"
EVENT_LIMIT: Final = 2

_INPUT = re.compile(r"\$\.input\.([A-Za-z_][A-Za-z0-9_]*)")


def describe(graph: Graph, handlers: Mapping[str, Handler]) -> dict[str, Any]:
    """The input, the events and the first step of a person, as JSON values."""
    needed: dict[str, str] = {}
    for step in graph.steps:
        for _, text in step.expressions():
            needed |= {name: TEXT_SAMPLE for name in _INPUT.findall(text) if name not in needed}
        handler = handlers.get(step.operation or "")
        given = {*(step.inputs or ()), *(("item", "index") if step.scope else ())}
        for parameter in () if handler is None else handler.parameters:
            if parameter.name not in given and parameter.default is inspect.Parameter.empty:
                needed[parameter.name] = _sample(parameter)
    people = [step for step in graph.steps if step.kind == "human"]
    # A step in a map or a branch has another name, or may not open.
    certain = next((step for step in people if step.scope == 0 and step.branch is None), None)
    return {
        "workflow": graph.name,
        "input": needed,
        "events": [step.event for step in graph.steps if step.event is not None],
        "has_people": bool(people),
        "person": certain and {
            "step": certain.id, "name": certain.assignee or PERSON_SAMPLE, "role": certain.role,
            "output": None if certain.form is None else _form_sample(certain.form),
        },
    }  # fmt: skip


def commands(found: Mapping[str, Any], settings: Settings) -> list[str]:
    """The first commands for one described workflow."""
    name, workflow = program(settings), found["workflow"]
    values = [f"-i {field}={shlex.quote(value)}" for field, value in found["input"].items()]
    if not found["events"] and not found["has_people"]:
        return [" ".join([name, "start", workflow, *values, "--watch"])]
    lines = [" ".join([name, "start", workflow, *values, f"--key {KEY_SAMPLE}"])]
    lines += [f"{name} signal {workflow}/{KEY_SAMPLE} {event}" for event in found["events"][:EVENT_LIMIT]]
    if found["has_people"]:
        lines.append(f"{name} inbox --all")
    if found["person"] is not None:
        lines += [f"{name} {line}" for line in _person_commands(workflow, **found["person"])]
    return [*lines, f"{name} runs list"]


def _person_commands(
    workflow: str, step: str, name: str, role: str | None, output: dict[str, Any] | None
) -> list[str]:
    """How a person is added, claims the step and completes it."""
    person, place = shlex.quote(name), f"{workflow}/{KEY_SAMPLE}/{step}"
    added = ["user add", person, *(["--role", role] if role else [])]
    done = ["step complete", place, "--as", person]
    if output is not None:
        done += ["--output", shlex.quote(json.dumps(output))]
    return [" ".join(added), f"step claim {place} --as {person}", " ".join(done)]


def _form_sample(form: Mapping[str, Any]) -> dict[str, Any]:
    """A value for each field that the form requires."""
    fields = form.get("properties", {})
    return {name: _value_sample(fields.get(name, {})) for name in form.get("required", ())}


def _value_sample(schema: Mapping[str, Any]) -> Any:
    if schema.get("enum"):
        return schema["enum"][0]
    kind = str(schema.get("type"))
    return json.loads(SAMPLES[kind]) if kind in SAMPLES else TEXT_SAMPLE


def _sample(parameter: Parameter) -> str:
    if parameter.validator is None:
        return TEXT_SAMPLE
    schema = parameter.validator.json_schema()
    return SAMPLES.get(str(schema.get("type")), TEXT_SAMPLE)


def program(settings: Settings) -> str:
    """The command that calls this program, with this database, from another terminal in the same folder."""
    own = Path(sys.executable).parent / "stepwell"
    found = shutil.which("stepwell")
    name = "stepwell"
    if own.exists() and (found is None or not own.samefile(found)):
        name = os.path.relpath(own) if own.is_relative_to(Path.cwd()) else str(own)
    # The other terminal may not have the variables of this one.
    if settings.is_embedded and settings.data_dir != config.load({}).data_dir:
        name += f" --data-dir {shlex.quote(str(settings.data_dir))}"
    return name
