"""A list of pauses between attempts, in Python, in YAML and in the frozen graph."""

from __future__ import annotations

import pytest

from stepwell.define import DefinitionError, Operation, Retry, Workflow, freeze, read_yaml, write_yaml

DELAYS = [5, "30s", "2m", 600]
LIST = "workflow: w\nsteps:\n  - operation: a\n    retry: {max_attempts: 5, delays: [5s, 30s, 2m, 10m]}\n"


@pytest.mark.requirement("RT-18")
def test_a_list_means_the_same_in_python_yaml_and_the_graph():
    workflow = Workflow("w", Operation("a", retry=Retry(5, delays=DELAYS)))
    graph = freeze(workflow)
    retry = graph.steps[0].retry
    assert retry is not None
    assert retry["delays_seconds"] == [5, 30, 120, 600]
    assert freeze(read_yaml(LIST)).canonical == graph.canonical
    assert freeze(read_yaml(write_yaml(workflow))).canonical == graph.canonical
    assert "delays_seconds" not in str(freeze(Workflow("w", Operation("a", retry=Retry(5)))).canonical)


@pytest.mark.requirement("RT-18")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"delays": "5s"}, r"retry.delays: is not accepted; accepted: a list of at most 100 durations"),
        ({"delays": [5], "initial": 2}, "retry.delays: is not accepted together with initial"),
        ({"delays": [-1]}, "retry.delays"),
        ({"delays": [1] * 101}, "at most 100"),
    ],
)
def test_a_wrong_list_is_refused(given: dict, message: str):
    with pytest.raises(DefinitionError, match=message):
        Retry(5, **given)
