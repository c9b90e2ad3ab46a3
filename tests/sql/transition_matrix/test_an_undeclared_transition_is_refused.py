"""Every transition that the registry does not declare is refused, for all states and actors."""

from __future__ import annotations

from itertools import product

import psycopg
import pytest

from tests.sql.transition_matrix.matrix import ACTORS, MACHINES, Question, ask, prepare, rules, states


def undeclared(db: psycopg.Connection, machine: str) -> list[Question]:
    declared = rules(db, machine)
    codes = states(db, machine)
    edges = product([machine], codes, codes, ACTORS)
    # Lease, evidence and payload satisfy every guard: the only reason to refuse is the missing transition.
    return [Question(*edge, session_id=1) for edge in edges if edge not in declared]


@pytest.mark.requirement("SM-06")
@pytest.mark.requirement("SM-09")
@pytest.mark.parametrize("machine", MACHINES)
def test_an_undeclared_transition_is_refused_and_changes_nothing(db: psycopg.Connection, machine: str):
    prepare(db)
    questions = undeclared(db, machine)
    verdicts = ask(db, questions)
    wrong = [
        (question.edge, verdict.problems)
        for question, verdict in zip(questions, verdicts, strict=True)
        if verdict.ok
        or verdict.problems
        != [f"no_transition:{question.from_state}->{question.to_state} by {question.actor}"]
    ]
    assert wrong == []
    assert db.execute("select count(*) from event_log where unit_id > 0").fetchone() == (0,)
    found = dict(db.execute("select unit_id, state_code from work_unit").fetchall())
    assert [found[v.unit_id] for v in verdicts] == [q.from_state for q in questions]


def test_the_matrix_has_every_combination(db: psycopg.Connection):
    """Declared and undeclared transitions together are every combination, and there are thousands."""
    asked = sum(len(undeclared(db, machine)) + len(rules(db, machine)) for machine in MACHINES)
    assert asked == sum(len(states(db, machine)) ** 2 * len(ACTORS) for machine in MACHINES)
    assert asked > 3000
