"""Turn a Python function into a handler: receives the function, returns how to call it and read its result.

The slow parts (signature, validators) run once, when the operation is registered.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from stepwell import json_text
from stepwell.define.retry import Retry
from stepwell.errors import InvalidInput, UsageError

CONTEXT_NAMES = ("ctx", "context")
EMPTY = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    default: Any
    # None: the parameter has no type hint, so its value is not checked.
    validator: TypeAdapter[Any] | None


@dataclass(frozen=True, slots=True)
class Handler:
    """An operation as the worker runs it."""

    name: str
    function: Callable[..., Any]
    executor: str
    retry: Retry | None
    timeout_seconds: float | None
    is_async: bool
    takes_context: bool
    context_name: str
    parameters: tuple[Parameter, ...]
    takes_any: bool
    result: TypeAdapter[Any] | None

    def bind(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by name. An error names the parameter that is missing or has the wrong type."""
        arguments: dict[str, Any] = dict(given) if self.takes_any else {}
        for parameter in self.parameters:
            value = given.get(parameter.name, EMPTY)
            if value is EMPTY:
                if parameter.default is EMPTY:
                    raise InvalidInput(
                        f"operation {self.name}: parameter {parameter.name} is required and not in the input",
                        field=parameter.name,
                    )
                continue
            if parameter.validator is not None:
                try:
                    value = parameter.validator.validate_python(value)
                except ValidationError as error:
                    first = error.errors(include_url=False)[0]
                    raise InvalidInput(
                        f"operation {self.name}: parameter {parameter.name}: {first['msg']}",
                        field=parameter.name,
                    ) from error
            arguments[parameter.name] = value
        return arguments

    def encode(self, value: Any) -> str | None:
        """The result as JSON text; None if the handler has no output."""
        if value is None and self.result is None:
            return None
        try:
            if self.result is not None:
                value = self.result.validate_python(value)
            return json_text.encode(value, "result", self.result)
        except ValidationError as error:
            raise InvalidInput(f"operation {self.name}: {_misfit(error)}", field="result") from error
        except InvalidInput as error:
            raise InvalidInput(f"operation {self.name}: {error.message}", field=error.field) from error

    def declaration(self) -> dict[str, Any]:
        """The values that the database stores for the operation."""
        found: dict[str, Any] = {"name": self.name, "executor": self.executor}
        if self.retry is not None:
            found |= {
                "max_attempts": self.retry.max_attempts,
                "initial_seconds": self.retry.initial,
                "max_seconds": self.retry.max,
                "multiplier": self.retry.multiplier,
                "delays_seconds": list(self.retry.delays) or None,
                "non_retryable": list(self.retry.non_retryable),
            }
        if self.timeout_seconds is not None:
            found["timeout_seconds"] = self.timeout_seconds
        return found


def make_handler(
    function: Callable[..., Any],
    *,
    name: str,
    executor: str,
    retry: Retry | None,
    timeout_seconds: float | None,
) -> Handler:
    signature = inspect.signature(function)
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError:
        # A name in a type hint is known only to type checkers. Then no parameter is checked.
        hints = {}
    parameters: list[Parameter] = []
    context_name = ""
    takes_any = False
    for parameter in signature.parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            takes_any = True
        elif parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.POSITIONAL_ONLY):
            raise UsageError(
                f"operation {name}: parameter {parameter.name} cannot be given by name",
                hint="inputs are passed by name; use ordinary parameters",
            )
        elif parameter.name in CONTEXT_NAMES:
            context_name = parameter.name
        else:
            parameters.append(
                Parameter(parameter.name, parameter.default, _adapter(hints.get(parameter.name)))
            )
    if context_name and executor == "process":
        raise UsageError(
            f"operation {name}: a handler of the executor 'process' cannot take {context_name}",
            hint="remove the parameter, or use the default executor",
        )
    return Handler(
        name=name, function=function, executor=executor, retry=retry, timeout_seconds=timeout_seconds,
        is_async=inspect.iscoroutinefunction(function), takes_context=bool(context_name),
        context_name=context_name, parameters=tuple(parameters), takes_any=takes_any,
        result=_adapter(hints.get("return")),
    )  # fmt: skip


def _adapter(hint: Any) -> TypeAdapter[Any] | None:
    from stepwell import outcome

    kinds = (outcome.Completed, outcome.Waiting, outcome.RetryLater, outcome.Dead)
    if hint in (None, type(None), Any) or hint in kinds or any(kind in _members(hint) for kind in kinds):
        return None
    return TypeAdapter(hint)


def _members(hint: Any) -> tuple[Any, ...]:
    return getattr(hint, "__args__", ())


def _misfit(error: ValidationError) -> str:
    """The first place where a result does not have its declared type."""
    first = error.errors(include_url=False)[0]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
    return f"result{place}: {first['msg']}"
