"""Convert arguments to the type of a parameter: receives a word, returns a value or raises an error.

Typer from 0.29 on converts with Pydantic, which takes 0.1 s for each command and has other error messages. An
older Typer ignores the attribute that is set here and converts by itself, only more slowly.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_origin

import typer

__all__ = ["convert_plainly"]


def convert_plainly(command: Any) -> None:
    """Convert the parameters of a command, --help too, with this module if it knows their types."""
    listed = command.get_params

    def get_params(context: Any) -> list[Any]:
        found: list[Any] = listed(context)
        for parameter in found:
            convert = _converter(parameter)
            if convert is not None:
                parameter._runtime_param = _Conversion(convert)
        return found

    command.get_params = get_params


class _Conversion:
    """Replaces the converter that Typer has for one parameter."""

    def __init__(self, convert: Callable[[str], Any]) -> None:
        self._convert = convert

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            if param.multiple or param.nargs == -1:
                return [self._one(item) for item in value or ()]
            return None if value is None else self._one(value)
        except ValueError as error:
            raise typer.BadParameter(str(error), ctx=ctx, param=param) from None

    def _one(self, value: Any) -> Any:
        return self._convert(value) if isinstance(value, str) else value


def _converter(parameter: Any) -> Callable[[str], Any] | None:
    descriptor = getattr(parameter, "type_descriptor", None)
    if descriptor is None:
        return None
    info, kind = descriptor.parameter_info, descriptor.annotation
    if get_origin(kind) is list:
        (kind,) = get_args(kind)
    if info.parser is not None:
        found: Callable[[str], Any] = info.parser
        return found
    if descriptor.choices:
        return _choice(tuple(map(str, descriptor.choices)))
    if kind in (int, float):
        return _number(kind, info.min, info.max)
    plain: dict[Any, Callable[[str], Any]] = {str: str, Path: Path, bool: _flag}
    return plain.get(kind)


def _number(kind: type[Any], lowest: float | None, highest: float | None) -> Callable[[str], Any]:
    def convert(text: str) -> Any:
        try:
            found = kind(text)
        except ValueError:
            found = None
        if (
            found is None
            or (lowest is not None and found < lowest)
            or (highest is not None and found > highest)
        ):
            raise ValueError(f"{text!r} is not accepted; accepted: {_range(kind, lowest, highest)}")
        return found

    return convert


def _range(kind: type[Any], lowest: float | None, highest: float | None) -> str:
    what = "a whole number" if kind is int else "a number"
    if lowest is not None and highest is not None:
        return f"{what} from {lowest:,} to {highest:,}"
    if lowest is not None:
        return f"{what}, at least {lowest:,}"
    return what if highest is None else f"{what}, at most {highest:,}"


def _choice(accepted: tuple[str, ...]) -> Callable[[str], str]:
    def convert(text: str) -> str:
        if text not in accepted:
            from stepwell.define.problem import did_you_mean

            raise ValueError(
                f"{text!r} is not accepted{did_you_mean(text, accepted)}; accepted: {', '.join(accepted)}"
            )
        return text

    return convert


def _flag(text: str) -> bool:
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False}
    if text.lower() not in words and text.lower() != "off":
        raise ValueError(f"{text!r} is not accepted; accepted: true, false")
    return words.get(text.lower(), False)
