"""The web console holds no state logic: no condition of its sources names the code of a state."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.tidy.sources import files, read

# The codes of the machines, as their generated page lists them.
CODES = frozenset(re.findall(r'^    state "[^"]+" as ([a-z_]+)$', read(Path("docs/state-machines.md")), re.M))
_QUOTED = r"""["'`]([a-z_]+)["'`]"""
CONDITION = re.compile(rf"(?:[!=]==? ?|\bcase |\.includes\(){_QUOTED}|{_QUOTED} [!=]==?")
# The colour of a state is painted from the registry; a rule of ours would be a second one.
COLOUR = re.compile(r"data-tl=[\"']?(red|yellow|green|gray)|--tl-(red|yellow|green|gray)")


def conditions(text: str) -> list[str]:
    return [code for pair in CONDITION.findall(text) for code in pair if code in CODES]


@pytest.mark.requirement("UI-13")
def test_no_condition_of_the_console_names_a_state_and_no_rule_paints_one():
    sources = [
        path
        for path in files(".ts", ".vue", ".css", under="ui/src")
        if not path.name.endswith((".test.ts", ".d.ts"))
    ]
    assert len(sources) > 100
    assert {str(path): found for path in sources if (found := conditions(read(path)))} == {}
    assert [str(path) for path in sources if COLOUR.search(read(path))] == []


@pytest.mark.parametrize(
    "text",
    [
        'if (run.state === "in_progress") stop();',
        "v-if=\"row.state_code !== 'paused'\"",
        'case "completed":',
        '["failed"].includes("blocked")',
    ],
)
def test_the_rule_sees_each_form(text: str):
    assert {"in_progress", "waiting", "paused", "blocked"} <= CODES
    assert conditions(text)
