"""No file uses a phrase that the word list of CONTRIBUTING.md refuses."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from tests.tidy.sources import files, read

LIST = Path("CONTRIBUTING.md")
FOLDERS = ("src", "docs", "ui/src", "tests", "bench", "scripts", "examples")
SUFFIXES = (".py", ".sql", ".md", ".ts", ".vue", ".json", ".yaml", ".toml")
# Migrations are immutable; the map of renames and this file name the phrases.
EXEMPT = ("src/stepwell/sql/migrations/", "docs/renames.", "tests/tidy/test_plain_words.py")

# Phrase, in every form that is used → what to write. CONTRIBUTING.md lists the same.
REFUSED = {
    r"hand(?:s|ed|ing)? on": "returns, passes",
    r"in (?:the same|one) breath": "in the same statement",
    r"lends?|lent|lending": "shows, gives",
    r"in (?:the|its|his|her|their) hands(?: of)?": "is leased to, is assigned to",
    r"in hand": "leased",
    r"says why": "gives the reason",
    r"in vain": "without success",
    r"(?:give|gives|given|gave|giving) back|let(?:s|ting)? go": "releases, frees",
    r"(?:stand|stands|stood|standing) by": "waits",
    r"anew": "again",
    r"made up for": "start a run later",
}


def refused(text: str) -> list[str]:
    """The phrases found, over line breaks too, and in names, where a phrase is written with underscores."""
    plain = re.sub(r"[\s_]+(?:(?:--|#|//|\*)[ \t]+)?", " ", text)
    return [found.group() for found in re.finditer(rf"(?i)\b(?:{'|'.join(REFUSED)})\b", plain)]


def found() -> dict[str, list[str]]:
    """File → the refused phrases in it."""
    by_file: dict[str, list[str]] = {}
    for under in FOLDERS:
        for path in files(*SUFFIXES, under=under):
            if str(path).startswith(EXEMPT):
                continue
            phrases = refused(f"{path.stem} {read(path)}")
            if phrases:
                by_file[str(path)] = phrases
    return by_file


def test_no_refused_phrase_is_used():
    assert not found(), f"write what {LIST} lists instead"


def test_the_contributing_guide_lists_what_to_write_instead():
    text = read(LIST)
    for phrase, instead in REFUSED.items():
        for word in instead.split(", "):
            assert word in text, f"{LIST} does not offer {word!r} instead of {phrase}"


def test_the_rule_finds_phrases_over_line_breaks_in_comments_and_in_names():
    text = "it hands\n-- on a row; test_it_is_handed_on; LENT; # in the\n# hands of a worker; one-handed one"
    assert Counter(refused(text)) == Counter(["hands on", "handed on", "LENT", "in the hands of"])
