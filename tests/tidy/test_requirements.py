"""A test proves each requirement, or the list of open requirements names it; that list only shrinks."""

from __future__ import annotations

import subprocess
import tomllib

from tests.tidy.requirement_list import ID, KNOWN, OPEN, known_ids, marked_ids, open_ids, parse_open
from tests.tidy.sources import ROOT

HISTORY_COMMITS = 50


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def test_the_ids_of_requirements_have_one_form():
    assert all(ID.fullmatch(requirement) for requirement in known_ids())


def test_a_test_names_only_known_requirements():
    unknown = {
        requirement: places for requirement, places in marked_ids().items() if requirement not in known_ids()
    }
    assert not unknown, f"not in {KNOWN}"


def test_every_requirement_has_a_test_or_is_listed_as_open():
    without_test = known_ids() - set(marked_ids()) - set(open_ids())
    assert not without_test, "mark the test that proves it with @pytest.mark.requirement"


def test_the_open_list_names_no_requirement_that_has_a_test():
    closed = set(open_ids()) & set(marked_ids())
    assert not closed, f"remove these from {OPEN}: python scripts/close_requirements.py"


def test_the_open_list_is_sorted_known_and_without_repeats():
    listed = open_ids()
    assert listed == sorted(set(listed))
    assert set(listed) <= known_ids()


def test_the_open_list_only_shrinks():
    """Each version of the file in the history, and the working copy, is a subset of the one before.

    A requirement that is new in requirements.toml may be added; one that was closed is never added again.
    """
    commits = git("log", f"-{HISTORY_COMMITS}", "--format=%H", "--", str(OPEN)).split()
    newer = set(open_ids())
    for commit in commits:
        older = set(parse_open(git("show", f"{commit}:{OPEN}")))
        known_then = set(tomllib.loads(git("show", f"{commit}:{KNOWN}")))
        returned = {requirement for requirement in newer - older if requirement in known_then}
        assert not returned, f"open again since {commit[:8]}: {sorted(returned)}"
        newer = older
