"""Reads SQL files as far as our rules need it: words, literals, comments, routines and their parts.

Results are cached, because many rules read the same files: do not change a returned list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

_TOKEN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<comment>--[^\n]*|/\*.*?\*/)
    | (?P<string>[eE]'(?:\\.|[^'\\]|'')*'|'(?:[^']|'')*')
    | (?P<quoted>"(?:[^"]|"")*")
    | (?P<body>\$(?P<tag>\w*)\$.*?\$(?P=tag)\$)
    | (?P<word>[A-Za-z_][\w$]*)
    | (?P<number>\d[\w.]*)
    | (?P<mark>.)
    """,
    re.VERBOSE | re.DOTALL,
)


_KINDS = ("function", "procedure", "view", "trigger")


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    line: int


@dataclass(frozen=True)
class Definition:
    """One `create …`: a function, procedure, view or trigger, with the comment right above it."""

    kind: str
    name: str
    line: int
    comment: str
    code: tuple[Token, ...]

    @property
    def is_public(self) -> bool:
        return not self.name.startswith("_")

    @property
    def words(self) -> frozenset[str]:
        return frozenset(token.text for token in self.code if token.kind == "word")


@dataclass(frozen=True)
class Routine:
    name: str
    line: int
    line_count: int
    parameters: tuple[str, ...]
    fixes_search_path: bool
    body: tuple[Token, ...]

    @property
    def is_public(self) -> bool:
        return not self.name.startswith("_")


@cache
def tokens(text: str, first_line: int = 1) -> list[Token]:
    """Every token except white space. A dollar-quoted body stays one token; `inside` returns its tokens."""
    found = []
    line = first_line
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        if kind != "space":
            found.append(Token(kind, match.group(), line))
        line += match.group().count("\n")
    return found


@cache
def inside(body: Token) -> list[Token]:
    tag_length = body.text.index("$", 1) + 1
    return tokens(body.text[tag_length:-tag_length], body.line)


@cache
def code(text: str) -> list[Token]:
    """All tokens, also those in the bodies of routines and `do` blocks, without comments."""
    flat: list[Token] = []
    for token in tokens(text):
        flat.extend(inside(token) if token.kind == "body" else [token])
    return [token for token in flat if token.kind != "comment"]


def comments(text: str) -> list[Token]:
    """Every comment, also inside bodies."""
    flat: list[Token] = []
    for token in tokens(text):
        flat.extend(inside(token) if token.kind == "body" else [token])
    return [token for token in flat if token.kind == "comment"]


def statements(found: list[Token]) -> Iterator[list[Token]]:
    """Top-level statements, without comments and without their closing semicolon."""
    statement: list[Token] = []
    for token in found:
        if token.kind == "comment":
            continue
        if token.text == ";":
            if statement:
                yield statement
            statement = []
        else:
            statement.append(token)
    if statement:
        yield statement


def words(statement: list[Token]) -> list[str]:
    return [token.text for token in statement]


@cache
def header(text: str) -> str:
    """The comment lines at the start of a file."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        lines.append(line.removeprefix("--").strip())
    return "\n".join(lines)


@cache
def definitions(text: str) -> list[Definition]:
    """What a file creates, in order; with the content of bodies, without comments."""
    lines = text.splitlines()
    found = []
    for statement in statements(tokens(text)):
        texts = words(statement)
        kind_at = next((at for at, word in enumerate(texts[:6]) if word in _KINDS), None)
        if texts[0] != "create" or kind_at is None:
            continue
        is_qualified = texts[kind_at + 2] == "."
        flat: list[Token] = []
        for token in statement:
            flat.extend(inside(token) if token.kind == "body" else [token])
        found.append(
            Definition(
                kind=texts[kind_at],
                name=texts[kind_at + 3] if is_qualified else texts[kind_at + 1],
                line=statement[0].line,
                comment=_comment_above(lines, statement[0].line),
                code=tuple(token for token in flat if token.kind != "comment"),
            )
        )
    return found


def _comment_above(lines: list[str], line: int) -> str:
    first = line - 1
    while first > 0 and lines[first - 1].startswith("--"):
        first -= 1
    return "\n".join(text.removeprefix("--").strip() for text in lines[first : line - 1])


@cache
def routines(text: str) -> list[Routine]:
    """The functions and procedures a file defines."""
    return [
        _routine(statement)
        for statement in statements(tokens(text))
        if words(statement)[0] == "create" and _kind_position(statement) is not None
    ]


def _kind_position(statement: list[Token]) -> int | None:
    head = words(statement)[:5]
    return next((at for at, word in enumerate(head) if word in ("function", "procedure")), None)


def _routine(statement: list[Token]) -> Routine:
    texts = words(statement)
    opening = texts.index("(")
    closing = _matching(texts, opening)
    bodies = [token for token in statement if token.kind == "body"]
    last = bodies[-1] if bodies else statement[-1]
    rest = texts[closing:]
    return Routine(
        name=texts[opening - 1],
        line=statement[0].line,
        # Only the body counts: a long list of parameters is easy to read.
        line_count=max(last.text.count("\n") - 1, 1),
        parameters=tuple(_parameters(texts[opening + 1 : closing])),
        fixes_search_path=any(pair == ("set", "search_path") for pair in pairwise(rest)),
        body=tuple(inside(bodies[-1])) if bodies else (),
    )


def _parameters(texts: list[str]) -> Iterator[str]:
    """Names of the parameters that a caller passes; the rules do not apply to output columns."""
    for part in split(texts):
        mode = part[0] if part[0] in ("in", "out", "inout", "variadic") else "in"
        if mode != "out":
            yield part[1] if part[0] == mode else part[0]


def split(texts: list[str]) -> Iterator[list[str]]:
    """The comma-separated parts, commas inside parentheses not counted."""
    part: list[str] = []
    depth = 0
    for text in texts:
        depth += (text in ("(", "[")) - (text in (")", "]"))
        if text == "," and depth == 0:
            yield part
            part = []
        else:
            part.append(text)
    if part:
        yield part


def _matching(texts: list[str], opening: int) -> int:
    depth = 0
    for at in range(opening, len(texts)):
        depth += (texts[at] == "(") - (texts[at] == ")")
        if depth == 0:
            return at
    raise ValueError("a parenthesis is never closed")
