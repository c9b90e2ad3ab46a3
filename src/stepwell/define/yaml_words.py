"""The keys of the YAML form: the first key of each kind of step, its other keys, the fields they fill.

The reader, the writer and the JSON Schema use these tables, so that they always agree.
"""

from __future__ import annotations

from typing import Final

from stepwell.define.template import (
    Conditional,
    Human,
    Map,
    Operation,
    Parallel,
    Sequential,
    SubWorkflow,
    Wait,
)

__all__ = ["FORMER_WORDS", "RETRY_WORDS", "STEP_WORDS", "WORKFLOW_WORDS", "head_of"]

# First key → the template class, and YAML key → the field that it fills. The first key comes first.
STEP_WORDS: Final[dict[str, tuple[type, dict[str, str]]]] = {
    "operation": (
        Operation,
        {"operation": "name", "id": "id", "title": "title", "inputs": "inputs", "retry": "retry"}
        | {"timeout": "timeout", "deadline": "deadline", "priority": "priority", "mandatory": "mandatory"}
        | {"executor": "executor", "milestone": "milestone"},
    ),
    "sequential": (Sequential, {"sequential": "steps"}),
    "parallel": (Parallel, {"parallel": "steps", "max_concurrency": "max_concurrency"}),
    "if": (Conditional, {"if": "test", "id": "id", "then": "then", "else": "otherwise"}),
    "map": (
        Map,
        {"map": "over", "id": "id", "title": "title", "max_concurrency": "max_concurrency"}
        | {"deadline": "deadline", "mandatory": "mandatory", "milestone": "milestone", "do": "body"},
    ),
    "human": (
        Human,
        {"human": "id", "title": "title", "role": "role", "assignee": "assignee", "deadline": "deadline"}
        | {"inputs": "inputs", "priority": "priority", "mandatory": "mandatory", "form": "form"}
        | {"deadline_from": "deadline_from", "due_at": "due_at", "calendar": "calendar", "tasks": "tasks"}
        | {"postcondition": "postcondition", "escalation": "escalation", "content": "content"}
        | {"milestone": "milestone"},
    ),
    "wait": (
        Wait,
        {"wait": "event", "id": "id", "title": "title", "timeout": "timeout", "deadline": "deadline"}
        | {"mandatory": "mandatory", "milestone": "milestone"},
    ),
    "workflow": (
        SubWorkflow,
        {"workflow": "workflow", "id": "id", "title": "title", "inputs": "inputs", "timeout": "timeout"}
        | {"deadline": "deadline", "priority": "priority", "mandatory": "mandatory"}
        | {"milestone": "milestone"},
    ),
}

RETRY_WORDS: Final = ("max_attempts", "initial", "max", "multiplier", "delays", "non_retryable")

# Keys of earlier releases → the key that replaced it, and how it is written.
FORMER_WORDS: Final = {"optional": ("mandatory", "mandatory: false")}

WORKFLOW_WORDS: Final = ("workflow", "title", "failure_policy", "workflow_class", "input", "steps")

_HEADS: Final = {step_class: head for head, (step_class, _) in STEP_WORDS.items()}


def head_of(step: object) -> str:
    """The key that begins a step of this class."""
    return _HEADS[type(step)]
