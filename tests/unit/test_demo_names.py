"""An app that is tried beside the demo keeps its steps: no operation of the demo is called `charge`."""

from __future__ import annotations

from pathlib import Path

from stepwell.demo.app import make
from stepwell.demo.operations import PREFIX


def test_every_operation_of_the_demo_has_a_name_that_only_the_demo_has(tmp_path: Path):
    app = make(tmp_path)
    own = {name for name in app.handlers if not name.startswith("stepwell.")}
    assert own
    assert all(name.startswith(PREFIX) for name in own), own
    called = {step.operation for graph in app.graphs.values() for step in graph.steps if step.operation}
    assert called == own


def test_its_steps_are_named_as_people_call_them(tmp_path: Path):
    graphs = make(tmp_path).graphs
    assert {"charge", "pack", "inspect"} <= {step.id for step in graphs["order.process"].steps}
    assert not [step.id for graph in graphs.values() for step in graph.steps if step.id.startswith(PREFIX)]
