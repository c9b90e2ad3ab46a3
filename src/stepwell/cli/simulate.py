"""Show what a workflow would do: receives YAML and outcomes, prints a tree or JSON. Uses no database."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.text import Text
from rich.tree import Tree

from stepwell.cli.connect import JsonOption, json_object, print_json
from stepwell.cli.problems import refuse
from stepwell.cli.render import console
from stepwell.define import DefinitionError, Graph
from stepwell.define.problem import did_you_mean
from stepwell.errors import InvalidInput, UsageError
from stepwell.reactive import MemoryEngine, NodeStatus, Projection, RunStatus, Simulation, read_outcomes
from stepwell.reactive.frames import Frame, Unit

app = typer.Typer(add_completion=False)

ITEM_LIMIT = 20
NOTE_CHARACTERS = 100

# Status → icon and style. The icons are copies of those in the registry, which only a database has.
LOOKS: dict[str, tuple[str, str]] = {
    NodeStatus.IDLE: ("○", "dim"),
    NodeStatus.WAITING: ("○", "dim"),
    NodeStatus.READY: ("▶", "green"),
    NodeStatus.RUNNING: ("►", "yellow"),
    NodeStatus.COMPLETED: ("✓", "green"),
    NodeStatus.FAILED: ("⛔", "bold red"),
    NodeStatus.ABORTED: ("⊘", "red"),
    NodeStatus.SKIPPED: ("↷", "dim"),
    RunStatus.CANCELLED: ("⊘", "red"),
}


@app.command()
def simulate(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="A YAML file, then the files of its sub-workflows.", metavar="FILE"),
    ] = None,
    app_name: Annotated[
        str | None,
        typer.Option(
            "--app", help="Use the workflows of this app instead of files: module:app or file.py:app."
        ),
    ] = None,
    workflow: Annotated[
        str | None, typer.Option(help="Which workflow of the app; required if it has several.")
    ] = None,
    input_text: Annotated[
        str, typer.Option("--input", help="Input as a JSON object; @file reads it from a file, - from stdin.")
    ] = "{}",
    outcomes_text: Annotated[
        str,
        typer.Option(
            "--outcomes",
            help='How steps end, as JSON or @file: {"charge": [{"error": "ValueError"}, "completed"]}. '
            "All other steps complete.",
        ),
    ] = "{}",
    signals_text: Annotated[
        str,
        typer.Option(
            "--signals",
            help='Events as JSON or @file: {"paid": {"sum": 5}, "shipped": null}; null: it never comes.',
        ),
    ] = "{}",
    seed: Annotated[
        int | None,
        typer.Option(help="Run ready steps in a random order with this seed; default: in order of arrival."),
    ] = None,
    cancel_after: Annotated[
        int | None, typer.Option(help="Cancel the run after this many events.", min=0)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run a workflow in memory with given outcomes and print what happens to each step."""
    try:
        graphs = _graphs(files or [], app_name, workflow)
    except DefinitionError as error:
        refuse(error, "nothing was simulated")
    others = {graph.name: graph for graph in graphs[1:]}
    try:
        outcomes = read_outcomes(json.dumps(json_object(outcomes_text, "--outcomes")))
        engine = MemoryEngine(
            graphs[0],
            input=json_object(input_text, "--input"),
            outcomes=outcomes,
            signals=json_object(signals_text, "--signals"),
            workflows=others or None,
            seed=seed,
            cancel_after=cancel_after,
        )
    except InvalidInput as error:
        raise UsageError(error.message, hint=error.hint, field=error.field) from error
    _check_names(graphs, list(outcomes))
    done = engine.run()
    if as_json:
        print_json(_document(graphs[0], done))
    else:
        console().print(_picture(graphs[0], done))


def _graphs(files: list[Path], app_name: str | None, workflow: str | None) -> list[Graph]:
    """The workflow to simulate, then the workflows that it may call."""
    from stepwell.loading import load_app, load_workflows

    if bool(files) == (app_name is not None):
        raise UsageError(
            "nothing to simulate, or two things at once",
            hint="give either YAML files or an app with --app file.py",
        )
    if app_name is None:
        return load_workflows(files)
    graphs = dict(load_app(app_name).graphs)
    if not graphs:
        raise UsageError(f"--app {app_name}: it declares no workflow", hint="declare one with app.publish(…)")
    if workflow is None and len(graphs) > 1:
        raise UsageError(
            f"--app {app_name} has several workflows",
            hint=f"choose one with --workflow: {', '.join(sorted(graphs))}",
            field="workflow",
        )
    name = workflow or next(iter(graphs))
    if name not in graphs:
        raise UsageError(
            f"--workflow: there is no workflow {name}{did_you_mean(name, graphs)}",
            hint=f"accepted: {', '.join(sorted(graphs))}",
            field="workflow",
        )
    first = graphs.pop(name)
    return [first, *graphs.values()]


def _check_names(graphs: list[Graph], names: list[str]) -> None:
    """Refuse an outcome for a step that does not exist: it is a typing error."""
    known = {node.id for graph in graphs for node in graph.steps}
    for name in names:
        step_id = name[name.rfind("].") + 2 :] if "]." in name else name
        if step_id not in known:
            hint = did_you_mean(step_id, known)
            raise UsageError(f"--outcomes: there is no step {step_id}{hint}", field="--outcomes")


def _document(graph: Graph, done: Simulation) -> dict[str, Any]:
    steps = []
    for run_path, projection in done.projections.items():
        calls = _call_counts(projection)
        for path, unit in projection.units.items():
            steps.append(
                {
                    "path": f"{run_path}/{path}" if run_path else path,
                    "step": unit.node.id,
                    "kind": unit.node.kind,
                    "status": unit.status,
                    "calls": calls[path],
                    "output": unit.output,
                    "error": unit.error,
                }
            )
    return {
        "workflow": graph.name,
        "status": done.status,
        "result": done.result,
        "runs": dict(done.runs),
        "steps": steps,
        "order": [f"{action.kind} {action.path}".rstrip() for action in done.actions],
    }


def _call_counts(projection: Projection) -> Counter[str]:
    return Counter(str(event.node) for event in projection.log if event.type == "call.requested")


def _picture(graph: Graph, done: Simulation) -> Group:
    title = Text.assemble((graph.name, "bold"), "  ", _chip(str(done.status)))
    if done.status is RunStatus.RUNNING:
        title.append("  it stops here: no given outcome or event continues it", style="yellow")
    tree = Tree(title, guide_style="dim")
    _Drawing(done).frame(tree, "", done.projections[""].frame)
    parts: list[Any] = [tree]
    if done.status is RunStatus.COMPLETED:
        parts.append(Text(f"result: {_short(done.result)}"))
    return Group(*parts)


class _Drawing:
    def __init__(self, done: Simulation) -> None:
        self.done = done
        self.calls = {path: _call_counts(one) for path, one in done.projections.items()}

    def frame(self, tree: Tree, run_path: str, frame: Frame) -> None:
        """Add the steps of a frame to the tree; steps of a branch go under their conditional."""
        graph = self.done.projections[run_path].graph
        homes: dict[int, Tree] = {}
        for unit in frame.units.values():
            branch = unit.node.branch
            home = tree if branch is None else homes[graph.branches[branch - 1].conditional]
            word = "" if branch is None else f"{graph.branches[branch - 1].label}: "
            homes[unit.node.no] = home.add(self.line(run_path, unit, word))
            self.below(homes[unit.node.no], run_path, unit)

    def below(self, tree: Tree, run_path: str, unit: Unit) -> None:
        """Add the items of a map, or the steps of a sub-workflow, under their step."""
        for frame in unit.items[:ITEM_LIMIT]:
            label = Text.assemble((f"[{frame.index}]", "bold"), " ", (_short(frame.item), "dim"))
            self.frame(tree.add(label), run_path, frame)
        if len(unit.items) > ITEM_LIMIT:
            tree.add(Text(f"… {len(unit.items) - ITEM_LIMIT:,} more items", style="dim"))
        child = f"{run_path}/{unit.path}" if run_path else unit.path
        if child in self.done.projections:
            self.frame(tree, child, self.done.projections[child].frame)

    def line(self, run_path: str, unit: Unit, word: str) -> Text:
        line = Text.assemble(_chip(str(unit.status)), "  ", (word, "dim"), (unit.node.id, "bold"))
        if unit.node.kind != "operation":
            line.append(f"  {unit.node.kind}", style="dim")
        if not unit.node.mandatory:
            line.append("  not mandatory", style="dim italic")
        count = self.calls[run_path][unit.path]
        if count > 1:
            line.append(f"  {count} calls", style="yellow")
        if unit.error is not None and unit.status is not NodeStatus.COMPLETED:
            line.append(f"  {unit.error['type']}: {unit.error['message']}"[:NOTE_CHARACTERS], style="red")
            if unit.is_caught:
                line.append("  caught", style="green")
        elif unit.status is NodeStatus.COMPLETED and unit.output is not None and not unit.items:
            line.append(f"  → {_short(unit.output)}", style="dim")
        elif unit.status is NodeStatus.RUNNING and unit.node.kind == "wait":
            line.append(f"  waits for {unit.node.event}", style="yellow")
        return line


def _chip(status: str) -> Text:
    icon, style = LOOKS[status]
    return Text(f"{icon} {status}", style=style)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= NOTE_CHARACTERS else f"{text[: NOTE_CHARACTERS - 1]}…"
