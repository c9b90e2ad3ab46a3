"""Mermaid and the command line show every transition of every state machine, in both languages."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from stepwell.cli.main import app
from stepwell.machines.fold import fold
from stepwell.machines.mermaid import mermaid
from stepwell.machines.model import Registry
from stepwell.store.calls import registry as reading
from stepwell.translations import Lang

SCOPES = ["workflow_run", "step", "task", "job", "approval", "proposal", "receipt"]
LANGS: list[Lang] = ["vi", "en"]


@pytest.fixture
def registry(dsn: str) -> Registry:
    return reading.read(dsn)


def test_folding_keeps_every_transition(registry: Registry):
    for machine in registry.machines:
        unfolded = {
            (rung.transition.transition_code, start, rung.transition.to_state, actor)
            for rung in fold(machine)
            for start in rung.from_states
            for actor in rung.actor_classes
        }
        assert unfolded == {
            (row.transition_code, row.from_state, row.to_state, row.actor_class)
            for row in machine.transitions
        }


@pytest.mark.parametrize("lang", LANGS)
def test_mermaid_has_every_edge_with_its_code(registry: Registry, lang: Lang):
    for machine in registry.machines:
        lines = mermaid(registry, machine, lang).splitlines()
        assert lines[0] == "stateDiagram-v2"
        for row in machine.transitions:
            (edge,) = (line for line in lines if line.startswith(f"    {row.from_state} --> {row.to_state}:"))
            assert row.transition_code in edge.partition(": ")[2].split(", ")


@pytest.mark.parametrize("scope", SCOPES)
def test_the_command_line_lists_shows_and_draws_the_machine(dsn: str, scope: str):
    def run(*arguments: str) -> str:
        done = CliRunner().invoke(app, ["--database-url", dsn, "machine", *arguments])
        assert done.exit_code == 0, done.output
        return done.stdout

    listed = json.loads(run("list", "--json"))
    assert scope in [row["scope"] for row in listed]
    assert f"{scope}.1" in run("list")
    assert f"{scope}.1" in run("show", scope)
    shown = json.loads(run("show", scope, "--json"))
    assert shown["scope"] == scope
    assert run("draw", scope, "--lang", "vi").startswith("stateDiagram-v2\n")


def test_an_unknown_scope_is_refused_with_the_known_ones(dsn: str):
    done = CliRunner().invoke(app, ["--database-url", dsn, "machine", "show", "dream"])
    assert done.exit_code != 0
    assert "workflow_run, step, task, job, approval, proposal" in getattr(done.exception, "hint", "")
