"""Read a workflow from YAML: receives text, returns the same Workflow as in Python.

Every problem has file, line and column, also the problems of the whole graph.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from stepwell.define.check import check_graph
from stepwell.define.flatten import flatten
from stepwell.define.limits import MAX_PROBLEMS
from stepwell.define.problem import DefinitionError, Problem, did_you_mean, nearest, quoted
from stepwell.define.template import Operation, Parallel, Retry, Sequential, Step, Workflow
from stepwell.define.yaml_located import Located, Mark, Unreadable, compose_all, problem_at
from stepwell.define.yaml_repair import StandIns
from stepwell.define.yaml_words import FORMER_WORDS, RETRY_WORDS, STEP_WORDS, WORKFLOW_WORDS

__all__ = ["read_yaml"]


def read_yaml(
    text: str | bytes,
    *,
    file: str = "<yaml>",
    operations: Collection[str] | None = None,
    workflows: Mapping[str, Collection[str]] | None = None,
) -> Workflow:
    """The workflow of a YAML text, checked as by `freeze`. `file` is only a name for messages.

    Raises one DefinitionError with every problem of syntax, fields, references and expressions.
    """
    document, problems = compose_all(text, file)
    if document is None:
        raise DefinitionError(problems)
    reader = _Reader()
    workflow = reader.workflow(document)
    problems += reader.problems
    if workflow is not None:
        problems += reader.judged(workflow, document, operations, workflows)
    if problems or workflow is None:
        problems.sort(key=lambda problem: (problem.line or 0, problem.column or 0))
        raise DefinitionError(list(dict.fromkeys(problems))[:MAX_PROBLEMS])
    return workflow


class _Reader:
    """Builds the template from the inside out and remembers the place of each step in the file.

    A wrong part becomes a problem and is replaced by a stand-in, so that the rest of the file is checked too.
    """

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.stand_ins = StandIns()
        self._written: dict[int, tuple[object, Located]] = {}

    def judged(
        self,
        workflow: Workflow,
        document: Located,
        operations: Collection[str] | None,
        workflows: Mapping[str, Collection[str]] | None,
    ) -> list[Problem]:
        """The problems of the whole graph, with their places in the file."""
        unread = self.stand_ins.names
        try:
            flat = flatten(workflow)
        except DefinitionError as error:
            return [self.placed(problem, document) for problem in error.problems]
        known = None if operations is None else {*operations, *unread}
        found = [
            *flat.problems,
            *check_graph(
                flat.graph, operations=known, workflows=workflows, sources=flat.sources, unread=unread
            ),
        ]
        return [self.placed(problem, document) for problem in found]

    def workflow(self, located: Located) -> Workflow | None:
        if not isinstance(located.value, dict):
            self.refuse_kind(located, WORKFLOW_WORDS)
            return None
        located, pairs = self.mapping(located, WORKFLOW_WORDS, required=("workflow", "steps"))
        words = ("title", "failure_policy", "workflow_class", "input")
        given = {key: self.field(key, key, located) for key in words if key in pairs}
        fields: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
        if "workflow" in pairs:
            name = pairs["workflow"].plain()
            # A key without a value is refused like an empty text.
            fields["name"] = "" if name is None else name
        else:
            fields["name"] = self.stand_ins.name()
        fields["root"] = self.block(pairs["steps"]) if "steps" in pairs else self.stand_ins.step()
        made: Workflow = self.build(Workflow, located, **fields)
        return made

    def block(self, located: Located) -> Step:
        """The value of steps, then, else or do: a list is a Sequential, any other value is one step."""
        if not isinstance(located.value, list):
            return self.step(located)
        made: Step = self.build_container(Sequential, located, self.steps(located))
        return made

    def steps(self, located: Located) -> list[Step]:
        if not isinstance(located.value, list) or not located.value:
            if not isinstance(located.value, Unreadable):
                shown = "an empty list" if isinstance(located.value, list) else located.kind()
                self.refuse(located.mark, f"{shown} is not accepted; accepted: a list of at least one step")
            return [self.stand_ins.step(located)]
        return [self.step(item) for item in located.value]

    def step(self, located: Located) -> Step:
        if isinstance(located.value, str):
            found: Step = self.build(Operation, located, name=located.value)
            return found
        if not isinstance(located.value, dict):
            if not isinstance(located.value, Unreadable):
                self.refuse(
                    located.mark,
                    f"{located.kind()} is not a step; accepted: the name of an operation, or a mapping",
                )
            return self.stand_ins.step(located)
        located, head = self.headed(located)
        if head is None:
            return self.stand_ins.step(located)
        step_class, words = STEP_WORDS[head]
        located, pairs = self.mapping(located, tuple(words))
        given = {words[key]: self.field(words[key], key, located) for key in pairs}
        fields = {name: value for name, value in given.items() if value is not None}
        if head == "map" and "do" not in pairs:
            self.refuse(located.mark, 'a map needs the key "do": the step or list of steps for each item')
            fields["body"] = self.stand_ins.step()
        if step_class in (Sequential, Parallel):
            steps = fields.pop("steps", None) or [self.stand_ins.step()]
            built: Step = self.build_container(step_class, located, steps, **fields)
        else:
            built = self.build(step_class, located, **fields)
        return built

    def headed(self, located: Located) -> tuple[Located, str | None]:
        """The key that gives the kind of a step. A misspelt key is a problem; the similar key is used."""
        pairs = located.value if isinstance(located.value, dict) else {}
        heads = [key for key in pairs if key in STEP_WORDS]
        if len(heads) == 1:
            return located, heads[0]
        accepted = ", ".join(STEP_WORDS)
        if heads:
            self.refuse(
                located.mark, f"a step has one kind, not {' and '.join(heads)}; accepted: one of {accepted}"
            )
            kept = {key: value for key, value in pairs.items() if key not in heads[1:]}
            return Located(located.mark, kept), heads[0]
        meant = [(key, word) for key in pairs if (word := nearest(key, STEP_WORDS))]
        shown = f" in {', '.join(quoted(key) for key in list(pairs)[:5])}" if pairs else ""
        hint = did_you_mean(meant[0][0], STEP_WORDS) if meant else ""
        self.refuse(located.mark, f"no kind of step{shown}{hint}; accepted: one of the keys {accepted}")
        if not meant:
            return located, None
        key, word = meant[0]
        kept = {word if name == key else name: value for name, value in pairs.items()}
        return Located(located.mark, kept), word

    def field(self, name: str, key: str, around: Located) -> Any:
        """The value of a field. Scalars are not changed: the template checks them."""
        assert isinstance(around.value, dict)
        mark, located = around.value[key]
        if isinstance(located.value, Unreadable):
            return None
        if located.value is None:
            self.refuse(mark, "is empty; write a value or leave the key out", field=key)
            return None
        match name:
            case "steps":
                return self.steps(located)
            case "then" | "otherwise" | "body":
                return self.block(located)
            case "test" | "over" if isinstance(located.value, dict):
                return self.source(located)
            case "retry":
                return self.retry(located)
            case _:
                return located.plain()

    def source(self, located: Located) -> Step | str:
        step = self.step(located)
        if isinstance(step, Operation):
            return step
        self.refuse(
            located.mark, "is not an operation; accepted: an expression, a step id, or operation: <name>"
        )
        return "$.input"

    def retry(self, located: Located) -> Retry | None:
        if not isinstance(located.value, dict):
            self.refuse_kind(located, RETRY_WORDS)
            return None
        located, pairs = self.mapping(located, RETRY_WORDS)
        fields = {key: value.plain() for key, value in pairs.items()}
        for name in ("non_retryable", "delays"):
            if isinstance(fields.get(name), list):
                fields[name] = tuple(fields[name])
        found: Retry = self.build(Retry, located, within="retry", **fields)
        return found

    def mapping(
        self, located: Located, known: tuple[str, ...], required: tuple[str, ...] = ()
    ) -> tuple[Located, dict[str, Located]]:
        """The pairs with known keys. A misspelt key is a problem; it is read as the similar key."""
        pairs = located.value if isinstance(located.value, dict) else {}
        found: dict[str, tuple[Mark, Located]] = {}
        for key, (mark, value) in pairs.items():
            if key in known:
                found[key] = (mark, value)
                continue
            hint = _former(key, known) or did_you_mean(key, known)
            self.refuse(mark, f"the key {quoted(key)} is not known{hint}; accepted: {', '.join(known)}")
            meant = nearest(key, known)
            if meant is not None and meant not in pairs:
                found[meant] = (mark, value)
        for key in required:
            if key not in found:
                self.refuse(located.mark, f"the key {quoted(key)} is missing")
        return Located(located.mark, found), {key: value for key, (_, value) in found.items()}

    def refuse_kind(self, located: Located, known: tuple[str, ...]) -> None:
        if not isinstance(located.value, Unreadable):
            self.refuse(
                located.mark,
                f"{located.kind()} is not accepted; accepted: a mapping with the keys {', '.join(known)}",
            )

    def build(self, made: Any, located: Located, *, within: str = "", **fields: Any) -> Any:
        """The template object. Each field that it refuses becomes a problem and is left out."""
        refused: set[str | None] = set()
        fields = self.stand_ins.complete(made, fields)
        while True:
            try:
                found = made(**fields)
            except DefinitionError as error:
                self.tell(error, located, within)
                field = error.problems[0].field
                if field in refused or not self.stand_ins.repair(made, field, fields):
                    return None if made is Retry else self.stand_ins.step(located)
                refused.add(field)
            else:
                self._written[id(found)] = (found, located)
                return found

    def build_container(self, made: Any, located: Located, steps: list[Step], **fields: Any) -> Any:
        try:
            found = made(*steps, **fields)
        except DefinitionError as error:
            self.tell(error, located, "")
            found = Sequential(*steps)
        self._written[id(found)] = (found, located)
        return found

    def tell(self, error: DefinitionError, located: Located, within: str) -> None:
        for problem in error.problems:
            field = (problem.field or "").removeprefix(f"{within}.") if within else problem.field
            self.problems.append(self.at(problem, _place(located, field)))

    def refuse(self, mark: Mark, message: str, *, field: str | None = None) -> None:
        self.problems.append(problem_at(mark, message, field=field))

    def placed(self, problem: Problem, document: Located) -> Problem:
        """The problem with its place in the file: of the field, or of the step."""
        _, located = self._written.get(id(problem.source), (None, document))
        return self.at(problem, _place(located, problem.field))

    def at(self, problem: Problem, mark: Mark) -> Problem:
        """The problem with its place; without the step id if that is only the name of a stand-in."""
        step_id = None if problem.step_id in self.stand_ins.names else problem.step_id
        return replace(problem, step_id=step_id, file=mark.file, line=mark.line, column=mark.column)


def _former(key: str, known: tuple[str, ...]) -> str:
    """What to write instead of a key of an earlier release; empty for other keys."""
    word, written = FORMER_WORDS.get(key, (None, None))
    return f" (write {quoted(written)})" if word in known else ""


_FIELD_PART = re.compile(r"[^.\[\]]+")
_FIELD_WORDS = {"test": "if", "over": "map", "otherwise": "else", "body": "do"}


def _place(located: Located, field: str | None) -> Mark:
    """The place of a field such as `inputs.items` or `tasks[1].id`, or of the nearest part around it."""
    at = located
    for part in _FIELD_PART.findall(field or ""):
        name = _FIELD_WORDS.get(part, part)
        if isinstance(at.value, list) and part.isdigit() and int(part) < len(at.value):
            at = at.value[int(part)]
        elif isinstance(at.value, dict) and name in at.value:
            at = at.value[name][1]
        else:
            break
    return at.mark
