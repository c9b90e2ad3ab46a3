"""fn_state_transition_validate changes nothing that the call for the same change refuses to its caller."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.binding import as_role, token
from tests.sql.drive import Engine, human, operation
from tests.sql.people.asking import refused

VALIDATE = (
    "select stepwell.fn_state_transition_validate(%s, 'step', %s, %s, %s, 'rpc', %s, %s, p_preview => %s)"
)


def change(db: psycopg.Connection, unit_id: int, *words: str, preview: bool = False) -> dict[str, Any]:
    """From, to, class of the actor and call, as the registry names them."""
    row = db.execute(VALIDATE, (unit_id, *words, Jsonb({}), preview)).fetchone()
    assert row is not None
    found: dict[str, Any] = row[0]
    return found


CANCEL = ("ready", "cancelled", "reviewer", "workflow_cancel")
RETRY = ("failed", "ready", "reviewer", "step_retry")
COMPLETE = ("in_progress", "completed", "pic_human", "step_complete")


@pytest.mark.requirement("RT-12")
@pytest.mark.parametrize(("words", "verb"), [(CANCEL, "run.cancel"), (RETRY, "run.retry")])
def test_a_token_needs_the_verb_of_the_call(engine: Engine, words: tuple[str, ...], verb: str):
    engine.publish("w", operation("a", retry={"max_attempts": 3}))
    run_id = engine.start("w")
    if words is RETRY:
        session = engine.worker()
        (lease,) = engine.claim(session)
        engine.report(session, (lease, "retry", {"delay_seconds": 60}))
    unit = engine.unit(run_id, "a")
    assert engine.one("select state_code from work_unit where unit_id = %s", (unit,)) == words[0]
    narrow = token(engine.db, 1, "ada", verbs=["read", "step.oversee", "step.work"])
    with refused("SW007", verb), as_role(engine.db, "stepwell_api", narrow):
        change(engine.db, unit, *words)
    wide = token(engine.db, 1, "ada", verbs=["read", "step.oversee", verb])
    with as_role(engine.db, "stepwell_api", wide):
        assert change(engine.db, unit, *words)["ok"] is True


@pytest.mark.requirement("RT-12")
@pytest.mark.parametrize("kind", ["workflow", "person"])
@pytest.mark.parametrize("preview", [False, True])
def test_held_work_is_not_completed(engine: Engine, kind: str, preview: bool):
    engine.publish("w", human("sign", role="office"))
    unit = engine.unit(engine.start("w"), "sign")
    text = token(engine.db, 1, "ada", ("office", "operator"))
    engine.db.execute("select fn_step_claim(1, %s, 'ada')", (unit,))
    made = engine.one(
        "select fn_hold_open(1, %s, %s, 'incident', 'cli:ops')", (kind, "w" if kind == "workflow" else "ada")
    )
    with refused("SW003", "stands still"), as_role(engine.db, "stepwell_api", text):
        change(engine.db, unit, *COMPLETE, preview=preview)
    # What is held can be released.
    with as_role(engine.db, "stepwell_api", text):
        engine.db.execute("select stepwell.fn_step_release(1, %s, 'ada')", (unit,))
    engine.db.execute("select fn_hold_release(1, %s, 100, 'over', 'cli:ops')", (int(made["hold_id"]),))
    with as_role(engine.db, "stepwell_api", text):
        assert change(engine.db, unit, *COMPLETE, preview=preview)["ok"] is True
