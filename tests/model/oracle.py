"""Document 002 as a slow oracle: receives a tree and call events, returns the words of all nodes and the run.

It shares nothing with the engines. It makes its own graph from its own tree, and after each event it derives
every word again from the whole log, sentence by sentence. The only memory that the document asks for is kept:
what a Conditional has decided (a decision is made once), and what was waiting (there is no way back to idle).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

BROKEN = ("failed", "aborted")
SATISFYING = ("completed", "skipped")
STARTED = ("running", "completed", "failed")
ENDED = (*BROKEN, *SATISFYING)
# What an unstarted node of a group with a limit may be, if only a slot is missing.
STARTABLE = "startable"


@dataclass(frozen=True)
class Asks:
    """A test of a Conditional. `about`: the steps whose status it reads, or whose bare id it is."""

    form: str  # id, status, no_status, output, input, either
    step: str = ""
    other: str = ""
    word: str = "failed"

    @property
    def text(self) -> str:
        status = f'$.steps.{self.step}.status == "{self.word}"'
        return {
            "id": self.step,
            "status": status,
            "no_status": f"!({status})",
            "output": f"$.steps.{self.step}.output.ok == true",
            "input": "$.input.flag == true",
            "either": f"{status} || $.steps.{self.other}.output.ok == true",
        }[self.form]

    @property
    def about(self) -> frozenset[str]:
        return frozenset({self.step} if self.form in ("id", "status", "no_status", "either") else ())

    def holds(self, words: Mapping[str, str], outputs: Mapping[str, Any], flag: bool) -> bool:
        word = words.get(self.step)
        match self.form:
            case "id":
                return word == "completed"
            case "status":
                return word == self.word
            case "no_status":
                return word != self.word
            case "output":
                return outputs.get(self.step) is True
            case "either":
                return word == self.word or outputs.get(self.other) is True
            case _:
                return flag


@dataclass(frozen=True)
class Op:
    name: str
    mandatory: bool = True


@dataclass(frozen=True)
class Seq:
    parts: tuple[Any, ...]


@dataclass(frozen=True)
class Par:
    parts: tuple[Any, ...]
    limit: int | None = None


@dataclass(frozen=True)
class If:
    name: str
    test: Asks
    then: Any = None
    otherwise: Any = None


Tree = Op | Seq | Par | If


@dataclass(frozen=True)
class Call:
    """One event of the call protocol. `ok` is the output of a response."""

    type: str  # requested, responded, completed, error, aborted; or reopened, abort_all
    request: str = ""
    node: str = ""
    ok: bool = False


@dataclass
class Node:
    name: str
    mandatory: bool
    test: Asks | None
    group: int | None
    # The Conditionals around it, the outermost first, each with the result that opens its branch.
    branches: tuple[tuple[str, bool], ...]
    before: list[str] = field(default_factory=list)


class Oracle:
    def __init__(self, tree: Tree, policy: str = "continue-running", flag: bool = False) -> None:
        self.policy = policy
        self.flag = flag
        self.nodes: dict[str, Node] = {}
        self.limits: list[int] = []
        self._flatten(tree, (), None)
        self.log: list[Call] = []
        self.decided: dict[str, bool] = {}
        self.caught: set[str] = set()
        # Requests of running nodes that the policy abort-dependents has aborted.
        self.killed: set[str] = set()
        self.is_cancelled = False
        self.words: dict[str, str] = dict.fromkeys(self.nodes, "idle")
        self._derive()

    # "In the flattened DAG all nodes represent operations; structural containers create no nodes." A
    # Conditional is a node here (docs/reactive.md).

    def _flatten(
        self, tree: Tree, branches: tuple[tuple[str, bool], ...], group: int | None
    ) -> tuple[list[str], list[str]]:
        """Adds the nodes of a tree; returns its first and its last nodes."""
        match tree:
            case Op():
                self.nodes[tree.name] = Node(tree.name, tree.mandatory, None, group, branches)
                return [tree.name], [tree.name]
            case Seq():
                first: list[str] = []
                last: list[str] = []
                for part in tree.parts:
                    entries, exits = self._flatten(part, branches, group)
                    self._join(last, entries)
                    first, last = first or entries, exits
                return first, last
            case Par():
                if tree.limit is not None:
                    self.limits.append(tree.limit)
                    group = len(self.limits) - 1
                ends = [self._flatten(part, branches, group) for part in tree.parts]
                return [n for entries, _ in ends for n in entries], [n for _, exits in ends for n in exits]
        self.nodes[tree.name] = Node(tree.name, True, tree.test, None, branches)
        last = []
        for result, part in ((True, tree.then), (False, tree.otherwise)):
            if part is None:
                last.append(tree.name)
            else:
                entries, exits = self._flatten(part, (*branches, (tree.name, result)), group)
                self._join([tree.name], entries)
                last += exits
        return [tree.name], last

    def _join(self, last: list[str], entries: list[str]) -> None:
        for name in entries:
            self.nodes[name].before += last

    # The log.

    def append(self, event: Call) -> None:
        """ "Processing the same event twice produces the same projected state"."""
        if event.type == "abort_all":
            self.is_cancelled = self.run_word == "running"
            # "All non-terminal nodes become aborted."
            self.words = {name: word if word in ENDED else "aborted" for name, word in self.words.items()}
            return
        if event.type == "reopened":
            if self.words[event.node] not in ENDED:
                return
            # It begins again, and so does what waited for it.
            after = [name for name, node in self.nodes.items() if event.node in node.before]
            self.words |= {name: "idle" for name in after if self.words[name] == "waiting"}
        is_new = all(event.request != one.request for one in self.log)
        if (
            is_new
            and event.type not in ("requested", "reopened")
            and any(event.node == one.node for one in self.log)
        ):
            # The answer to a new attempt that comes before its request begins this attempt.
            self.append(Call("requested", event.request, event.node))
        self.log.append(event)
        if is_new:
            self.caught.discard(event.node)
        if not self.is_cancelled:
            self._derive()

    def call(self, name: str) -> tuple[str | None, str | None, bool]:
        """Request id, status and output of the latest attempt: "a retry is a new request id", "most
        recent event per node". The first final event of an attempt counts."""
        mine: list[Call] = []
        old: dict[str, set[str]] = {}
        for event in self.log:
            if event.node != name:
                continue
            is_abort = event.type == "aborted" and not mine and "aborted" not in old.get(event.request, ())
            if event.type == "reopened":
                # It may be called again: what it had is history, and until the next request it has no call.
                for one in mine:
                    old.setdefault(one.request, set()).add(one.type)
                mine = []
            elif event.request not in old or is_abort:
                mine.append(event)
        if not mine:
            return None, None, False
        attempts = list(dict.fromkeys(event.request for event in mine))
        latest = [event for event in mine if event.request == attempts[-1]]
        words = {"responded": "completed", "completed": "completed", "error": "failed", "aborted": "aborted"}
        for event in latest:
            if event.type in words:
                return attempts[-1], words[event.type], event.ok
        return attempts[-1], "running", False

    # The words.

    def _derive(self) -> None:
        earlier = self.words
        while True:
            words: dict[str, str] = {}
            for name in self.nodes:  # every node comes after its predecessors
                words[name] = self._word(self.nodes[name], words, earlier)
            open_ = [node for node in self.nodes.values() if self._can_decide(node, words)]
            if not open_:
                break
            self._decide(open_[0], words)
        self.words = words
        self.caught = {name for name in self.caught if words[name] in BROKEN}

    def _word(self, node: Node, words: Mapping[str, str], earlier: Mapping[str, str]) -> str:
        request, status, _ = self.call(node.name)
        is_blocked = self._is_blocked(node, words)
        if status == "running" and self.policy == "abort-dependents" and is_blocked:
            # "Running dependents of the failed node also abort."
            self.killed.add(str(request))
        if request is not None and request not in self.killed:
            return str(status)
        if node.name in self.decided:
            return "completed"
        if is_blocked:
            return "aborted"  # "blockedByFailure"
        for conditional, result in node.branches:
            if conditional in self.decided and self.decided[conditional] is not result:
                return "skipped"  # "Conditional branch not taken"
            if words[conditional] in BROKEN:
                return "aborted"
        if node.test is None and all(words[name] in SATISFYING for name in node.before):
            return STARTABLE if node.group is not None else "ready"
        begun = any(
            words[name] in STARTED or (words[name] == "aborted" and self._ran(name)) for name in node.before
        )
        # A Conditional whose predecessors have ended waits for what is open before an aborted one.
        is_held = bool(node.before) and all(words[name] in ENDED for name in node.before)
        return "waiting" if begun or is_held or earlier[node.name] == "waiting" else "idle"

    def _ran(self, name: str) -> bool:
        return any(event.node == name and event.type == "requested" for event in self.log)

    def _is_blocked(self, node: Node, words: Mapping[str, str]) -> bool:
        caught = node.test.about if node.test else frozenset()
        return any(words[name] in BROKEN and name not in caught for name in node.before)

    def behind(self, node: Node, words: Mapping[str, str]) -> Iterator[str]:
        """The predecessors, and what is before those of them that were aborted."""
        pending, seen = list(node.before), set()
        while pending:
            name = pending.pop()
            if name not in seen:
                seen.add(name)
                yield name
                if words[name] == "aborted":
                    pending += self.nodes[name].before

    def _can_decide(self, node: Node, words: Mapping[str, str]) -> bool:
        return (
            node.test is not None
            and words[node.name] in ("idle", "waiting")
            and not any(conditional not in self.decided for conditional, _ in node.branches)
            and all(words[name] in ENDED for name in self.behind(node, words))
        )

    def _decide(self, node: Node, words: Mapping[str, str]) -> None:
        outputs = {name: self.call(name)[2] for name, word in words.items() if word == "completed"}
        assert node.test is not None
        self.decided[node.name] = node.test.holds(words, outputs, self.flag)
        if any(words[name] in BROKEN for name in node.before):
            self.caught |= {name for name in self.behind(node, words) if words[name] in BROKEN}

    @property
    def run_word(self) -> str:
        """000 §4.4: completed when all mandatory steps are; what a Conditional caught is contained."""
        if self.is_cancelled:
            return "cancelled"
        if any(word not in ENDED for word in self.words.values()):
            return "running"
        lost = [
            name
            for name, node in self.nodes.items()
            if node.mandatory and self.words[name] in BROKEN and name not in self.caught
        ]
        return "failed" if lost else "completed"

    def differences(self, found: Mapping[str, str], run_word: str) -> dict[str, tuple[str, str]]:
        """Node → (word of the oracle, found word). The document does not say who of a limited group is ready,
        but how many: not more than the limit, and no slot stays free while a node could use it."""
        wrong = {
            name: (word, found[name])
            for name, word in self.words.items()
            if found[name] != word and not (word == STARTABLE and found[name] in ("ready", "waiting"))
        }
        for number, limit in enumerate(self.limits):
            group = [name for name, node in self.nodes.items() if node.group == number]
            held = sum(found[name] in ("ready", "running") for name in group)
            starved = [name for name in group if self.words[name] == STARTABLE and found[name] == "waiting"]
            ready = [name for name in group if found[name] == "ready"]
            if len(ready) > limit:
                wrong[ready[-1]] = ("waiting", "ready")
            if starved and held < limit:
                wrong[starved[0]] = ("ready", "waiting")
        if self.run_word != run_word:
            wrong["run"] = (self.run_word, run_word)
        return wrong
