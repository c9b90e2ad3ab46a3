"""The command `stepwell simulate`: a tree, JSON, and one sentence for an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stepwell.cli.simulate import LOOKS
from stepwell.define import (
    Conditional,
    Human,
    Map,
    Operation,
    Parallel,
    Retry,
    Sequential,
    SubWorkflow,
    Wait,
    Workflow,
    write_yaml,
)
from tests.support.processes import stepwell

op = Operation
ORDER = Workflow(
    "order.process",
    Sequential(
        Parallel(op("charge", retry=Retry(2)), op("reserve")),
        Conditional(
            "charge",
            then=Map(
                "$.steps.reserve.output", Sequential(op("pack"), op("label", mandatory=False)), id="all"
            ),
            otherwise=op("refund"),
        ),
        Human("sign", role="clerk"),
        Wait("picked", timeout="2d"),
        SubWorkflow("invoice.close"),
    ),
)
INVOICE = Workflow("invoice.close", Sequential(op("total"), op("send")))


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    made = []
    for workflow in (ORDER, INVOICE):
        path = tmp_path / f"{workflow.name}.yaml"
        path.write_text(write_yaml(workflow), encoding="utf-8")
        made.append(path)
    return made


def test_the_tree_shows_the_status_of_each_step(files: list[Path]):
    outcomes = {
        "reserve": {"completed": ["A", "B"]},
        "charge": [{"error": "TimeoutError"}, "completed"],
        "all[1].label": {"dead": "no paper"},
    }
    done = stepwell("simulate", *files, "--outcomes", json.dumps(outcomes))
    assert done.returncode == 0, done.stderr
    lines = [" ".join(line.strip("│├└─ ").split()) for line in done.stdout.splitlines()]
    assert lines == [
        "order.process ✓ completed",
        "✓ completed charge 2 calls",
        '✓ completed reserve → ["A", "B"]',
        "✓ completed if.all conditional → true",
        "✓ completed then: all map",
        '[0] "A"',
        "✓ completed pack",
        "✓ completed label not mandatory",
        '[1] "B"',
        "✓ completed pack",
        "⛔ failed label not mandatory Dead: no paper",
        "↷ skipped otherwise: refund",
        "✓ completed sign human",
        "✓ completed picked wait → {}",
        "✓ completed invoice.close subworkflow",
        "✓ completed total",
        "✓ completed send",
        "result: null",
    ]


def test_the_tree_shows_where_the_run_stops(files: list[Path]):
    done = stepwell("simulate", files[0], "--outcomes", '{"charge": {"dead": "x"}, "sign": "never"}')
    assert "► running  it stops here" in done.stdout
    assert "charge  Dead: x  caught" in done.stdout
    assert "▶ ready  sign  human" in done.stdout


def test_json_has_every_step_and_the_order(files: list[Path], tmp_path: Path):
    (tmp_path / "outcomes.json").write_text('{"charge": {"dead": "x"}}', encoding="utf-8")
    options = ["--outcomes", f"@{tmp_path / 'outcomes.json'}", "--signals", '{"picked": null}', "--seed", "3"]
    done = stepwell("simulate", *files, *options, "--json")
    found = json.loads(done.stdout)
    assert (found["workflow"], found["status"], found["result"]) == ("order.process", "failed", None)
    steps = {step["path"]: step for step in found["steps"]}
    assert steps["charge"]["error"] == {"type": "Dead", "message": "x"}
    assert steps["picked"]["status"] == "failed"
    assert steps["invoice.close"]["status"] == "aborted"
    assert sorted(found["order"][:2]) == ["call charge", "call reserve"]
    assert found["order"][-1] == "timeout picked"
    again = stepwell("simulate", *files, *options, "--json")
    assert again.stdout == done.stdout


def test_the_tree_shows_a_cancelled_run(files: list[Path]):
    done = stepwell("simulate", files[0], "--cancel-after", "1")
    assert done.stdout.startswith("order.process  ⊘ cancelled")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--outcomes", '{"chrge": "completed"}'],
            '--outcomes: there is no step chrge (did you mean "charge"?).',
        ),
        (["--outcomes", '{"charge": "done"}'], 'outcomes.charge: {"done": null} is not an outcome; accepted'),
        (["--outcomes", "{"], "--outcomes is not JSON"),
        (["--input", "[]"], "--input is not a JSON object"),
        (["--input", "@missing.json"], "--input: missing.json cannot be read"),
    ],
)
def test_the_error_for_bad_input_is_one_sentence(files: list[Path], arguments: list[str], sentence: str):
    done = stepwell("simulate", files[0], *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    assert sentence in done.stderr


def test_a_broken_workflow_is_not_simulated(tmp_path: Path):
    path = tmp_path / "broken.yaml"
    path.write_text(
        "name: broken\nsteps:\n  - operation: a\n  - if: b ==\n    then: {operation: c}\n", encoding="utf-8"
    )
    done = stepwell("simulate", path)
    assert done.returncode == 2
    assert "nothing was simulated" in done.stderr


def test_the_icons_are_those_of_the_registry(db):
    words = {
        "completed": "completed",
        "failed": "cannot_complete",
        "aborted": "cancelled",
        "skipped": "skipped",
    }
    words |= {"ready": "ready", "running": "in_progress", "idle": "not_started", "cancelled": "cancelled"}
    rows = db.execute("select state_code, ui_icon_glyph from state_def where state_machine_id like 'step%'")
    glyphs = dict(rows.fetchall())
    assert {word: LOOKS[word][0] for word in words} == {word: glyphs[code] for word, code in words.items()}


APP = """\
import stepwell as sw

app = sw.App()

@app.operation
def charge() -> int:
    raise AssertionError("a simulation runs no handler")

app.publish(sw.Workflow("shop.order", sw.Sequential(sw.Operation("charge"), sw.SubWorkflow("shop.bill"))))
app.publish(sw.Workflow("shop.bill", sw.Operation("charge")))
"""


def test_a_workflow_of_an_app_is_simulated_with_its_sub_workflows(tmp_path: Path):
    (tmp_path / "shop.py").write_text(APP)
    done = stepwell("simulate", "--app", "shop.py", "--workflow", "shop.order", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert {step["path"]: step["status"] for step in document["steps"]} == {
        "charge": "completed",
        "shop.bill": "completed",
        "shop.bill/charge": "completed",
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--app", "shop.py"), "has several workflows: choose one with --workflow: shop.bill, shop.order."),
        (("--app", "shop.py", "--workflow", "shop.odrer"), 'did you mean "shop.order"?'),
        (("--app", "shop.py", "order.yaml"), "nothing to simulate, or two things at once"),
        (("--app", "missing.py"), "missing.py"),
        ((), "nothing to simulate, or two things at once"),
    ],
)
def test_a_wrong_choice_of_the_workflow_is_one_sentence(
    tmp_path: Path, arguments: tuple[str, ...], message: str
):
    (tmp_path / "shop.py").write_text(APP)
    done = stepwell("simulate", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
