"""The call graph of the SQL routines: which function or view uses which, and in which room each is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from tests.tidy import sql_source
from tests.tidy.sources import files, read

FOLDER = Path("src/stepwell/sql/routines")
# Calls the routine that its first argument names.
CALLS_BY_NAME = "_units_isolate"


@dataclass(frozen=True)
class Graph:
    """`homes` maps a name to its file below the routines; `calls` maps a name to the names it uses."""

    homes: dict[str, str]
    calls: dict[str, frozenset[str]]

    def room(self, name: str) -> str:
        return PurePosixPath(self.homes[name]).parts[0]

    def callers(self, name: str) -> set[str]:
        return {caller for caller, called in self.calls.items() if name in called}

    def room_calls(self) -> dict[tuple[str, str], set[str]]:
        """(room, room it calls) → the calls, as `caller → called`."""
        found: dict[tuple[str, str], set[str]] = {}
        for caller, called in self.calls.items():
            for name in called:
                if self.room(caller) != self.room(name):
                    found.setdefault((self.room(caller), self.room(name)), set()).add(f"{caller} → {name}")
        return found

    def recursions(self) -> list[frozenset[str]]:
        """Groups of two or more names that call each other, directly or not."""
        return cycles({name: set(called) for name, called in self.calls.items()})


@cache
def graph() -> Graph:
    found: dict[str, sql_source.Definition] = {}
    homes: dict[str, str] = {}
    for path in files(".sql", under=str(FOLDER)):
        for definition in sql_source.definitions(read(path)):
            if definition.kind != "trigger":
                found[definition.name] = definition
                homes[definition.name] = path.relative_to(FOLDER).as_posix()
    return Graph(homes, {name: _used(definition, found) for name, definition in found.items()})


def _used(definition: sql_source.Definition, known: dict[str, sql_source.Definition]) -> frozenset[str]:
    """The functions that a definition calls and the views that it reads."""
    texts = [token.text for token in definition.code]
    used = set()
    for at in range(2, len(texts) - 1):
        if texts[at - 2 : at] == [CALLS_BY_NAME, "("] and texts[at].strip("'") in known:
            used.add(texts[at].strip("'"))
        name = texts[at]
        if name not in known or name == definition.name:
            continue
        is_ours = texts[at - 2 : at] == ["stepwell", "."]
        # Built-in functions are called without a schema, and one of them is also called now().
        is_call = texts[at + 1] == "(" and texts[at - 1] != "." and name != "now"
        if is_ours or (is_call and known[name].kind == "function"):
            used.add(name)
    return frozenset(used)


def cycles(edges: dict[str, set[str]]) -> list[frozenset[str]]:
    """The groups of two or more nodes that reach each other."""
    reached = {node: _reached(edges, node) for node in edges}
    groups = {
        frozenset({other for other in reached[node] if node in reached.get(other, ())})
        for node in edges
        if node in reached[node]
    }
    return sorted((group for group in groups if len(group) > 1), key=sorted)


def _reached(edges: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    open_nodes = [start]
    while open_nodes:
        for node in edges.get(open_nodes.pop(), set()) - found:
            found.add(node)
            open_nodes.append(node)
    return found
