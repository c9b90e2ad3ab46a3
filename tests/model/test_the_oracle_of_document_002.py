"""Random trees and call events: both engines say what the oracle of document 002 says, after every event.

`make test` tries a fixed sample; `make chaos` tries STEPWELL_EXAMPLES times as many, other ones each time.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from stepwell.define import Graph, Workflow, freeze
from stepwell.outcome import Completed, Dead
from stepwell.reactive import CallEventType, Projection, call_events, rules
from tests.model.compare import RUN_WORDS
from tests.model.oracle import Asks, Call, If, Op, Oracle, Par, Seq, Tree
from tests.model.oracle_cases import Calls, Trees, give, template
from tests.model.postgres_side import PostgresSide
from tests.strategies.outcomes import Example, Fate
from tests.support.sample import WANTED

POLICIES = ("continue-running", "abort-dependents")
FIRST = random.SystemRandom().randrange(2**32) if WANTED else 0
EVENT_CASES = range(FIRST, FIRST + (WANTED * 20 or 600))
STORED_CASES = range(FIRST, FIRST + (WANTED or 40))


class Case:
    """Everything that follows from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.tree = Trees(self.random, self.random.choice([3, 5, 8, 12, 20])).tree()
        self.policy = self.random.choice(POLICIES)
        self.input = {"flag": self.random.random() < 0.5}

    @property
    def graph(self) -> Graph:
        return freeze(Workflow("drawn", template(self.tree), failure_policy=self.policy))  # type: ignore[arg-type]

    def oracle(self) -> Oracle:
        return Oracle(self.tree, self.policy, self.input["flag"])


def wrong_words(oracle: Oracle, projection: Projection) -> dict[str, tuple[str, str]]:
    found = {path: str(status) for path, status in projection.statuses().items()}
    return oracle.differences(found, str(projection.run_status))


def first_difference(seed: int) -> dict[str, Any]:
    """What differs after the first event after which something differs; nothing if the whole log agrees."""
    case = Case(seed)
    oracle, projection = case.oracle(), Projection(case.graph, input=case.input)
    for count, call in enumerate(Calls(case.random, oracle, projection).all(40)):
        oracle.append(call)
        give(projection, call)
        if wrong := wrong_words(oracle, projection):
            return {"seed": seed, "after": count, "event": call, "wrong": wrong}
    rebuilt = projection.at(len(projection.log))
    return {"seed": seed, "rebuilt": wrong} if (wrong := wrong_words(oracle, rebuilt)) else {}


@pytest.mark.requirement("RX-03", "RX-04", "RX-05", "RX-06", "RX-07", "RX-08", "RX-13")
def test_any_call_events_give_the_words_of_the_document():
    assert [wrong for seed in EVENT_CASES if (wrong := first_difference(seed))] == []


FAULTS: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "a conditional catches everything": (rules, "catches", lambda node, broken: node.kind == "conditional"),
    "nothing is caught": (rules, "caught_by", lambda graph, conditional: iter(())),
    "a conditional waits for nothing behind": (rules, "must_wait", lambda graph, conditional: False),
    "a branch not taken is aborted": (Projection, "_skip", lambda self, unit: self._abort(unit)),
    "a limit holds nobody": (Projection, "_line_up", lambda self, unit: self._go(unit)),
    "a reopened node stays as it was": (Projection, "_reopened", lambda self, unit: None),
    "a new attempt opens nothing again": (Projection, "_reopen", lambda self, unit: None),
}


@pytest.mark.requirement("RX-13")
@pytest.mark.parametrize("fault", FAULTS)
def test_the_oracle_finds_a_planted_fault(monkeypatch: pytest.MonkeyPatch, fault: str):
    monkeypatch.setattr(*FAULTS[fault])
    assert any(first_difference(seed) for seed in range(600))


def stored_differences(side: PostgresSide, seed: int) -> dict[str, Any]:
    """Drives a stored run, and compares its words with those of the oracle after each action."""
    case = Case(seed)
    oracle = case.oracle()
    endings = (Completed({"ok": True}), Completed({"ok": False}), Dead("no"))
    outcomes = {name: [case.random.choice(endings), case.random.choice(endings)] for name in oracle.nodes}
    fate = Fate(
        case.input,
        outcomes,
        {},
        seed,
        abort_after=case.random.choice([None, None, 1, 3]),
        replays=case.random.choice([0, 1, 2]),
        cancels_replayed=case.random.random() < 0.5,
    )
    driven = side.drive(side.named(Example(case.graph, fate)))
    stored = driven.runs[""]
    rows = side.log(stored.run_id)
    for count, look in enumerate(driven.looks):
        while rows and rows[0][0] <= look.event_id:
            for event in call_events(stored.graph, stored.paths, [rows.pop(0)[1]]):
                if not event.will_retry:
                    ok = isinstance(event.output, dict) and event.output["ok"]
                    type = event.type.rpartition(".")[2]
                    oracle.append(Call(type, event.request_id, str(event.node), ok))
        if wrong := oracle.differences(look.nodes, oracle.run_word):
            return {"seed": seed, "after": count, "actions": driven.actions, "wrong": wrong}
    end = oracle.differences(stored.nodes, RUN_WORDS[stored.state])
    return {"seed": seed, "at the end": end} if end else {}


@pytest.mark.requirement("RX-03", "RX-05", "RX-06", "RX-13", "SM-15")
@pytest.mark.timeout(3600)
def test_stored_runs_have_the_words_of_the_document(side: PostgresSide):
    assert [wrong for seed in STORED_CASES if (wrong := stored_differences(side, seed))] == []
    assert side.broken_invariants() == []


# Sentences of the document about one tree, each with the words that it gives.
A, B, C, X = Op("a"), Op("b"), Op("c"), Op("x")
REQUESTED, ANSWERED, FAILED = "requested", "responded", "error"
SENTENCES: dict[str, tuple[Tree, str, list[tuple[str, str]], dict[str, str]]] = {
    "B's preconditions: A is completed": (Seq((A, B, C)), "", [(ANSWERED, "a")], {"b": "ready", "c": "idle"}),
    "at least one predecessor is running": (Seq((A, B)), "", [(REQUESTED, "a")], {"b": "waiting"}),
    "a failed predecessor prevents the dependent": (
        Seq((A, Par((B, C)), X)),
        "",
        [(ANSWERED, "a"), (ANSWERED, "b"), (FAILED, "c")],
        {"b": "completed", "c": "failed", "x": "aborted"},
    ),
    "siblings are independent and continue": (
        Par((Seq((A, B)), C)),
        "",
        [(REQUESTED, "c"), (FAILED, "a")],
        {"b": "aborted", "c": "running"},
    ),
    "running nodes continue": (Seq((A, B)), "", [(REQUESTED, "b"), (FAILED, "a")], {"b": "running"}),
    "running dependents also abort": (
        Seq((A, B)),
        "abort-dependents",
        [(REQUESTED, "b"), (FAILED, "a")],
        {"b": "aborted"},
    ),
    "then is skipped, else becomes ready, downstream sees it as completed": (
        Seq((A, If("i", Asks("no_status", "a"), Seq((B, C)), X), Op("z"))),
        "",
        [(FAILED, "a"), (ANSWERED, "x")],
        {"i": "completed", "b": "skipped", "c": "skipped", "x": "completed", "z": "ready"},
    ),
    "ready needs a slot": (Par((A, B, C), 2), "", [(REQUESTED, "a"), (REQUESTED, "b")], {"c": "waiting"}),
    "a slot opens and the next one starts": (
        Par((A, B, C), 2),
        "",
        [(REQUESTED, "a"), (REQUESTED, "b"), (ANSWERED, "a")],
        {"c": "ready"},
    ),
}


@pytest.mark.requirement("RX-03", "RX-04", "RX-05", "RX-06", "RX-08")
@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_of_the_document(sentence: str):
    tree, policy, calls, words = SENTENCES[sentence]
    projection = Projection(freeze(Workflow("w", template(tree), failure_policy=policy or POLICIES[0])))  # type: ignore[arg-type]
    oracle = Oracle(tree, policy or POLICIES[0])
    for type, node in calls:
        for call in (Call(REQUESTED, f"{node}#1", node), Call(type, f"{node}#1", node)):
            oracle.append(call)
            give(projection, call)
    assert {node: str(projection.get_status(node)) for node in words} == words
    assert wrong_words(oracle, projection) == {}
    assert {event.type for event in projection.log} <= set(CallEventType)
