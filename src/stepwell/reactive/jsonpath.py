"""Evaluate SQL/JSON paths without a database: receives a path and a document, returns the same as PostgreSQL.

It supports lax mode and the part of the language that rules use. `match` is jsonb_path_match, `first` is
jsonb_path_query_first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import partial
from typing import Any, Final

from stepwell.reactive.jsonpath_parser import (
    Access,
    Arithmetic,
    Compare,
    Exists,
    Expression,
    Literal,
    Logic,
    Not,
    PathSyntaxError,
    Predicate,
    Root,
    StartsWith,
    Unknown,
    parse_path,
)

__all__ = ["MISSING", "PathError", "PathSyntaxError", "first", "match", "query"]

MISSING: Final = object()
Truth = bool | None


class PathError(ValueError):
    """The path could not be evaluated over this document."""


def query(path: str, document: Any) -> list[Any]:
    """Every item that the path finds, as jsonb_path_query; a condition gives one true, false or null."""
    parsed = parse_path(path)
    looking = _Looking(document)
    if isinstance(parsed, Predicate):
        return [looking.truth(parsed, document)]
    return looking.items(parsed, document)


def first(path: str, document: Any) -> Any:
    """The first item, or MISSING."""
    found = query(path, document)
    return found[0] if found else MISSING


def match(path: str, document: Any) -> bool:
    """The boolean that the path gives. Raises PathError if it gives nothing or anything else."""
    found = query(path, document)
    if len(found) == 1 and isinstance(found[0], bool):
        return found[0]
    what = "nothing" if not found else f"{len(found)} values" if len(found) > 1 else _type_of(found[0])
    raise PathError(f"the test gives {what}; accepted: one true or false")


class _Looking:
    """One evaluation: has the document of `$` and the array of `last`."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.last: list[int] = []

    def items(self, node: Expression, current: Any) -> list[Any]:
        match node:
            case Root():
                return [current if node.is_current else self.root]
            case Literal():
                return [node.value]
            case Access():
                return self.access(node, current)
            case Arithmetic():
                return self.calculate(node, current)
            case _:
                if not self.last:
                    raise PathError("last is used outside a subscript")
                return [self.last[-1]]

    def access(self, node: Access, current: Any) -> list[Any]:
        base = self.items(node.base, current)
        match node.kind:
            case "member":
                return [item[node.name] for item in _flat(base) if _has(item, node.name)]
            case "any_member":
                return [
                    value for item in _flat(base) if isinstance(item, Mapping) for value in _members(item)
                ]
            case "any_element":
                return _flat(base)
            case "subscript":
                return [found for item in base for found in self.subscripted(node, item, current)]
            case "filter":
                assert node.filter is not None
                return [item for item in _flat(base) if self.truth(node.filter, item) is True]
            case _:
                return [value for item in base for value in _call(node.name, item)]

    def subscripted(self, node: Access, item: Any, current: Any) -> Iterable[Any]:
        elements = item if isinstance(item, list) else [item]
        self.last.append(len(elements) - 1)
        try:
            for subscript in node.subscripts:
                low = self.index(subscript.low, current)
                high = low if subscript.high is None else self.index(subscript.high, current)
                yield from elements[max(low, 0) : max(high + 1, 0)]
        finally:
            self.last.pop()

    def index(self, node: Expression, current: Any) -> int:
        found = self.items(node, current)
        if len(found) != 1 or not _is_number(found[0]):
            raise PathError("a subscript is not a single number")
        return int(_number(found[0]))

    def calculate(self, node: Arithmetic, current: Any) -> list[Any]:
        if node.left is None:
            sign = -1 if node.operator == "-" else 1
            return [
                _plain(sign * self.operand(item, node.operator))
                for item in _flat(self.items(node.right, current))
            ]
        left = self.single(node.left, current, "left", node.operator)
        right = self.single(node.right, current, "right", node.operator)
        match node.operator:
            case "+":
                return [_plain(left + right)]
            case "-":
                return [_plain(left - right)]
            case "*":
                return [_plain(left * right)]
        if right == 0:
            raise PathError("division by zero")
        return [_plain(left / right if node.operator == "/" else left % right)]

    def single(self, node: Expression, current: Any, side: str, operator: str) -> Decimal:
        found = _flat(self.items(node, current))
        if len(found) != 1:
            raise PathError(f"the {side} operand of {operator} is not a single number")
        return self.operand(found[0], operator)

    def operand(self, item: Any, operator: str) -> Decimal:
        if not _is_number(item):
            raise PathError(f"{operator} needs a number and has a value of type {_type_of(item)}")
        return _number(item)

    def truth(self, node: Predicate, current: Any) -> Truth:
        match node:
            case Logic():
                return self.logic(node, current)
            case Not():
                found = self.truth(node.of, current)
                return None if found is None else not found
            case Unknown():
                return self.truth(node.of, current) is None
            case Exists():
                try:
                    return bool(self.items(node.of, current))
                except PathError:
                    return None
            case StartsWith():
                return self.pairs(node.left, None, current, partial(_starts_with, prefix=node.prefix))
            case Compare():
                return self.pairs(node.left, node.right, current, partial(_compare, node.operator))

    def logic(self, node: Logic, current: Any) -> Truth:
        left = self.truth(node.left, current)
        decisive = node.operator == "||"
        if left is decisive:
            return decisive
        right = self.truth(node.right, current)
        if right is decisive:
            return decisive
        return None if left is None or right is None else not decisive

    def pairs(
        self,
        left: Expression,
        right: Expression | None,
        current: Any,
        test: Callable[[Any, Any], Truth],
    ) -> Truth:
        """Lax mode: true if one pair is true; else unknown if a pair cannot be compared."""
        try:
            lefts = _flat(self.items(left, current))
            rights = [None] if right is None else _flat(self.items(right, current))
        except PathError:
            return None
        verdict: Truth = False
        for one in lefts:
            for other in rights:
                found = test(one, other)
                if found:
                    return True
                verdict = None if found is None else verdict
        return verdict


def _members(item: Mapping[str, Any]) -> list[Any]:
    """The members in the order of jsonb: shorter keys first, then by their bytes."""
    return [item[key] for key in sorted(item, key=lambda key: (len(key.encode()), key.encode()))]


def _flat(items: list[Any]) -> list[Any]:
    """Lax mode unwraps arrays, one level."""
    if not any(isinstance(item, list) for item in items):
        return items
    return [inner for item in items for inner in (item if isinstance(item, list) else [item])]


def _has(item: Any, name: str) -> bool:
    return isinstance(item, Mapping) and name in item


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _number(value: Any) -> Decimal:
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def _plain(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


def _type_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case list():
            return "array"
        case Mapping():
            return "object"
        case _:
            return "number"


def _compare(operator: str, left: Any, right: Any) -> Truth:
    left_type, right_type = _type_of(left), _type_of(right)
    if left_type != right_type:
        # null != every other type, and is neither less nor greater; other types cannot be compared.
        return operator == "!=" if "null" in (left_type, right_type) else None
    if left_type in ("array", "object"):
        return None
    if left_type == "number":
        left, right = _number(left), _number(right)
    elif left_type == "null":
        left = right = 0
    match operator:
        case "==":
            return bool(left == right)
        case "!=":
            return bool(left != right)
        case "<":
            return bool(left < right)
        case "<=":
            return bool(left <= right)
        case ">":
            return bool(left > right)
        case _:
            return bool(left >= right)


def _starts_with(value: Any, _: Any, prefix: str) -> Truth:
    return value.startswith(prefix) if isinstance(value, str) else None


def _call(name: str, item: Any) -> list[Any]:
    if name == "type":
        return [_type_of(item)]
    if name == "size":
        return [len(item) if isinstance(item, list) else 1]
    found: list[Any] = []
    for value in item if isinstance(item, list) else [item]:
        if name == "double" and isinstance(value, str):
            try:
                found.append(float(value))
                continue
            except ValueError:
                raise PathError(f".double() needs a number and has the text {value!r}") from None
        if not _is_number(value):
            raise PathError(f".{name}() needs a number and has a value of type {_type_of(value)}")
        number = _number(value)
        match name:
            case "abs":
                found.append(_plain(abs(number)))
            case "ceiling":
                found.append(_plain(number.to_integral_value(ROUND_CEILING)))
            case "floor":
                found.append(_plain(number.to_integral_value(ROUND_FLOOR)))
            case _:
                found.append(float(number))
    return found
