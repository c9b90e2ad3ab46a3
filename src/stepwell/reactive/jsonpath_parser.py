"""Parse a SQL/JSON path into a small tree: receives text, returns frozen nodes that `jsonpath` evaluates.

It supports the part of the language that rules use; for all other parts it raises PathSyntaxError.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Final

from stepwell.define.path_tokens import BAD, PathToken, path_tokens, unescape

__all__ = [
    "METHODS",
    "Access",
    "Arithmetic",
    "Compare",
    "Exists",
    "Expression",
    "Literal",
    "Logic",
    "Not",
    "PathSyntaxError",
    "Predicate",
    "Root",
    "StartsWith",
    "Subscript",
    "Unknown",
    "parse_path",
]

METHODS: Final = ("abs", "ceiling", "double", "floor", "size", "type")
_UNSUPPORTED_WORDS: Final = ("strict", "like_regex", "flag")
_COMPARISONS: Final = ("==", "!=", "<>", "<=", ">=", "<", ">")
_MAX_DEPTH: Final = 100

# PostgreSQL also reads 0x1F, 0o17, 0b11 and 1_000.
_PLAIN_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


class PathSyntaxError(ValueError):
    """The text is not a path, or uses a part of the language that only PostgreSQL evaluates."""


@dataclass(frozen=True, slots=True)
class Root:
    """`$` (the document) or `@` (the current item of a filter)."""

    is_current: bool = False


@dataclass(frozen=True, slots=True)
class Literal:
    value: str | int | Decimal | bool | None


@dataclass(frozen=True, slots=True)
class Subscript:
    """`[low]` (`high` is None) or `[low to high]`."""

    low: Expression
    high: Expression | None = None


@dataclass(frozen=True, slots=True)
class Access:
    """One accessor after a base: member, any member, subscripts, wildcard, filter or method."""

    base: Expression
    kind: str
    name: str = ""
    subscripts: tuple[Subscript, ...] = ()
    filter: Predicate | None = None


@dataclass(frozen=True, slots=True)
class Last:
    """`last` inside a subscript."""


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`left` is None for a sign before a value."""

    operator: str
    left: Expression | None
    right: Expression


@dataclass(frozen=True, slots=True)
class Compare:
    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class StartsWith:
    left: Expression
    prefix: str


@dataclass(frozen=True, slots=True)
class Exists:
    of: Expression


@dataclass(frozen=True, slots=True)
class Logic:
    operator: str
    left: Predicate
    right: Predicate


@dataclass(frozen=True, slots=True)
class Not:
    of: Predicate


@dataclass(frozen=True, slots=True)
class Unknown:
    of: Predicate


Predicate = Compare | StartsWith | Exists | Logic | Not | Unknown
Expression = Root | Literal | Access | Last | Arithmetic
Parsed = Predicate | Expression


@lru_cache(maxsize=4096)
def parse_path(text: str) -> Parsed:
    """The tree of a path. Raises PathSyntaxError with the place and what is accepted."""
    parsing = _Parsing(text)
    found = parsing.disjunction()
    if parsing.token.kind != "end":
        raise parsing.unexpected("the end of the path")
    return found


class _Parsing:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = self._split(text)
        self.position = 0
        self.depth = 0
        if self.word("lax"):
            self.position += 1

    def _split(self, text: str) -> list[PathToken]:
        tokens = list(path_tokens(text))
        if tokens and tokens[-1].kind == BAD:
            bad = tokens[-1]
            raise PathSyntaxError(f"{bad.text!r} at {bad.at + 1} does not belong in a path")
        return [*tokens, PathToken("end", "", len(text))]

    @property
    def token(self) -> PathToken:
        return self.tokens[self.position]

    def unexpected(self, accepted: str) -> PathSyntaxError:
        token = self.token
        if token.kind == "word" and token.text.lower() in _UNSUPPORTED_WORDS:
            return PathSyntaxError(
                f"{token.text} at {token.at + 1} is evaluated by PostgreSQL only; without a database "
                f"a path in lax mode without like_regex is accepted"
            )
        shown = "the path ends" if token.kind == "end" else f"{token.text} at {token.at + 1}"
        return PathSyntaxError(f"{shown}; accepted here: {accepted} (in {self.text!r})")

    def is_operator(self, *texts: str) -> bool:
        return self.token.kind == "operator" and self.token.text in texts

    def word(self, text: str) -> bool:
        return self.token.kind == "word" and self.token.text.lower() == text

    def take(self) -> str:
        text = self.token.text
        self.position += 1
        return text

    def expect(self, text: str) -> None:
        if not self.is_operator(text):
            raise self.unexpected(text)
        self.position += 1

    def disjunction(self) -> Parsed:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise PathSyntaxError(f"is nested more than {_MAX_DEPTH} levels deep")
        found = self.conjunction()
        while self.is_operator("||"):
            self.position += 1
            found = Logic("||", self.predicate(found), self.predicate(self.conjunction()))
        self.depth -= 1
        return found

    def conjunction(self) -> Parsed:
        found = self.negation()
        while self.is_operator("&&"):
            self.position += 1
            found = Logic("&&", self.predicate(found), self.predicate(self.negation()))
        return found

    def negation(self) -> Parsed:
        if not self.is_operator("!"):
            return self.comparison()
        self.position += 1
        if self.word("exists"):
            return Not(self.exists())
        if not self.is_operator("("):
            raise self.unexpected("( with a condition, or exists (…)")
        self.position += 1
        found = self.predicate(self.disjunction())
        self.expect(")")
        return Not(found)

    def predicate(self, found: Parsed) -> Predicate:
        if isinstance(found, Predicate):
            return found
        raise PathSyntaxError(
            f"a value is not accepted before {self.token.at + 1}; accepted: "
            f"a comparison such as $.input.flag == true, or exists (…) (in {self.text!r})"
        )

    def expression(self, found: Parsed) -> Expression:
        if isinstance(found, Expression):
            return found
        raise self.unexpected("a value; a condition cannot be compared or calculated with")

    def comparison(self) -> Parsed:
        left = self.sum()
        if self.is_operator(*_COMPARISONS):
            operator = self.take()
            right = self.expression(self.sum())
            return Compare("!=" if operator == "<>" else operator, self.expression(left), right)
        if self.word("starts"):
            self.position += 1
            if not self.word("with"):
                raise self.unexpected("with")
            self.position += 1
            if self.token.kind != "string":
                raise self.unexpected("a text in double quotes")
            return StartsWith(self.expression(left), _unescape(self.take()))
        return left

    def sum(self) -> Parsed:
        found = self.product()
        while self.is_operator("+", "-"):
            operator = self.take()
            found = Arithmetic(operator, self.expression(found), self.expression(self.product()))
        return found

    def product(self) -> Parsed:
        found = self.sign()
        while self.is_operator("*", "/", "%"):
            operator = self.take()
            found = Arithmetic(operator, self.expression(found), self.expression(self.sign()))
        return found

    def sign(self) -> Parsed:
        if self.is_operator("+", "-"):
            operator = self.take()
            return Arithmetic(operator, None, self.expression(self.sign()))
        return self.accessors(self.primary())

    def primary(self) -> Parsed:
        token = self.token
        if token.kind == "string":
            return Literal(_unescape(self.take()))
        if token.kind == "number":
            if _PLAIN_NUMBER.fullmatch(token.text) is None:
                raise PathSyntaxError(f"{token.text} at {token.at + 1} is evaluated by PostgreSQL only")
            text = self.take()
            return Literal(int(text) if text.isdigit() else Decimal(text))
        if self.is_operator("$", "@"):
            return Root(self.take() == "@")
        if self.is_operator("("):
            return self.group()
        if self.word("exists"):
            return self.exists()
        if token.kind == "word":
            match token.text.lower() if token.text != "last" else "last":
                case "true" | "false" | "null" as word:
                    self.position += 1
                    return Literal({"true": True, "false": False, "null": None}[word])
                case "last":
                    self.position += 1
                    return Last()
        raise self.unexpected("$, @, a number, a text in double quotes, true, false, null or (")

    def group(self) -> Parsed:
        self.position += 1
        found = self.disjunction()
        self.expect(")")
        if self.word("is"):
            self.position += 1
            if not self.word("unknown"):
                raise self.unexpected("unknown")
            self.position += 1
            return Unknown(self.predicate(found))
        return found

    def exists(self) -> Exists:
        self.position += 1
        self.expect("(")
        found = Exists(self.expression(self.disjunction()))
        self.expect(")")
        return found

    def accessors(self, base: Parsed) -> Parsed:
        while self.is_operator(".", "[", "?"):
            on = self.expression(base)
            match self.take():
                case ".":
                    base = self.member(on)
                case "[":
                    base = self.subscripts(on)
                case _:
                    self.expect("(")
                    base = Access(on, "filter", filter=self.predicate(self.disjunction()))
                    self.expect(")")
        return base

    def member(self, base: Expression) -> Access:
        if self.is_operator("*"):
            self.position += 1
            return Access(base, "any_member")
        if self.token.kind not in ("word", "string"):
            if self.is_operator("**"):
                raise PathSyntaxError(
                    f".** at {self.token.at + 1} is evaluated by PostgreSQL only; name the members instead"
                )
            raise self.unexpected("a member name, or * for all members")
        is_text = self.token.kind == "string"
        name = _unescape(self.take()) if is_text else self.take()
        if is_text or not self.is_operator("("):
            return Access(base, "member", name)
        if name not in METHODS:
            raise PathSyntaxError(
                f".{name}() is evaluated by PostgreSQL only; accepted without a database: "
                + ", ".join(f".{method}()" for method in METHODS)
            )
        self.position += 1
        self.expect(")")
        return Access(base, "method", name)

    def subscripts(self, base: Expression) -> Access:
        if self.is_operator("*"):
            self.position += 1
            self.expect("]")
            return Access(base, "any_element")
        found: list[Subscript] = []
        while True:
            low = self.expression(self.disjunction())
            high = None
            if self.word("to"):
                self.position += 1
                high = self.expression(self.disjunction())
            found.append(Subscript(low, high))
            if not self.is_operator(","):
                break
            self.position += 1
        self.expect("]")
        return Access(base, "subscript", subscripts=tuple(found))


def _unescape(quoted: str) -> str:
    try:
        return unescape(quoted)
    except ValueError as error:
        raise PathSyntaxError(f"{error} is not a character that can be stored") from None
