"""Drives a stored run through SQL functions only, in a random order: receives an example, returns the states
in the database and the order of the actions.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from stepwell.define import Graph
from stepwell.outcome import Completed
from stepwell.reactive.event_log import LogRow, UnitRow, paths_of
from stepwell.reactive.memory_engine import Action
from stepwell.reactive.script import Never, Outcome, Script
from tests.sql.drive import Engine, Lease
from tests.strategies.outcomes import Example, reported

MAX_ACTIONS = 5_000
TENANT_ID = 1
_numbers = itertools.count(1)

UNITS = """
with recursive tree as (
    select r.run_id, r.parent_unit_id, r.version_id
    from run_detail as r
    where r.tenant_id = 1 and r.run_id = %s
    union all
    select r.run_id, r.parent_unit_id, r.version_id
    from tree as t
    inner join run_detail as r
        on r.tenant_id = 1 and r.run_id > t.run_id and r.parent_unit_id >> 20 = t.run_id
)
select t.run_id, t.parent_unit_id, w.workflow_name, u.unit_id, u.def_no, u.parent_id, u.item_no, u.state_code,
    (select d.node_code from v_unit_dialect as d where d.tenant_id = 1 and d.unit_id = u.unit_id)
from tree as t
inner join workflow_version as v on v.tenant_id = 1 and v.version_id = t.version_id
inner join workflow_registry as w on w.tenant_id = 1 and w.workflow_id = v.workflow_id
inner join work_unit as u
    on u.tenant_id = 1 and u.unit_id between t.run_id << 20 and ((t.run_id + 1) << 20) - 1
order by t.run_id, u.unit_id
"""
LOG = """
select e.unit_id, e.request_id, e.event_type, e.to_state, o.output{position}
from event_log as e
left join unit_output as o on e.to_state = 'completed'
    and o.tenant_id = e.tenant_id and o.unit_id = e.unit_id and o.lease_no = e.request_id
where e.tenant_id = 1 and e.run_id = %s
order by e.event_id
"""
POSITIONED_LOG = LOG.replace("{position}", ", e.event_id")
LOG = LOG.replace("{position}", "")


@dataclass
class StoredRun:
    """One run of the tree: its graph, the path of the step around it ("" for the root), its units."""

    run_id: int
    prefix: str
    graph: Graph
    state: str = ""
    paths: dict[int, str] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    # The same states in the words of document 002, as the database gives them.
    nodes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Look:
    """The words of all nodes at one position of the log."""

    event_id: int
    nodes: Mapping[str, str]


@dataclass(frozen=True)
class Driven:
    example: Example
    runs: Mapping[str, StoredRun]
    actions: tuple[Action, ...]
    looks: tuple[Look, ...]


class PostgresSide:
    """One database, one worker session, many runs."""

    def __init__(self, db: psycopg.Connection[Any]) -> None:
        self.db = db
        self.engine = Engine(db, TENANT_ID)
        self.session_key = self.engine.worker("differential", ("default", "process"), lease_seconds=86400)

    def named(self, example: Example) -> Example:
        """The example with new workflow names, so that it does not share versions with another example."""
        number = next(_numbers)

        def renamed(graph: Graph, name: str) -> Graph:
            steps = tuple(
                replace(step, workflow=f"{step.workflow}.{number}") if step.workflow else step
                for step in graph.steps
            )
            return replace(graph, name=name, steps=steps)

        return Example(
            renamed(example.graph, f"drawn.{number}"),
            example.fate,
            {f"{name}.{number}": renamed(g, f"{name}.{number}") for name, g in example.workflows.items()},
        )

    def drive(self, example: Example) -> Driven:
        for graph in (*example.workflows.values(), example.graph):
            self.db.execute(
                "select fn_workflow_publish(%s, %s, 'test')",
                (TENANT_ID, graph.canonical.decode()),
            )
        run_id = self.engine.start(example.graph.name, example.fate.input)
        try:
            return _Driving(self, example, run_id).run()
        except BaseException:
            # Its units must not be claimable in the next example.
            self.db.execute("select fn_run_cancel(1, %s, 'cli:test')", (run_id,))
            raise

    def log(self, run_id: int) -> list[tuple[int, LogRow]]:
        """The rows of the log with their positions."""
        rows = self.db.execute(POSITIONED_LOG, (run_id,)).fetchall()
        return [(row[-1], LogRow(*row[:-1])) for row in rows]

    def broken_invariants(self) -> list[tuple[Any, ...]]:
        # Thousands of new rows have no statistics yet: without them the plans of the check are bad.
        self.db.execute("analyze")
        return self.db.execute("select * from fn_invariants_check() where not ok").fetchall()


class _Driving:
    def __init__(self, side: PostgresSide, example: Example, run_id: int) -> None:
        self.side = side
        self.db = side.db
        self.example = example
        self.run_id = run_id
        self.script = Script(example.fate.outcomes)
        self.random = random.Random(example.fate.seed)
        self.graphs = {graph.name: graph for graph in (example.graph, *example.workflows.values())}
        self.leases: dict[str, Lease] = {}
        self.calls: dict[str, int] = {}
        self.unit_ids: dict[str, int] = {}
        self.full_paths: dict[int, str] = {}
        self.runs: dict[str, StoredRun] = {}
        self.done: list[Action] = []
        self.taken: dict[str, int] = {}
        self.looks: list[Look] = []

    def run(self) -> Driven:
        fate = self.example.fate
        self.read()
        replays = fate.replays
        while len(self.done) < MAX_ACTIONS:
            if self.runs[""].state == "failed" and replays and self.dead():
                replays -= 1
                self.replay()
            elif self.runs[""].state != "in_progress":
                break
            elif fate.cancel_after is not None and len(self.done) >= fate.cancel_after:
                self.cancel()
            elif len(self.done) == fate.abort_after and (path := self.abortable()) is not None:
                self.abort(path)
            else:
                self.claim()
                if not self.act():
                    break
            self.read()
        self.read()
        return Driven(self.example, self.runs, tuple(self.done), tuple(self.looks))

    def read(self) -> None:
        """Reads every unit of every run of the tree."""
        self.runs = {}
        steps: dict[int, str] = {}
        by_run: dict[int, list[tuple[Any, ...]]] = {}
        for row in self.db.execute(UNITS, (self.run_id,)).fetchall():
            by_run.setdefault(row[0], []).append(row)
        for run_id, rows in by_run.items():
            parent_unit_id, name = rows[0][1], rows[0][2]
            prefix = "" if parent_unit_id is None else f"{steps[parent_unit_id]}/"
            stored = StoredRun(run_id, prefix, self.graphs[name], state=rows[0][7])
            stored.paths = paths_of(stored.graph, (UnitRow(*row[3:7]) for row in rows[1:]))
            stored.states = {stored.paths[row[3]]: row[7] for row in rows[1:]}
            stored.nodes = {stored.paths[row[3]]: row[8] for row in rows[1:]}
            steps |= {unit_id: prefix + path for unit_id, path in stored.paths.items()}
            self.runs[prefix] = stored
        self.full_paths = steps
        self.unit_ids = {path: unit_id for unit_id, path in steps.items()}
        if self.example.fate.replays:
            self.notice_kept_events()
        nodes = {prefix + path: word for prefix, run in self.runs.items() for path, word in run.nodes.items()}
        self.looks.append(Look(self.side.engine.one("select last_value from event_seq"), nodes))

    def notice_kept_events(self) -> None:
        """An event that had woken a replayed step is kept, and wakes the next step that waits for it."""
        rows = self.db.execute(
            "select event_key, taken_by from event_inbox where run_id = any (%s) and taken_by is not null",
            ([run.run_id for run in self.runs.values()],),
        ).fetchall()
        woken = sorted(unit_id for key, unit_id in rows if self.taken.get(key) != unit_id)
        self.done += [Action("signal", self.full_paths[unit_id]) for unit_id in woken]
        self.taken = dict(rows)

    def claim(self) -> None:
        for lease in self.side.engine.claim(self.side.session_key, 500):
            if lease.unit_id in self.full_paths:
                path = self.full_paths[lease.unit_id]
                self.leases[path] = lease
                prefix, inner = self.split(path)
                self.runs[prefix].states[inner] = "in_progress"
            else:
                # No unit of a run that has ended may be claimable.
                raise AssertionError(f"unit {lease.unit_id} of another run was claimable")

    def state_of(self, path: str) -> str:
        prefix, inner = self.split(path)
        return self.runs[prefix].states[inner]

    def split(self, path: str) -> tuple[str, str]:
        prefix = path[: path.rfind("/") + 1]
        return prefix, path[len(prefix) :]

    def outcome(self, path: str) -> Outcome:
        _, inner = self.split(path)
        return self.script.outcome(inner, _step_id(inner), self.calls.get(path, 0))

    def act(self) -> bool:
        """Does one possible action, or reports several completions. Returns False if none is possible."""
        self.leases = {path: one for path, one in self.leases.items() if self.state_of(path) == "in_progress"}
        calls = [path for path in self.leases if not isinstance(self.outcome(path), Never)]
        humans = [path for path in self.humans() if not isinstance(self.outcome(path), Never)]
        retries, timeouts = self.timers()
        signals = self.waiting()
        possible = [
            *(Action("call", path) for path in (*calls, *humans)),
            *(Action("retry", path) for path in retries),
            *(Action("signal", path) for path in signals),
        ]
        possible = possible or [Action("timeout", path) for path in timeouts]
        if not possible:
            return False
        action = self.random.choice(sorted(possible, key=lambda one: (one.path, one.kind)))
        match action.kind:
            case "call" if action.path in humans:
                self.human(action.path)
            case "call":
                self.report(action.path, calls)
            case "signal":
                self.signal(action.path, signals[action.path])
                self.done.append(action)
            case _:
                self.fire(action.path)
                self.done.append(action)
        return True

    def humans(self) -> list[str]:
        return [
            prefix + path
            for prefix, run in self.runs.items()
            for path, state in run.states.items()
            if state == "ready" and run.graph.by_id[_step_id(path)].kind == "human"
        ]

    def timers(self) -> tuple[list[str], list[str]]:
        rows = self.db.execute(
            "select unit_id, timer_kind from timer where tenant_id = 1 and unit_id = any (%s)",
            (list(self.full_paths),),
        ).fetchall()
        retries = [self.full_paths[unit_id] for unit_id, kind in rows if kind == "retry"]
        return retries, [self.full_paths[unit_id] for unit_id, kind in rows if kind == "wait_timeout"]

    def waiting(self) -> dict[str, str]:
        """Path → event type of the waiting units whose event will be sent."""
        rows = self.db.execute(
            "select unit_id, event_type from event_wait where tenant_id = 1 and unit_id = any (%s)",
            (list(self.full_paths),),
        ).fetchall()
        signals = self.example.fate.signals
        return {self.full_paths[unit_id]: kind for unit_id, kind in rows if signals.get(kind, {}) is not None}

    def report(self, path: str, calls: list[str]) -> None:
        """Reports the drawn call and, if it completes, sometimes other completed calls with it."""
        together = [path]
        if isinstance(self.outcome(path), Completed) and self.random.random() < 0.3:
            others = [one for one in calls if one != path and isinstance(self.outcome(one), Completed)]
            together += self.random.sample(others, self.random.randint(0, len(others)))
        # The engine processes a report in the order of its units.
        together.sort(key=self.unit_ids.__getitem__)
        reports = [(self.leases.pop(one), *reported(self.outcome(one))) for one in together]
        for one in together:
            self.calls[one] = self.calls.get(one, 0) + 1
            self.done.append(Action("call", one))
        refused = self.side.engine.report(self.side.session_key, *reports)
        assert not refused, f"refused: {refused}"

    def human(self, path: str) -> None:
        unit_id = self.unit_ids[path]
        value = self.outcome(path)
        assert isinstance(value, Completed)
        evidence = {"audit_ref": "test", "actor_id": 7}
        self.db.execute("update work_unit set pic_id = 7 where tenant_id = 1 and unit_id = %s", (unit_id,))
        for state, reached, trigger, more in (
            ("ready", "in_progress", "step_claim", {}),
            ("in_progress", "completed", "step_complete", {"output": value.value}),
        ):
            verdict = self.side.engine.one(
                "select fn_state_transition_validate(%s, 'step', %s, %s, 'pic_human', 'rpc', %s, %s)",
                (unit_id, state, reached, trigger, Jsonb(evidence | more)),
            )
            assert verdict["ok"], verdict
        self.calls[path] = self.calls.get(path, 0) + 1
        self.done.append(Action("call", path))

    def signal(self, path: str, event_type: str) -> None:
        prefix, _ = self.split(path)
        run_id = self.runs[prefix].run_id
        # An event wakes the oldest wait of its type: make the chosen wait the oldest.
        self.db.execute(
            "update event_wait set since_at = since_at - interval '1 day' "
            "where tenant_id = 1 and unit_id = %s",
            (self.unit_ids[path],),
        )
        key = f"k{next(_numbers)}"
        self.taken[key] = self.unit_ids[path]
        row = self.db.execute(
            "select accepted, woken_unit_id from fn_signal(1, %s, %s, %s, %s, 'test')",
            (run_id, event_type, Jsonb(self.example.fate.signals.get(event_type, {})), key),
        ).fetchone()
        assert row == (True, self.unit_ids[path]), row

    def fire(self, path: str) -> None:
        """Makes this timer due and no other, so that timeouts do not depend on the machine."""
        self.db.execute(
            "update timer set due_at = stepwell.now() + case when unit_id = %s "
            "and timer_kind in ('retry', 'wait_timeout') then interval '0' else interval '1 day' end "
            "where tenant_id = 1",
            (self.unit_ids[path],),
        )
        assert self.side.engine.timers() >= 1

    def cancel(self) -> None:
        self.db.execute("select fn_run_cancel(1, %s, 'cli:test')", (self.run_id,))
        self.done.append(Action("cancel"))

    def dead(self) -> list[str]:
        """The dead calls of the failed root run."""
        run = self.runs[""]
        return [
            path
            for path, state in run.states.items()
            if state == "cannot_complete" and run.graph.by_id[_step_id(path)].kind == "operation"
        ]

    def replay(self) -> None:
        """Replays all dead steps, or one; sometimes one is cancelled before it is claimed."""
        path = self.random.choice(["", *self.dead()])
        call = "fn_job_retry" if path else "fn_run_retry"
        given = (self.unit_ids.get(path, self.run_id),)
        answer = self.side.engine.one(f"select {call}(1, %s, 'cli:test')", given)
        assert answer["state"] == "replayed", answer
        paths = [self.full_paths[unit_id] for unit_id in answer["unit_ids"]]
        # A map continues with the items that it has.
        paths = [one for one in paths if not any(other.startswith(f"{one}[") for other in self.unit_ids)]
        self.done += [Action("replay", path) for path in paths]
        self.read()
        ready = [path for path in paths if self.state_of(path) == "ready"]
        if ready and self.example.fate.cancels_replayed:
            self.abort(self.random.choice(ready))

    def abortable(self) -> str | None:
        """A step of the root run that a person could cancel now."""
        open_states = ("not_started", "ready", "in_progress", "waiting", "failed")
        kinds = ("operation", "wait", "human", "map", "subworkflow")
        run = self.runs[""]
        found = [
            path
            for path, state in run.states.items()
            if state in open_states and "]" not in path and run.graph.by_id[path].kind in kinds
        ]
        return self.random.choice(sorted(found)) if found else None

    def abort(self, path: str) -> None:
        self.db.execute("select fn_job_cancel(1, %s, 'cli:test')", (self.unit_ids[path],))
        self.leases.pop(path, None)
        self.done.append(Action("abort", path))


def _step_id(path: str) -> str:
    return path.rpartition("]")[2].removeprefix(".")
