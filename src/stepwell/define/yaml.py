"""Read a workflow from YAML: receives text, hands on the same Workflow a Python author would write.

Every problem carries file, line and column, those found by the checks of the whole graph too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from stepwell.define.check import check_graph
from stepwell.define.flatten import flatten
from stepwell.define.limits import MAX_PROBLEMS
from stepwell.define.problem import DefinitionError, Problem, did_you_mean, quoted
from stepwell.define.template import Operation, Parallel, Retry, Sequential, Step, Workflow
from stepwell.define.yaml_located import Located, Mark, compose, problem_at
from stepwell.define.yaml_words import FORMER_WORDS, RETRY_WORDS, STEP_WORDS, WORKFLOW_WORDS

__all__ = ["read_yaml"]


def read_yaml(
    text: str | bytes,
    *,
    file: str = "<yaml>",
    operations: Collection[str] | None = None,
    workflows: Mapping[str, Collection[str]] | None = None,
) -> Workflow:
    """The workflow of a YAML text, checked as `freeze` checks it. `file` is only named in messages."""
    reader = _Reader(file)
    document = compose(text, file)
    workflow = reader.workflow(document)
    if workflow is None:
        raise DefinitionError(reader.problems[:MAX_PROBLEMS])
    try:
        flat = flatten(workflow)
    except DefinitionError as error:
        raise DefinitionError([reader.placed(problem, document) for problem in error.problems]) from None
    problems = list(flat.problems)
    problems += check_graph(flat.graph, operations=operations, workflows=workflows, sources=flat.sources)
    if problems:
        raise DefinitionError([reader.placed(problem, document) for problem in problems[:MAX_PROBLEMS]])
    return workflow


class _Reader:
    """Builds the template bottom-up and remembers where each step was written. A part that fails is None."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self._written: dict[int, tuple[object, Located]] = {}

    def workflow(self, located: Located) -> Workflow | None:
        pairs = self.mapping(located, WORKFLOW_WORDS, required=("workflow", "steps"))
        if pairs is None:
            return None
        root = self.block(pairs["steps"])
        fields = {key: self.field(key, pairs[key]) for key in ("title", "failure_policy") if key in pairs}
        if root is None:
            return None
        made: Workflow | None = self.build(Workflow, located, pairs["workflow"].plain(), root, **fields)
        return None if self.problems else made

    def block(self, located: Located) -> Step | None:
        """The value of steps, then, else and do: a list is a Sequential, anything else is one step."""
        if not isinstance(located.value, list):
            return self.step(located)
        steps = self.steps(located)
        return None if steps is None else self.build(Sequential, located, *steps)

    def steps(self, located: Located) -> list[Step] | None:
        if not isinstance(located.value, list) or not located.value:
            shown = "an empty list" if isinstance(located.value, list) else located.kind()
            self.refuse(located.mark, f"{shown} is not accepted; accepted: a list of at least one step")
            return None
        found = [self.step(item) for item in located.value]
        steps = [step for step in found if step is not None]
        return steps if len(steps) == len(found) else None

    def step(self, located: Located) -> Step | None:
        if isinstance(located.value, str):
            found: Step | None = self.build(Operation, located, located.value)
            return found
        if not isinstance(located.value, dict):
            self.refuse(
                located.mark,
                f"{located.kind()} is not a step; accepted: the name of an operation, or a mapping",
            )
            return None
        heads = [key for key in located.value if key in STEP_WORDS]
        if len(heads) != 1:
            self.refuse_heads(located, heads)
            return None
        step_class, words = STEP_WORDS[heads[0]]
        pairs = self.mapping(located, tuple(words))
        if pairs is None:
            return None
        problem_count = len(self.problems)
        fields = {words[key]: self.field(words[key], value) for key, value in pairs.items()}
        if heads[0] == "map" and "do" not in pairs:
            self.refuse(located.mark, 'a map needs the key "do": the step or list of steps for each item')
            return None
        if len(self.problems) > problem_count:
            return None
        steps = fields.pop("steps") if step_class in (Sequential, Parallel) else ()
        built: Step | None = self.build(step_class, located, *steps, **fields)
        return built

    def refuse_heads(self, located: Located, heads: list[str]) -> None:
        accepted = ", ".join(STEP_WORDS)
        if heads:
            message = f"a step has one kind, not {' and '.join(heads)}; accepted: one of {accepted}"
            self.refuse(located.mark, message)
            return None
        keys = list(located.value) if isinstance(located.value, dict) else []
        hints = [hint for key in keys if (hint := did_you_mean(key, STEP_WORDS))]
        shown = f" in {', '.join(quoted(key) for key in keys[:5])}" if keys else ""
        hint = hints[0] if hints else ""
        self.refuse(located.mark, f"no kind of step{shown}{hint}; accepted: one of the keys {accepted}")
        return None

    def field(self, name: str, located: Located) -> Any:
        """The value of a field. Scalars go on as they are: the template's own checks judge them."""
        if located.value is None:
            self.refuse(located.mark, "is empty; write a value or leave the key out", field=name)
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

    def source(self, located: Located) -> Step | None:
        step = self.step(located)
        if step is None or isinstance(step, Operation):
            return step
        self.refuse(
            located.mark, "is not an operation; accepted: an expression, a step id, or operation: <name>"
        )
        return None

    def retry(self, located: Located) -> Retry | None:
        pairs = self.mapping(located, RETRY_WORDS)
        if pairs is None:
            return None
        fields = {key: value.plain() for key, value in pairs.items()}
        if isinstance(fields.get("non_retryable"), list):
            fields["non_retryable"] = tuple(fields["non_retryable"])
        found: Retry | None = self.build(Retry, located, within="retry", **fields)
        return found

    def mapping(
        self, located: Located, known: tuple[str, ...], required: tuple[str, ...] = ()
    ) -> dict[str, Located] | None:
        if not isinstance(located.value, dict):
            message = (
                f"{located.kind()} is not accepted; accepted: a mapping with the keys {', '.join(known)}"
            )
            self.refuse(located.mark, message)
            return None
        problem_count = len(self.problems)
        for key, (mark, _) in located.value.items():
            if key not in known:
                hint = _former(key, known) or did_you_mean(key, known)
                self.refuse(mark, f"the key {quoted(key)} is not known{hint}; accepted: {', '.join(known)}")
        for key in required:
            if key not in located.value:
                self.refuse(located.mark, f"the key {quoted(key)} is missing")
        if len(self.problems) > problem_count:
            return None
        return {key: value for key, (_, value) in located.value.items()}

    def build(self, made: Any, located: Located, *args: Any, within: str = "", **fields: Any) -> Any:
        try:
            found = made(*args, **fields)
        except DefinitionError as error:
            for problem in error.problems:
                field = (problem.field or "").removeprefix(f"{within}.") if within else problem.field
                mark = _place(located, field)
                self.problems.append(replace(problem, file=mark.file, line=mark.line, column=mark.column))
            return None
        self._written[id(found)] = (found, located)
        return found

    def refuse(self, mark: Mark, message: str, *, field: str | None = None) -> None:
        self.problems.append(problem_at(mark, message, field=field))

    def placed(self, problem: Problem, document: Located) -> Problem:
        """The problem with the line of the step, and of the field where it was written."""
        _, located = self._written.get(id(problem.source), (None, document))
        mark = _place(located, problem.field)
        return replace(problem, file=mark.file, line=mark.line, column=mark.column)


def _former(key: str, known: tuple[str, ...]) -> str:
    """What to write instead of a word of an earlier release; nothing for other words."""
    word, written = FORMER_WORDS.get(key, (None, None))
    return f" (write {quoted(written)})" if word in known else ""


_FIELD_WORDS = {"test": "if", "over": "map", "otherwise": "else", "body": "do"}


def _place(located: Located, field: str | None) -> Mark:
    """Where `inputs.items` or `retry.max` of a mapping was written, or the nearest thing around it."""
    at = located
    for part in (field or "").split("."):
        name = _FIELD_WORDS.get(part, part)
        if not isinstance(at.value, dict) or name not in at.value:
            break
        at = at.value[name][1]
    return at.mark
