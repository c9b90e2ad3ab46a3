"""Every declared transition succeeds for every actor it names, if its guard is true."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.transition_matrix.matrix import allowed, ask, prepare, rules

# Approvals and proposals have guards that count votes: other tests cover them.
# Machine → number of transitions in the first release; a later release may add some.
MACHINES = {"step.1": 81, "task.1": 96, "job.1": 56, "workflow_run.1": 16}


@pytest.mark.requirement("SM-07")
@pytest.mark.requirement("SM-09")
@pytest.mark.parametrize("machine", MACHINES)
def test_an_allowed_transition_changes_the_row_and_appends_its_event(db: psycopg.Connection, machine: str):
    prepare(db)
    declared = rules(db, machine)
    questions = [allowed(edge, rule) for edge, rule in declared.items()]
    assert len(questions) >= MACHINES[machine]
    verdicts = ask(db, questions)
    refused = [(q.edge, v.problems) for q, v in zip(questions, verdicts, strict=True) if not v.ok]
    assert refused == []

    query = """
        select u.unit_id, u.state_code, e.event_type, e.from_state, e.to_state, e.actor_class
        from work_unit as u left join event_log as e on u.tenant_id = e.tenant_id and u.unit_id = e.unit_id
    """
    found = {row[0]: row[1:] for row in db.execute(query)}
    for question, verdict in zip(questions, verdicts, strict=True):
        rule = declared[question.edge]
        assert found[verdict.unit_id] == (
            question.to_state,
            rule.event_type,
            question.from_state,
            question.to_state,
            question.actor,
        )
        assert verdict.event_type == rule.event_type
    assert db.execute("select count(*) from event_log where unit_id > 0").fetchone() == (len(questions),)


@pytest.mark.requirement("SM-05")
@pytest.mark.parametrize("machine", MACHINES)
def test_a_preview_gives_the_same_verdict_and_writes_nothing(db: psycopg.Connection, machine: str):
    prepare(db)
    questions = [allowed(edge, rule) for edge, rule in rules(db, machine).items()]
    verdicts = ask(db, questions, preview=True)
    assert all(verdict.ok for verdict in verdicts)
    assert db.execute("select count(*) from event_log where unit_id > 0").fetchone() == (0,)
    states = dict(db.execute("select unit_id, state_code from work_unit").fetchall())
    assert [states[v.unit_id] for v in verdicts] == [q.from_state for q in questions]
