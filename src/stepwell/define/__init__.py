"""Turn a tree of steps, written in Python or YAML, into a checked, frozen graph. Uses no database.

Names are loaded when they are used: who needs a duration does not load YAML.
"""

from typing import TYPE_CHECKING

from stepwell.lazy import lazy_names

if TYPE_CHECKING:
    from stepwell.define.check import check_graph, freeze
    from stepwell.define.diff import Diff, diff_graphs
    from stepwell.define.duration import Duration, format_duration, parse_duration
    from stepwell.define.graph import Branch, Edge, Graph, GraphStep, Group, find_cycle
    from stepwell.define.problem import DefinitionError, Problem
    from stepwell.define.template import (
        Conditional,
        FailurePolicy,
        Human,
        Map,
        Operation,
        Parallel,
        Retry,
        Sequential,
        Step,
        SubWorkflow,
        Wait,
        Workflow,
    )
    from stepwell.define.yaml import read_yaml
    from stepwell.define.yaml_writer import update_yaml, write_yaml

__all__ = [
    "Branch",
    "Conditional",
    "DefinitionError",
    "Diff",
    "Duration",
    "Edge",
    "FailurePolicy",
    "Graph",
    "GraphStep",
    "Group",
    "Human",
    "Map",
    "Operation",
    "Parallel",
    "Problem",
    "Retry",
    "Sequential",
    "Step",
    "SubWorkflow",
    "Wait",
    "Workflow",
    "check_graph",
    "diff_graphs",
    "find_cycle",
    "format_duration",
    "freeze",
    "parse_duration",
    "read_yaml",
    "update_yaml",
    "write_yaml",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "stepwell.define.check": ("check_graph", "freeze"),
        "stepwell.define.diff": ("Diff", "diff_graphs"),
        "stepwell.define.duration": ("Duration", "format_duration", "parse_duration"),
        "stepwell.define.graph": ("Branch", "Edge", "Graph", "GraphStep", "Group", "find_cycle"),
        "stepwell.define.problem": ("DefinitionError", "Problem"),
        "stepwell.define.template": (
            "Conditional",
            "FailurePolicy",
            "Human",
            "Map",
            "Operation",
            "Parallel",
            "Retry",
            "Sequential",
            "Step",
            "SubWorkflow",
            "Wait",
            "Workflow",
        ),
        "stepwell.define.yaml": ("read_yaml",),
        "stepwell.define.yaml_writer": ("update_yaml", "write_yaml"),
    },
)
