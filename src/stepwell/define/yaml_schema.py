"""Describe the YAML form as a JSON Schema for editors; the keys come from the tables of the reader."""

from __future__ import annotations

from typing import Any, Final

from stepwell.define import limits
from stepwell.define.people import DEADLINE_FROM, MAX_LEVELS, MAX_TASKS, TASK_WORDS
from stepwell.define.template import FAILURE_POLICIES
from stepwell.define.yaml_words import RETRY_WORDS, STEP_WORDS, WORKFLOW_WORDS

__all__ = ["yaml_schema"]

SCHEMA_ID: Final = "urn:stepwell:schema:workflow:1"


def yaml_schema() -> dict[str, Any]:
    """A JSON Schema (2020-12) of what the reader accepts; only the reader checks references."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "Stepwell workflow",
        **_closed(
            {
                "workflow": {"$ref": "#/$defs/name", "description": "The name of the workflow."},
                "title": _TITLE,
                "failure_policy": {"enum": list(FAILURE_POLICIES), "default": FAILURE_POLICIES[0]},
                "workflow_class": {
                    "$ref": "#/$defs/name",
                    "default": "default",
                    "description": "The class whose thresholds count for the runs.",
                },
                "input": {
                    "type": "object",
                    "description": "A JSON Schema of the input of a run.",
                },
                "steps": {"$ref": "#/$defs/block"},
            },
            ["workflow", "steps"],
            WORKFLOW_WORDS,
        ),
        "$defs": {
            "name": {
                "type": "string",
                "pattern": "^[A-Za-z0-9_][A-Za-z0-9_.-]*$",
                "maxLength": limits.MAX_NAME_LENGTH,
            },
            "duration": {
                "description": "4h, 2d, 1h30m, 500ms, PT4H, or a number of seconds.",
                "anyOf": [{"type": "string", "pattern": "^[0-9P]"}, {"type": "number", "minimum": 0}],
            },
            "expression": {
                "description": "A SQL/JSON path like $.steps.charge.output.amount.",
                "type": "string",
                "minLength": 1,
                "maxLength": limits.MAX_EXPRESSION_LENGTH,
            },
            "source": {"anyOf": [{"$ref": "#/$defs/expression"}, {"$ref": "#/$defs/operation"}]},
            "inputs": {
                "type": "object",
                "propertyNames": {"$ref": "#/$defs/name"},
                "maxProperties": limits.MAX_INPUTS,
                "additionalProperties": {
                    "anyOf": [{"$ref": "#/$defs/expression"}, {"type": ["number", "boolean", "null"]}]
                },
            },
            "retry": _closed(_RETRY, [], RETRY_WORDS),
            "list": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/step"}},
            "block": {
                "description": "A list of steps, one after the other, or a single step.",
                "anyOf": [{"$ref": "#/$defs/list"}, {"$ref": "#/$defs/step"}],
            },
            "step": {
                "anyOf": [{"$ref": "#/$defs/name"}, *({"$ref": f"#/$defs/{head}"} for head in STEP_WORDS)]
            },
            **{head: _step_schema(head) for head in STEP_WORDS},
        },
    }


_NAME: Final = {"$ref": "#/$defs/name"}
_DURATION: Final = {"$ref": "#/$defs/duration"}
_TITLE: Final = {"type": "string", "minLength": 1, "maxLength": limits.MAX_TITLE_LENGTH}
_COUNT: Final = {"type": "integer", "minimum": 1, "maximum": limits.MAX_CONCURRENCY}
_RETRY: Final[dict[str, Any]] = {
    "max_attempts": {
        "type": "integer",
        "minimum": 1,
        "maximum": limits.MAX_ATTEMPTS,
        "default": limits.DEFAULT_ATTEMPTS,
    },
    "initial": _DURATION,
    "max": _DURATION,
    "multiplier": {"type": "number", "minimum": 1, "maximum": limits.MAX_MULTIPLIER, "default": 2},
    "delays": {"type": "array", "items": _DURATION, "minItems": 1, "maxItems": limits.MAX_DELAYS},
    "non_retryable": {
        "anyOf": [_NAME, {"type": "array", "items": _NAME, "maxItems": limits.MAX_NON_RETRYABLE}]
    },
}
# Field of the template → JSON Schema of the key.
_BY_FIELD: Final[dict[str, Any]] = {
    "id": _NAME,
    "name": _NAME,
    "event": _NAME,
    "workflow": _NAME,
    "executor": _NAME,
    "role": _NAME,
    "assignee": {"type": "string", "minLength": 1, "maxLength": limits.MAX_NAME_LENGTH},
    "title": _TITLE,
    "milestone": {
        "type": "string",
        "minLength": 1,
        "maxLength": limits.MAX_NAME_LENGTH,
        "description": "The name of the milestone that is reached when the step is completed.",
    },
    "inputs": {"$ref": "#/$defs/inputs"},
    "retry": {"$ref": "#/$defs/retry"},
    "timeout": _DURATION,
    "deadline": _DURATION,
    "priority": {"type": "integer", "minimum": limits.MIN_PRIORITY, "maximum": limits.MAX_PRIORITY},
    "mandatory": {"type": "boolean", "default": True},
    "form": {"type": "object", "description": "A JSON Schema of the output of the step."},
    "deadline_from": {"enum": list(DEADLINE_FROM)},
    "due_at": {"type": "string", "format": "date-time"},
    "calendar": _NAME,
    "postcondition": {"type": "string", "minLength": 1, "maxLength": limits.MAX_EXPRESSION_LENGTH},
    "tasks": {
        "type": "array",
        "maxItems": MAX_TASKS,
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": ["id"],
            "properties": {word: {"type": "object" if word == "form" else "string"} for word in TASK_WORDS},
        },
    },
    "escalation": {
        "type": "array",
        "maxItems": MAX_LEVELS,
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": ["after", "tell"],
            "properties": {"after": _DURATION, "tell": {"type": "string", "minLength": 1}},
        },
    },
    "content": _NAME,
    "max_concurrency": _COUNT,
    "steps": {"$ref": "#/$defs/list"},
    "then": {"$ref": "#/$defs/block"},
    "otherwise": {"$ref": "#/$defs/block"},
    "body": {"$ref": "#/$defs/block"},
    "test": {"$ref": "#/$defs/source"},
    "over": {"$ref": "#/$defs/source"},
}
_ALSO_REQUIRED: Final[dict[str, dict[str, Any]]] = {
    "if": {"anyOf": [{"required": ["then"]}, {"required": ["else"]}]},
    "map": {"required": ["map", "do"]},
    "human": {"anyOf": [{"required": ["role"]}, {"required": ["assignee"]}]},
}


def _step_schema(head: str) -> dict[str, Any]:
    words = STEP_WORDS[head][1]
    properties = {word: _BY_FIELD[field] for word, field in words.items()}
    return _closed(properties, [head], tuple(words)) | _ALSO_REQUIRED.get(head, {})


def _closed(properties: dict[str, Any], required: list[str], words: tuple[str, ...]) -> dict[str, Any]:
    """An object with exactly these keys, in the order of the writer."""
    found: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {word: properties[word] for word in words},
    }
    return found | {"required": required} if required else found
