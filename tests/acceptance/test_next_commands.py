"""The commands that `stepwell up` suggests for a workflow with a person work as they are printed."""

from __future__ import annotations

import shlex

import stepwell as sw
from stepwell import config
from stepwell.cli.next_steps import commands, describe
from stepwell.config import Settings
from stepwell.define import freeze, write_yaml
from tests.support.processes import stepwell
from tests.support.roles import api

FORM = {
    "type": "object",
    "required": ["ok", "size", "note"],
    "properties": {
        "ok": {"type": "boolean"},
        "size": {"enum": ["small", "large"]},
        "note": {"type": "string"},
        "more": {"type": "integer"},
    },
}
ORDER = sw.Workflow(
    "order",
    sw.Sequential(
        sw.Conditional('$.input.size == "large"', then=sw.Human("count", role="clerk")),
        sw.Human("sign-off", role="lead", form=FORM, inputs={"amount": "$.input.amount"}),
    ),
)
EXPECTED = [
    "start order -i size=A-1 -i amount=A-1 --key mine-1",
    "inbox --all",
    "user add ada --role lead",
    "step claim order/mine-1/sign-off --as ada",
    "step complete order/mine-1/sign-off --as ada"
    """ --output '{"ok": true, "size": "small", "note": "A-1"}'""",
    "runs list",
]


def test_the_commands_for_a_person_work_as_they_are_printed(dsn, tmp_path):
    lines = commands(describe(freeze(ORDER), {}), Settings(database_url=dsn, data_dir=tmp_path))
    assert [line.partition("stepwell ")[2] for line in lines] == EXPECTED

    given = {"STEPWELL_DATABASE_URL": api(dsn), "COLUMNS": "120"}
    (tmp_path / "order.yaml").write_text(write_yaml(ORDER))
    assert stepwell("publish", str(tmp_path / "order.yaml"), env=given).returncode == 0
    for line in EXPECTED:
        done = stepwell(*shlex.split(line), env=given)
        assert done.returncode == 0, done.stderr
    assert "Completed" in done.stdout


def test_an_assignee_is_the_person_and_a_step_in_a_map_is_not_suggested(dsn, tmp_path):
    settings = Settings(database_url=dsn, data_dir=tmp_path)
    named = sw.Workflow("one", sw.Human("sign", assignee="ben"))
    assert [line.partition("stepwell ")[2] for line in commands(describe(freeze(named), {}), settings)][
        2:4
    ] == [
        "user add ben",
        "step claim one/mine-1/sign --as ben",
    ]
    inside = sw.Workflow("many", sw.Map("$.input.items", sw.Human("sign", role="lead")))
    assert [line.partition("stepwell ")[2] for line in commands(describe(freeze(inside), {}), settings)] == [
        "start many -i items=A-1 --key mine-1",
        "inbox --all",
        "runs list",
    ]


def test_the_commands_name_a_data_folder_that_only_this_terminal_knows(monkeypatch, tmp_path):
    """The other terminal has no STEPWELL_DATA_DIR: without the option it would make another database."""
    folder = tmp_path / "a folder"
    monkeypatch.setenv("STEPWELL_DATA_DIR", str(folder))
    (line,) = commands(describe(freeze(sw.Workflow("one", sw.Operation("op"))), {}), config.load())
    assert shlex.split(line)[1:3] == ["--data-dir", str(folder)]
