"""The texts of `--help` and of a wrong command line, without a database."""

from __future__ import annotations

import pytest

from stepwell.cli.commands import COMMANDS
from stepwell.cli.main import run


@pytest.fixture
def said(capsys, monkeypatch):
    """Exit code, stdout and stderr of a command line."""
    monkeypatch.setenv("COLUMNS", "100")

    def command_line(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            run(list(arguments))
        printed = capsys.readouterr()
        return ended.value.code, printed.out, printed.err

    return command_line


def test_the_help_names_every_command_with_its_summary(said):
    code, out, _ = said("--help")
    assert code == 0
    for name, entry in COMMANDS.items():
        assert f"  {name}" in out
        assert entry.summary in " ".join(out.split())


def test_without_a_command_the_help_is_shown_with_exit_code_two(said):
    code, out, err = said()
    assert (code, out) == (2, "")
    assert err.startswith("Stepwell: a governed workflow engine")


def test_the_help_of_a_group_lists_its_commands_in_whole_sentences(said):
    _, out, _ = said("runs", "--help")
    assert "Usage: stepwell runs COMMAND [OPTIONS]" in out
    assert "..." not in out
    assert "\n  cancel  " in out


def test_the_help_of_a_command_shows_defaults_and_limits(said):
    _, out, _ = said("runs", "list", "-h")
    assert "--limit NUMBER" in out
    assert "[default: 20; 1 to 500]" in out
    assert "-h, --help" in out


def test_a_required_option_is_marked(said):
    _, out, _ = said("step", "block", "--help")
    assert "Usage: stepwell step block STEP [OPTIONS]" in out
    assert "[required]" in out


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        (["rns"], "No such command 'rns'. Did you mean 'runs'? See 'stepwell --help'."),
        (["runs", "lst"], "No such command 'lst'. Did you mean 'list'? See 'stepwell runs --help'."),
        (
            ["runs", "list", "--limt", "3"],
            "No such option: --limt. Did you mean --limit? See 'stepwell runs list --help'.",
        ),
        (
            ["runs", "list", "--limit", "many"],
            "Invalid value for '--limit': 'many' is not accepted; accepted: a whole number from 1 to 500. "
            "See 'stepwell runs list --help'.",
        ),
        (
            ["runs", "list", "--lang", "de"],
            "Invalid value for '--lang': 'de' is not accepted; accepted: vi, en. "
            "See 'stepwell runs list --help'.",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_error_for_a_wrong_command_line_says_what_would_be_right(said, typed, sentence):
    code, out, err = said(*typed)
    assert (code, out, err) == (2, "", f"stepwell: {sentence}\n")
