"""`mypy --strict` on small programs of users: the types that it must reveal, the lines that it must refuse.

In a program `reveal_type(x)  # int` names the expected type; `# error: arg-type` names the expected error.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).with_name("programs")
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
NAMES = sorted(path.name for path in PROGRAMS.glob("*.py"))
REVEALED = re.compile(r'^(?P<file>[^:]+):(?P<line>\d+): note: Revealed type is "(?P<type>.*)"$')
REFUSED = re.compile(r"^(?P<file>[^:]+):(?P<line>\d+): error: .*\[(?P<code>[a-z-]+)\]$")
EXPECTED = re.compile(r"reveal_type\(.*\)  # (?P<type>.+)$|  # error: (?P<code>[a-z-]+)$")

Messages = dict[tuple[str, int], str]


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> Messages:
    """The types and the errors that mypy reports, by file and line; mypy runs once for all programs."""
    folder = tmp_path_factory.mktemp("mypy")
    settings = folder / "mypy.ini"
    settings.write_text("[mypy]\nstrict = true\npretty = false\n")
    mypy = [sys.executable, "-m", "mypy", "--config-file", str(settings)]
    done = subprocess.run(
        [*mypy, "--cache-dir", str(folder / "cache"), ".", *map(str, EXAMPLES)],
        cwd=PROGRAMS,
        capture_output=True,
        text=True,
        check=False,
    )
    found: Messages = {}
    other = []
    for line in done.stdout.splitlines():
        revealed, refused = REVEALED.match(line), REFUSED.match(line)
        if revealed:
            found[revealed["file"], int(revealed["line"])] = short(revealed["type"])
        elif refused:
            found[refused["file"], int(refused["line"])] = refused["code"]
        elif ": note: " not in line and not line.startswith(("Found ", "Success")):
            other.append(line)
    assert not other, "\n".join(other) + done.stderr
    return found


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", NAMES)
def test_mypy_reports_what_the_comments_of_a_program_expect(messages: Messages, name: str):
    expected = {}
    for number, line in enumerate((PROGRAMS / name).read_text().splitlines(), start=1):
        if match := EXPECTED.search(line):
            expected[name, number] = match["type"] or match["code"]
    assert expected, f"{name} has no expectation"
    assert {place: what for place, what in messages.items() if place[0] == name} == expected


def short(revealed: str) -> str:
    """The type without module names: `stepwell.handles.RunHandle[builtins.int]` is `RunHandle[int]`."""
    return re.sub(r"\b(?:\w+\.)+(?=[A-Za-z_])", "", revealed)


@pytest.mark.timeout(600)
def test_the_examples_are_whole_apps_that_mypy_accepts(messages: Messages):
    assert len(EXAMPLES) >= 2
    assert {place: what for place, what in messages.items() if place[0] not in NAMES} == {}
