"""Mermaid, SVG and the terminal show every transition of every machine, in both languages."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest
from typer.testing import CliRunner

from stepwell.cli.main import app
from stepwell.machines.fold import fold
from stepwell.machines.mermaid import mermaid
from stepwell.machines.model import Lang, Registry
from stepwell.machines.svg import svg
from stepwell.store.calls import registry as reading

SCOPES = ["workflow_run", "step", "task", "job", "approval", "proposal", "receipt"]
LANGS: list[Lang] = ["vi", "en"]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def registry(dsn: str) -> Registry:
    return reading.read(dsn)


def test_folding_loses_no_transition(registry: Registry):
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


@pytest.mark.parametrize("lang", LANGS)
def test_svg_is_well_formed_and_names_every_state_and_transition(registry: Registry, lang: Lang):
    for machine in registry.machines:
        root = ET.fromstring(svg(registry, machine, lang))
        texts = [element.text for element in root.iter(f"{SVG}text")]
        written = " ".join(text for text in texts if text)
        entered = {code for row in machine.transitions for code in (row.from_state, row.to_state)}
        for state in machine.states:
            if state.state_code in entered:
                label = registry.text(state.ui_label_i18n_key, lang)
                assert label in written
        assert {row.transition_code for row in machine.transitions} <= set(texts)
        rungs = fold(machine)
        assert len(list(root.iter(f"{SVG}polygon"))) >= len(rungs)


def test_svg_keeps_every_mark_inside_the_picture(registry: Registry):
    for machine in registry.machines:
        root = ET.fromstring(svg(registry, machine, "vi"))
        width, height = float(root.attrib["width"]), float(root.attrib["height"])
        for element in root.iter(f"{SVG}text"):
            assert 0 < float(element.attrib["x"]) < width
            assert 0 < float(element.attrib["y"]) < height


@pytest.mark.parametrize("scope", SCOPES)
def test_the_terminal_shows_lists_and_draws(dsn: str, scope: str):
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
    assert run("draw", scope, "--format", "svg").startswith("<svg ")


def test_an_unknown_scope_is_refused_with_the_known_ones(dsn: str):
    done = CliRunner().invoke(app, ["--database-url", dsn, "machine", "show", "dream"])
    assert done.exit_code != 0
    assert "workflow_run, step, task, job, approval, proposal" in getattr(done.exception, "hint", "")
