"""Any sequence of calls of people, reviewers, a worker and the keeper keeps the invariants.

The machine picks a unit and a call; the database may refuse it, but only with one of our SQLSTATEs.
After every call the queries of people_rules.py check what must always be true.
"""

from __future__ import annotations

from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import stepwell as sw
from stepwell.define import freeze
from tests.model.people_rules import RULES, SETTLED
from tests.support.databases import Databases
from tests.support.deciding import PLACE, deciding
from tests.support.sample import sample

PEOPLE = {"ada": ["office"], "ben": ["office", "reviewer"], "cleo": ["warehouse"], "dan": ["operator"]}
FACETS = ["waiting_dependency", "waiting_human", "waiting_external", "waiting_time_gate"]
CHAIN = [{"after": "30m", "tell": "reviewer"}, {"after": "2h", "tell": "dan"}]

# Stands for the person in charge of the unit, or a candidate.
RIGHT = "the person in charge or a candidate"
IN_PROGRESS = ("in_progress", "overdue")
FITTING = {
    "claim": ("ready",),
    "release": IN_PROGRESS,
    "delegate": (*IN_PROGRESS, "waiting", "blocked"),
    "assign": ("ready", *IN_PROGRESS),
    "wait": IN_PROGRESS,
    "resume": ("waiting",),
    "block": IN_PROGRESS,
    "unblock": ("blocked",),
    "escalate": ("ready", *IN_PROGRESS),
    "block_escalate": ("blocked",),
    "complete": IN_PROGRESS,
    "cannot_complete": (*IN_PROGRESS, "waiting", "blocked"),
    "deadline_change": ("ready", *IN_PROGRESS, "waiting", "blocked"),
}

who = st.sampled_from([RIGHT] * 6 + sorted(PEOPLE))
anybody = st.sampled_from(sorted(PEOPLE))
pick = st.integers(0, 99)

WORKFLOWS = [
    sw.Workflow(
        "line",
        sw.Sequential(
            sw.Human("a", role="office", deadline="1h", escalation=CHAIN),
            sw.Operation("op"),
            sw.Human("b", assignee="cleo"),
        ),
    ),
    sw.Workflow("side", sw.Parallel(sw.Human("a", role="office"), sw.Human("b", role="warehouse"))),
    sw.Workflow(
        "parts",
        sw.Human(
            "pack",
            role="office",
            tasks=[{"id": "count", "role": "warehouse"}, {"id": "label", "operation": "op"}],
        ),
    ),
    sw.Workflow("items", sw.Sequential(sw.Map("$.input.items", sw.Human("i", role="office"), id="m"))),
    sw.Workflow("nest", sw.Sequential(sw.SubWorkflow("side"), sw.Human("z", role="office"))),
]


class Office(RuleBasedStateMachine):
    """One database, four people, a worker."""

    databases: Databases
    template: str

    def __init__(self) -> None:
        super().__init__()
        self._stack = ExitStack()
        dsn = self._stack.enter_context(self.databases.fresh(self.template))
        self.db = self._stack.enter_context(psycopg.connect(dsn, autocommit=True))
        # No real time passes, so that an example always goes the same way.
        self.rows("select stepwell.fn_clock_stop(null)")
        self.is_settled = True
        # Values that must not change once they are set: first overdue time, first completion, completed late.
        self.marks: dict[int, tuple[Any, Any, bool]] = {}

    def teardown(self) -> None:
        self._stack.close()

    def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        return self.db.execute(query, parameters).fetchall()

    def call(self, query: str, *parameters: Any) -> Any:
        """The first value; None if the call is refused with one of our SQLSTATEs."""
        self.is_settled = False
        try:
            found = self.rows(query, *parameters)
            return found[0][0] if found else None
        except psycopg.Error as error:
            if not (error.sqlstate or "").startswith("SW"):
                raise
            return None

    def step(self, verb: str, at: int, name: str, *parameters: Any) -> Any:
        """One `fn_step_…` call on a human step in a fitting state, or in any state if `at % 7 == 0`."""
        units = self.rows(
            "select step_run_id, state_code, pic, coalesce(assignee, role)"
            " from stepwell.v_human_step order by 1"
        )
        fitting = [row for row in units if at % 7 == 0 or row[1] in FITTING[verb]]
        if not fitting:
            return None
        unit, _, pic, role = fitting[at % len(fitting)]
        if name == RIGHT:
            candidates = [person for person, roles in PEOPLE.items() if role in (person, *roles)]
            name = pic or candidates[at % len(candidates)] if candidates else "ada"
        given = (parameters[0], name) if verb == "assign" else (name, *parameters)
        places = "".join(", %s" for _ in given)
        return self.call(f"select stepwell.fn_step_{verb}(1, %s{places})", unit, *given)

    @initialize()
    def prepare(self) -> None:
        self.call(
            "select stepwell.fn_operation_register(1, %s::jsonb)", '[{"name": "op", "max_attempts": 2}]'
        )
        for name, roles in PEOPLE.items():
            self.call("select stepwell.fn_person_set(1, %s, %s)", name, roles)
        for workflow in WORKFLOWS:
            graph = freeze(workflow)
            self.call(
                "select version_no from stepwell.fn_workflow_publish(1, %s::jsonb, 'model')",
                graph.canonical.decode(),
            )
            self.start(workflow)
        self.session = self.call("select stepwell.fn_worker_register('model', '{default}', 10, 80000)")

    @rule(workflow=st.sampled_from(WORKFLOWS))
    def start(self, workflow: sw.Workflow) -> None:
        if len(self.rows("select from stepwell.run_detail")) < 12:
            self.call(
                "select run_id from stepwell.fn_run_start(1, %s, array['{\"items\": [1, 2]}'::jsonb])",
                workflow.name,
            )

    @rule(at=pick, name=who, key=st.none() | st.sampled_from(["k1", "k2"]))
    def claim(self, at: int, name: str, key: str | None) -> None:
        self.step("claim", at, name, key)

    @rule(at=pick)
    def claim_two_and_complete_one(self, at: int) -> None:
        self.step("claim", at, RIGHT)
        self.step("claim", at, RIGHT)
        self.step("complete", at, RIGHT)

    @rule(at=pick, name=who)
    def release(self, at: int, name: str) -> None:
        self.step("release", at, name)

    @rule(at=pick, name=who, to=anybody, verb=st.sampled_from(["delegate", "assign"]))
    def delegate_or_assign(self, at: int, name: str, to: str, verb: str) -> None:
        self.step(verb, at, name, to)

    @rule(at=pick, name=who, facets=st.lists(st.sampled_from(FACETS), min_size=1, max_size=4), how=pick)
    def wait(self, at: int, name: str, facets: list[str], how: int) -> None:
        until = self.rows("select stepwell.now() + interval '20 minutes'")[0][0] if how % 2 else None
        self.step("wait", at, name, facets, "mail" if how % 3 == 0 else None, until)

    @rule(at=pick, name=who, verb=st.sampled_from(["resume", "unblock"]))
    def resume_or_unblock(self, at: int, name: str, verb: str) -> None:
        self.step(verb, at, name, "ref:1")

    @rule(at=pick, name=who, reason=st.sampled_from(["missing_iu", "config_error", "no_such_word"]))
    def block(self, at: int, name: str, reason: str) -> None:
        self.step("block", at, name, reason)

    @rule(at=pick, name=who | st.just("dan"), verb=st.sampled_from(["escalate", "block_escalate"]))
    def escalate(self, at: int, name: str, verb: str) -> None:
        self.step(verb, at, name)

    @rule(at=pick, name=who)
    def complete(self, at: int, name: str) -> None:
        self.step("complete", at, name)

    @rule(at=pick, name=who)
    def cannot_complete(self, at: int, name: str) -> None:
        self.step("cannot_complete", at, name, "note:1")

    @rule(at=pick, name=who, minutes=st.sampled_from([-5, 10, 300]))
    def change_deadline(self, at: int, name: str, minutes: int) -> None:
        due = self.rows("select stepwell.now() + make_interval(mins => %s)", minutes)[0][0]
        self.step("deadline_change", at, name, due)

    @rule(
        at=pick,
        name=who,
        action=st.sampled_from(["reopen", "reopen", "workflow_cancel", "block_escalate", "spend"]),
    )
    def ask(self, at: int, name: str, action: str) -> None:
        units = self.rows(
            "select unit_id from stepwell.work_unit where scope in ('step', 'workflow_run') order by 1"
        )
        if units:
            self.call(
                "select stepwell.fn_approval_request(1, %s, %s, %s)", action, units[at % len(units)][0], name
            )

    @rule(at=pick, name=anybody, word=st.sampled_from(["approve", "approve", "reject", "withdraw"]))
    def decide(self, at: int, name: str, word: str) -> None:
        asked = self.rows("select approval_id from stepwell.approval_detail order by 1")
        if asked and word == "withdraw":
            self.call("select stepwell.fn_approval_withdraw(1, %s, %s)", asked[at % len(asked)][0], name)
        elif asked:
            asked_for = asked[at % len(asked)][0]
            self.call(deciding(PLACE, PLACE, "a reason"), asked_for, word, name)

    @rule(at=pick, choice=st.sampled_from(["leave", "reopen"]), give_to=st.none() | anybody)
    def reopen(self, at: int, choice: str, give_to: str | None) -> None:
        """Reopens an ended step with a granted approval."""
        ended = self.rows(
            "select unit_id from stepwell.work_unit where scope = 'step'"
            " and state_code in ('completed', 'cannot_complete') order by 1"
        )
        if ended:
            unit = ended[at % len(ended)][0]
            approval = self.call("select stepwell.fn_approval_request(1, 'reopen', %s, 'ada')", unit)
            self.call(deciding("approve", "ben"), approval)
            self.call(
                "select stepwell.fn_step_reopen_for_correction(1, %s, 'ben', 'data_error', %s, %s, %s)",
                unit, approval, choice, give_to,
            )  # fmt: skip

    @rule(outcome=st.sampled_from(["completed", "completed", "failed", "dead"]))
    def work(self, outcome: str) -> None:
        for row in self.rows("select * from stepwell.fn_job_claim(%s, 1)", self.session):
            body = None if outcome == "completed" else '{"error": {"type": "E", "message": "no"}}'
            self.call(
                "select row_kind from stepwell.fn_job_report(%s, array[%s], array[%s::bigint], array[%s],"
                " array[%s], array[%s]::text[])",
                self.session, row[1], row[2], row[3], outcome, body,
            )  # fmt: skip

    @rule(at=pick, act=st.sampled_from(["pause", "resume", "resume", "cancel", "signal"]))
    def control(self, at: int, act: str) -> None:
        runs = self.rows("select run_id from stepwell.run_detail order by 1")
        if runs and act == "signal":
            self.call(
                "select accepted from stepwell.fn_signal(1, %s, 'mail', '{}', %s)",
                runs[at % len(runs)][0],
                f"e{at}",
            )
        elif runs and (act != "cancel" or at % 4 == 0):
            self.call(f"select stepwell.fn_run_{act}(1, %s, 'model')", runs[at % len(runs)][0])

    @rule(minutes=st.sampled_from([1, 25, 65, 300]))
    def keep(self, minutes: int) -> None:
        self.rows(
            "update stepwell.clock_shift set shift = shift + %s returning 1", timedelta(minutes=minutes)
        )
        self.rows(
            "update stepwell.worker_session set expires_at = stepwell.now() + interval '1 day' returning 1"
        )
        # Fire until no timer is due: a step that resumes can be past its deadline.
        fired = [self.rows("select fired_count from stepwell.fn_timers_fire()")[0][0] for _ in range(4)]
        assert fired[-1] == 0, fired
        self.is_settled = True

    @precondition(lambda self: hasattr(self, "session"))
    @invariant()
    def holds(self) -> None:
        broken = self.rows("select invariant, detail from stepwell.fn_invariants_check() where not ok")
        assert not broken, broken
        for name, query in (RULES | SETTLED if self.is_settled else RULES).items():
            faults = self.rows(query)
            assert not faults, f"{name}: {faults}"

    @precondition(lambda self: hasattr(self, "session"))
    @invariant()
    def values_never_change(self) -> None:
        for unit, late_at, done_at, was_late in self.rows(
            "select unit_id, overdue_first_at, case when state_code = 'completed' then completed_at end,"
            " completed_after_deadline from stepwell.work_unit where scope in ('step', 'task')"
        ):
            before = self.marks.get(unit, (None, None, False))
            assert before[0] in (None, late_at), f"unit {unit} was late at {before[0]}, now {late_at}"
            assert done_at is None or before[1] in (None, done_at), f"unit {unit} completed twice"
            assert was_late or not before[2], f"unit {unit} is no longer late"
            self.marks[unit] = (late_at or before[0], done_at or before[1], was_late)


@pytest.mark.requirement("SM-10", "SM-11", "SM-12", "SM-14", "SM-19", "RU-03")
@pytest.mark.timeout(900)
def test_any_sequence_of_calls_of_people_keeps_the_invariants(databases: Databases, template: str) -> None:
    Office.databases, Office.template = databases, template
    case = Office.TestCase()
    case.settings = sample(15, stateful_step_count=40)
    case.runTest()
