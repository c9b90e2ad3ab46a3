"""Every call on human steps: a repeated key changes nothing, a wrong call is refused by name, and the call
exists in SQL, in the client and on the command line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from stepwell.cli import step as step_commands
from stepwell.people import PeopleCalls
from tests.sql.drive import Engine, human, operation
from tests.sql.people.asking import People, refused
from tests.support.clock import Clock
from tests.support.deciding import deciding

Prepare = Callable[["Scene"], None]


@dataclass
class Scene:
    engine: Engine
    people: People
    clock: Clock
    unit: int

    def approval(self, action: str) -> int:
        made: int = self.engine.one("select fn_approval_request(1, %s, %s, 'ada')", (action, self.unit))
        self.engine.one(deciding("approve", "ben"), (made,))
        return made


@pytest.fixture
def scene(engine: Engine, people: People, clock: Clock) -> Scene:
    people.add("dan", "office")
    chain = [{"after": 600, "tell": "lead"}, {"after": 1200, "tell": "director"}]
    form = {"type": "object", "required": ["ok"]}
    engine.publish("w", human("sign", role="office", escalation=chain, form=form), operation("after"))
    return Scene(engine, people, clock, engine.unit(engine.start("w"), "sign"))


def ready(scene: Scene) -> None:
    """The step is ready after the start: nothing to do."""


def claimed(scene: Scene) -> None:
    scene.people.claim(scene.unit, "ada")


def waiting(scene: Scene) -> None:
    claimed(scene)
    scene.people.wait(scene.unit, "ada", ["waiting_human"])


def blocked(scene: Scene) -> None:
    claimed(scene)
    scene.people.block(scene.unit, "ada", "other")


def done(scene: Scene) -> None:
    claimed(scene)
    scene.people.complete(scene.unit, "ada", {"ok": True})


def in_an_hour(scene: Scene) -> datetime:
    return scene.clock.now() + timedelta(hours=1)


def to_reopen(scene: Scene) -> int:
    return scene.approval("reopen")


def to_escalate(scene: Scene) -> int:
    return scene.approval("escalate")


# Call, preparation, arguments, wrong arguments, and a word of the error for these.
CALLS: list[tuple[str, Prepare, list[Any], list[Any], str]] = [
    ("claim", ready, ["ada"], ["cleo"], "role office"),
    ("assign", ready, ["dan", "ben"], ["ada", "dan"], "actor_is_responsible"),
    ("release", claimed, ["ada"], ["ben"], "actor_is_pic"),
    ("delegate", claimed, ["ada", "ben"], ["ben", "dan"], "actor_is_pic"),
    ("wait", claimed, ["ada", ["waiting_human"]], ["ada", ["moon"]], "waiting_facet"),
    ("resume", waiting, ["ada", "mail:1"], ["ada", None], "facet_resolution_proof"),
    ("block", claimed, ["ada", "other"], ["ada", "mood"], "block_reason_known"),
    ("unblock", blocked, ["ada", "found:1"], ["ada", None], "blocker_resolution_evidence"),
    ("block_escalate", blocked, ["ben"], ["dan"], "actor_oversees"),
    ("escalate", claimed, ["ada"], ["cleo"], "actor_takes_part"),
    ("comment", ready, ["ada", "looks good"], ["cleo", "looks good"], "actor_takes_part"),
    ("complete", claimed, ["ada", {"ok": 1}], ["ada", {}], "output_contract_met"),
    ("cannot_complete", claimed, ["ada", "note:1"], ["ada", None], "declaration_evidence"),
    ("deadline_change", claimed, ["ben", in_an_hour], ["dan", in_an_hour], "actor_is_responsible"),
    ("reopen_for_correction", done, ["ben", "data_error", to_reopen], ["ben", "data_error", to_escalate],
        "reopen_approved"),
]  # fmt: skip


def values(scene: Scene, given: list[Any]) -> list[Any]:
    return [value(scene) if callable(value) else value for value in given]


def rows(engine: Engine) -> list[tuple[Any, ...]]:
    """All rows that a second call could change."""
    return engine.db.execute(
        """select 'event', event_id, unit_id, event_type from event_log
           union all select 'unit', lease_no, unit_id, state_code from work_unit
           union all select 'told', level, unit_id, told_at::text from step_escalation
           union all select 'cycle', cycle_no, unit_id, closed_state from step_run_correction_cycle
           order by 1, 2, 3"""
    ).fetchall()


@pytest.mark.parametrize(
    ("call", "prepare", "given", "wrong", "said"), CALLS, ids=[call[0] for call in CALLS]
)
def test_a_repeated_key_changes_nothing_and_wrong_arguments_are_refused(
    scene: Scene, call: str, prepare: Prepare, given: list[Any], wrong: list[Any], said: str
):
    prepare(scene)
    act = getattr(scene.people, call)
    bad = values(scene, wrong)
    before = rows(scene.engine)
    with refused("SW007" if call == "claim" else "SW004", said):
        act(scene.unit, *bad, key="wrong")
    assert rows(scene.engine) == before
    good = values(scene, given)
    first = act(scene.unit, *good, key="k")
    after = rows(scene.engine)
    assert after != before
    assert act(scene.unit, *good, key="k") == first
    assert rows(scene.engine) == after
    with refused("SW001", "key"):
        act(scene.unit, *good, key="")
    with refused("SW002", "does not exist"):
        act(7, *good)
    assert scene.engine.faults() == {}


def test_every_function_on_steps_is_listed_here(db: psycopg.Connection):
    query = r"select substr(proname, 9) from pg_proc where proname like 'fn\_step\_%' and provolatile = 'v'"
    # Who sees a step of a workflow: no call on the step of a run, and repeated it changes nothing.
    query += " and proname <> 'fn_step_permission_set'"
    assert {name for (name,) in db.execute(query)} == {call[0] for call in CALLS}


# Call → its name in the client or on the command line, where it differs from the function.
CLIENT_NAMES = {"cannot_complete": "declare_cannot_complete", "escalate": "escalate"}
COMMAND_NAMES = {
    "block_escalate": "escalate-block",
    "cannot_complete": "cannot-complete",
    "deadline_change": "deadline",
    "reopen_for_correction": "reopen",
}


@pytest.mark.parametrize("call", [call[0] for call in CALLS])
def test_every_call_exists_in_the_client_and_on_the_command_line(call: str):
    assert callable(getattr(PeopleCalls, CLIENT_NAMES.get(call, f"step_{call}")))
    commands = step_commands.app.registered_commands
    names = {command.name or getattr(command.callback, "__name__", "") for command in commands}
    assert COMMAND_NAMES.get(call, call) in names
