"""Random cases for the oracle of document 002: a seed gives a tree, its template and a series of events."""

from __future__ import annotations

import random
from collections.abc import Iterator

from stepwell.define import Conditional, Operation, Parallel, Sequential, Step
from stepwell.reactive import CallEvent, CallEventType, Projection
from tests.model.oracle import ENDED, Asks, Call, If, Op, Oracle, Par, Seq, Tree

FORMS = ("id", "id", "status", "no_status", "output", "input", "either")
UNUSUAL = ("repeat", "late", "retry", "retry", "early", "owed", "forced", "abort", "all", "reopen")
WORDS = ("completed", "failed", "aborted", "skipped")


class Trees:
    """Draws trees of at most `size` nodes; a test reads only steps that come before it."""

    def __init__(self, random: random.Random, size: int) -> None:
        self.random = random
        self.size = size
        self.count = 0

    def tree(self) -> Tree:
        return self.part((), 0)[0]

    def name(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def part(self, readable: tuple[str, ...], depth: int) -> tuple[Tree, tuple[str, ...]]:
        kinds = ["op"] if depth > 3 or self.count + 2 > self.size else ["seq", "seq", "par", "if", "op"]
        if depth == 0:
            kinds = ["seq"]
        match self.random.choice(kinds):
            case "seq":
                made: tuple[str, ...] = ()
                parts = []
                for _ in range(self.random.randint(1 + (depth == 0), 4)):
                    part, names = self.part(readable + made, depth + 1)
                    parts.append(part)
                    made += names
                return Seq(tuple(parts)), made
            case "par":
                drawn = [self.part(readable, depth + 1) for _ in range(self.random.randint(1, 3))]
                limit = self.random.choice([None, None, 1, 2])
                made = tuple(name for _, names in drawn for name in names)
                return Par(tuple(one for one, _ in drawn), limit), made
            case "if":
                name, test = self.name("c"), self.test(readable)
                sides = self.random.choice(["then", "otherwise", "both"])
                then, first = self.part(readable, depth + 1) if sides != "otherwise" else (None, ())
                other, second = self.part(readable, depth + 1) if sides != "then" else (None, ())
                return If(name, test, then, other), first + second
        name = self.name("s")
        return Op(name, self.random.random() < 0.7), (name,)

    def test(self, readable: tuple[str, ...]) -> Asks:
        if not readable:
            return Asks("input")
        # The nearest steps are drawn often: a test about them can catch their failure.
        near = readable[-2:] if self.random.random() < 0.7 else readable
        step, other = self.random.choice(near), self.random.choice(readable)
        return Asks(self.random.choice(FORMS), step, other, self.random.choice(WORDS))


def template(tree: Tree) -> Step:
    match tree:
        case Op():
            return Operation(tree.name, mandatory=tree.mandatory)
        case Seq():
            return Sequential(*map(template, tree.parts))
        case Par():
            return Parallel(*map(template, tree.parts), max_concurrency=tree.limit)
        case If():
            then = None if tree.then is None else template(tree.then)
            other = None if tree.otherwise is None else template(tree.otherwise)
            return Conditional(tree.test.text, then=then, otherwise=other, id=tree.name)


def as_event(call: Call) -> CallEvent:
    if call.type == "reopened":
        return CallEvent(CallEventType.REOPENED, call.request, call.node)
    return CallEvent(f"call.{call.type}", call.request, call.node, output={"ok": call.ok})  # type: ignore[arg-type]


class Calls:
    """Draws the next event from what the projection says, and sometimes one that a careless caller sends."""

    def __init__(self, random: random.Random, oracle: Oracle, projection: Projection) -> None:
        self.random = random
        self.oracle = oracle
        self.projection = projection
        self.attempts: dict[str, int] = {}
        self.owed: list[Call] = []

    def request(self, node: str, type: str = "requested") -> Call:
        self.attempts[node] = self.attempts.get(node, 0) + 1
        return Call(type, f"{node}#{self.attempts[node]}", node, self.random.random() < 0.5)

    def answer(self, node: str) -> Call:
        type = self.random.choice(["responded", "responded", "completed", "error", "error", "aborted"])
        request = self.oracle.call(node)[0]
        return Call(type, str(request), node, self.random.random() < 0.5)

    def operations(self, *words: str) -> list[str]:
        nodes = self.oracle.nodes
        return [name for name, word in self.oracle.words.items() if not nodes[name].test and word in words]

    def all(self, count: int) -> Iterator[Call]:
        for _ in range(count):
            call = self.usual() if self.random.random() < 0.8 else self.unusual()
            if call is not None:
                yield call
                if call.type == "abort_all":
                    return
            elif self.oracle.run_word != "running":
                return

    def usual(self) -> Call | None:
        ready = list(self.projection.ready)
        running = self.operations("running")
        choices = [*(("request", name) for name in ready), *(("answer", name) for name in running)]
        if not choices:
            return None
        kind, name = self.random.choice(choices)
        return self.request(name) if kind == "request" else self.answer(name)

    def unusual(self) -> Call | None:
        """Repeated, late, early and forced events, retries and aborts."""
        log = [event for event in self.oracle.log if event.type != "reopened"]
        kind = self.random.choice(UNUSUAL)
        called = (n for n in self.operations(*ENDED) if self.oracle.call(n)[0] is not None)
        ended = [n for n in called if self.is_open(n)]
        open_ = self.operations("idle", "waiting", "running", "ready", "startable")
        match kind:
            case "repeat" if log:
                return self.random.choice(log)
            case "late" if log:
                old = self.random.choice(log)
                return Call(self.random.choice(["responded", "error", "aborted"]), old.request, old.node)
            case "retry" if ended:
                return self.request(self.random.choice(ended))
            case "reopen" if ended:
                node = self.random.choice(ended)
                return Call("reopened", f"{node}:{len(self.oracle.log)}", node)
            case "early" if ended or self.projection.ready:
                node = self.random.choice([*ended, *self.projection.ready])
                call = self.request(node, self.random.choice(["responded", "error"]))
                self.owed.append(Call("requested", call.request, node))
                return call
            case "owed" if self.owed:
                return self.owed.pop()
            case "forced":
                outside = [n for n in self.operations("idle", "waiting", "aborted") if self.is_outside(n)]
                return self.request(self.random.choice(outside)) if outside else None
            case "abort" if open_:
                node = self.random.choice(open_)
                request = self.oracle.call(node)[0] or f"abort:{node}"
                return Call("aborted", request, node)
            case "all" if self.random.random() < 0.1:
                return Call("abort_all")
        return None

    def is_open(self, name: str) -> bool:
        """True if the branches around a node are taken: no coordinator calls a node of another branch."""
        decided = self.oracle.decided
        return all(decided.get(one) is result for one, result in self.oracle.nodes[name].branches)

    def is_outside(self, name: str) -> bool:
        node = self.oracle.nodes[name]
        return not node.branches and node.group is None


def give(projection: Projection, call: Call) -> None:
    if call.type == "abort_all":
        projection.abort_all()
    else:
        projection.append(as_event(call))
