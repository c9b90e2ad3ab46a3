"""Every call of the transition core in our SQL names a transition, actor and trigger of the registry."""

from __future__ import annotations

import psycopg
import pytest

from tests.tidy import sql_source
from tests.tidy.sources import files, read

# Positions of the arguments of _units_move.
TO_STATE, ACTOR, TRIGGER_KIND, TRIGGER_REF = 2, 3, 4, 5
CAUSE_FIELDS = 9

Question = list[str | None]


def calls() -> list[tuple[str, Question]]:
    """(place, [to_state, actor, trigger_kind, trigger_ref]) of every request; None for what is no literal."""
    found: list[tuple[str, Question]] = []
    for path in files(".sql", under="src/stepwell/sql/routines"):
        tokens = sql_source.code(read(path))
        texts = [token.text for token in tokens]
        for at, token in enumerate(tokens[:-1]):
            if texts[at + 1] != "(" or "function" in texts[max(at - 4, 0) : at]:
                continue
            if token.text == "_units_move":
                places = (TO_STATE, ACTOR, TRIGGER_KIND, TRIGGER_REF)
            elif token.text == "row":
                places = (-1, 0, 1, 2)
            else:
                continue
            arguments = list(sql_source.split(texts[at + 2 : closing(texts, at + 1)]))
            if token.text == "row" and len(arguments) != CAUSE_FIELDS:
                continue
            asked = [None if place < 0 else literal(arguments[place]) for place in places]
            found.append((f"{path}:{token.line}", asked))
    return found


def closing(texts: list[str], opening: int) -> int:
    depth = 0
    for at in range(opening, len(texts)):
        depth += (texts[at] == "(") - (texts[at] == ")")
        if depth == 0:
            return at
    raise AssertionError("a parenthesis is never closed")


def literal(argument: list[str]) -> str | None:
    """The text of an argument that is one literal, or an array filled with one literal."""
    texts = [text for text in argument if text.startswith("'")]
    return texts[0].strip("'") if len(texts) == 1 else None


@pytest.mark.requirement("SM-09")
def test_every_trigger_in_the_routines_is_declared(db: psycopg.Connection):
    rows = db.execute(
        "select to_state, actor_class, trigger_kind, trigger_ref from transition_def"
    ).fetchall()
    asked = calls()
    assert len(asked) >= 40
    unknown = [
        (place, question)
        for place, question in asked
        if not any(
            all(wanted in (None, declared) for wanted, declared in zip(question[:3], row[:3], strict=True))
            and (question[3] is None or row[3] in (None, question[3]))
            for row in rows
        )
    ]
    assert unknown == []
