"""The given outcomes of a simulation: receives outcomes by step, returns the outcome of each call.

They are the outcomes of real handlers: Completed, Waiting, RetryLater, Dead or an exception; with `NEVER` a
call gets no answer. The command line uses the JSON form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from stepwell.errors import InvalidInput
from stepwell.outcome import Completed, Dead, RetryLater, Waiting

__all__ = ["NEVER", "PERMANENT_EXCEPTIONS", "Never", "Outcome", "Raises", "Script", "read_outcomes"]

# The names of exceptions that are permanent in failure_class_registry; a test compares both.
PERMANENT_EXCEPTIONS: Final = frozenset(
    (
        *("TypeError", "ValidationError", "InvalidInput", "OutputContractError", "ExpressionError"),
        *("LimitExceeded", "NotFound", "NotFoundError", "NotImplementedError", "UnknownOperation"),
        *("PermissionDenied", "PermissionError", "PolicyDenied", "Refused", "ApprovalRejected"),
        *("ApprovalExpired", "ApprovalCancelled", "ActionConflict", "EffectRefused", "WaitTimeout", "Dead"),
    )
)
_WORDS: Final = ("completed", "error", "retry", "dead", "waiting", "never")
_ACCEPTED: Final = (
    'accepted: "completed", {"completed": value}, {"error": "ValueError"}, {"retry": "why"}, '
    '{"dead": "why"}, {"waiting": "event", "timeout": "5m"}, "never", or a list of these, one for each call'
)


@dataclass(frozen=True, slots=True)
class Raises:
    """The handler raises an exception of this name."""

    type: str
    message: str = ""

    @property
    def error(self) -> dict[str, str]:
        return {"type": self.type, "message": self.message}


@dataclass(frozen=True, slots=True)
class Never:
    """The call never gets an answer."""


NEVER: Final = Never()
Outcome = Completed | Waiting | RetryLater | Dead | Raises | Never


class Script:
    """Outcomes by instance path (`pack_all[3].pack`), else by step id; the last outcome repeats."""

    def __init__(self, outcomes: Mapping[str, Any] | None = None) -> None:
        self._outcomes = {
            name: tuple(_outcome(one) for one in (given if isinstance(given, list | tuple) else [given]))
            for name, given in (outcomes or {}).items()
        }
        for name, given in self._outcomes.items():
            if not given:
                raise InvalidInput(f"outcomes of {name}: the list is empty; {_ACCEPTED}", field=name)

    def names(self) -> Sequence[str]:
        return tuple(self._outcomes)

    def outcome(self, path: str, step_id: str, call_no: int) -> Outcome:
        """The outcome of call number `call_no` (from 0); Completed(None) if none is given."""
        given = self._outcomes.get(path) or self._outcomes.get(step_id)
        if given is None:
            return Completed()
        return given[min(call_no, len(given) - 1)]


def _outcome(given: Any) -> Outcome:
    """A plain value becomes Completed(value), an exception or its class becomes Raises."""
    if isinstance(given, Outcome):
        return given
    if isinstance(given, BaseException):
        return Raises(type(given).__name__, str(given))
    if isinstance(given, type) and issubclass(given, BaseException):
        return Raises(given.__name__)
    return Completed(given)


def read_outcomes(text: str) -> dict[str, list[Outcome]]:
    """Read the JSON form: an object of step ids or instance paths. An InvalidInput names the step."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"outcomes is not JSON (line {error.lineno}, column {error.colno}: {error.msg})", field="outcomes"
        ) from None
    if not isinstance(data, dict):
        accepted = '{"charge": "completed"}'
        raise InvalidInput(
            f"outcomes is not a JSON object; accepted: an object such as {accepted}", field="outcomes"
        )
    return {
        step: [_read(step, one) for one in (given if isinstance(given, list) else [given])]
        for step, given in data.items()
    }


def _read(step: str, given: Any) -> Outcome:
    if isinstance(given, str):
        given = {given: None}
    if not isinstance(given, dict):
        raise InvalidInput(
            f"outcomes.{step}: {json.dumps(given)[:60]} is not an outcome; {_ACCEPTED}", field=step
        )
    kinds = [word for word in _WORDS if word in given]
    unknown = set(given) - set(_WORDS) - {"timeout", "message", "after"}
    if len(kinds) != 1 or unknown:
        raise InvalidInput(
            f"outcomes.{step}: {json.dumps(given)[:60]} is not an outcome; {_ACCEPTED}", field=step
        )
    kind: Literal["completed", "error", "retry", "dead", "waiting", "never"] = kinds[0]  # type: ignore[assignment]
    value = given[kind]
    match kind:
        case "completed":
            return Completed(value)
        case "error":
            return Raises(value or "Exception", str(given.get("message", "")))
        case "retry":
            return RetryLater(given.get("after"), value or "the handler asked for another attempt")
        case "dead":
            return Dead(value or "no attempt can help")
        case "waiting":
            if not isinstance(value, str) or not value:
                raise InvalidInput(
                    f"outcomes.{step}.waiting is not a text; accepted: the name of an event", field=step
                )
            return Waiting(value, given.get("timeout"))
        case "never":
            return NEVER
