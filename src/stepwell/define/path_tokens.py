"""Split a SQL/JSON path as the scanner of PostgreSQL does: receives text, returns tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

__all__ = ["BAD", "PathToken", "path_tokens", "unescape"]

# The kind of the last token if the text cannot be split further; its text is the wrong character.
BAD: Final = "bad"

# The characters that end an unquoted key in the scanner of PostgreSQL, and the quotes.
_ENDS = r"\s?%$.\[\]{}()|&!=<>@\#,*:+/\\\"'\-"
_TOKEN = re.compile(
    rf"""
    (?P<space>[ \t\n\r\f]+)
  | (?P<comment>/\*(?:[^*]|\*(?!/))*\*/)
  | (?P<string>"(?:[^"\\]|\\.)*")
  | (?P<number>(?:0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+
      |(?:\d[\d_]*)?\.?\d[\d_]*\.?(?:[eE][+-]?\d+)?)(?![^{_ENDS}]))
  | (?P<variable>\$[^{_ENDS}]+|\$"(?:[^"\\]|\\.)*")
  | (?P<operator>\*\*|&&|\|\||==|<>|!=|<=|>=|/(?!\*)|[?%$.\[\]{{}}()!<>@,*+-])
  | (?P<word>[^{_ENDS}]+)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_SIMPLE_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class PathToken(NamedTuple):
    """`kind` is string, number, variable, operator, word or bad; `at` counts from 0."""

    kind: str
    text: str
    at: int


def path_tokens(text: str) -> Iterator[PathToken]:
    """The tokens without spaces and comments. A `bad` token is always the last one."""
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            yield PathToken(BAD, text[at], at)
            return
        kind = found.lastgroup or ""
        if kind not in ("space", "comment"):
            yield PathToken(kind, found.group(), at)
        at = found.end()


def unescape(quoted: str) -> str:
    """The characters of a text in double quotes. Raises ValueError for an escape that is not a character."""

    def character(found: re.Match[str]) -> str:
        code = found.group(2) or found.group(3) or found.group(4)
        if code:
            number = int(code, 16)
            if number == 0 or number > 0x10FFFF:
                raise ValueError(found.group())
            return chr(number)
        return _SIMPLE_ESCAPES.get(found.group(5), found.group(5))

    return _ESCAPE.sub(character, quoted[1:-1])
