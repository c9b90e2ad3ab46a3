"""Find what a SQL/JSON path reads: splits the text as PostgreSQL does, refuses texts that are not a path, and
returns the references. PostgreSQL itself does the final check when a version is published.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from stepwell.define.limits import MAX_EXPRESSION_LENGTH
from stepwell.define.names import is_id
from stepwell.define.path_tokens import BAD, PathToken, path_tokens, unescape
from stepwell.define.problem import quoted

__all__ = ["ExpressionError", "Reading", "is_step_id", "read_expression", "step_path"]

STEP_MEMBERS: Final = ("status", "output", "error")
ROOT_MEMBERS: Final = ("input", "steps", "item", "index")
_ROOT_RULE: Final = (
    "an expression reads $.input…, $.steps.<id>.status|output|error, and in a Map body $.item and $.index"
)

_KEYWORDS: Final = frozenset(
    ("true", "false", "null", "strict", "lax", "last", "to", "exists", "is", "unknown", "starts", "with")
) | {"like_regex", "flag"}
_HINTS: Final = {"and": "&&", "or": "||", "not": "!", "None": "null", "True": "true", "False": "false"}

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# Most expressions are one plain path; matching those with one pattern is ten times cheaper.
_PLAIN_PATH = re.compile(
    r"\$\.(?:steps\.([A-Za-z_][A-Za-z0-9_]*)\.(status|output|error)|input)"
    r"(?:\.[A-Za-z_][A-Za-z0-9_]*|\[(?:[0-9]{1,9}|\*)\])*",
    re.ASCII,
)
_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}


class ExpressionError(ValueError):
    """The text is not a path over the document of a run; the message says what is accepted."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What an expression reads. `steps` has each id once, in the order of appearance; `judged` has those of
    them whose `.status` or `.error` is read, `outputs` those whose `.output` is read."""

    steps: tuple[str, ...] = ()
    reads_item: bool = False
    judged: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()


def is_step_id(text: str) -> bool:
    """True if the text is a step id. A step id as a test means: that step completed."""
    return is_id(text)


def step_path(step_id: str, member: str = "output") -> str:
    """The path of a member of a step; the id is quoted if it is not a plain key."""
    key = step_id if _PLAIN_KEY.fullmatch(step_id) else f'"{step_id}"'
    return f"$.steps.{key}.{member}"


def read_expression(text: str) -> Reading:
    """The references of a path; raises ExpressionError."""
    if len(text) > MAX_EXPRESSION_LENGTH:
        raise ExpressionError(f"has {len(text):,} characters; the limit is {MAX_EXPRESSION_LENGTH:,}")
    plain = _PLAIN_PATH.fullmatch(text)
    if plain:
        if not plain[1]:
            return Reading()
        found = (plain[1],)
        return Reading(found, outputs=found) if plain[2] == "output" else Reading(found, judged=found)
    tokens = list(_tokens(text))
    if not tokens:
        raise ExpressionError(f"is empty; {_ROOT_RULE}")
    _check_brackets(tokens)
    steps: dict[str, None] = {}
    judged: dict[str, None] = {}
    outputs: dict[str, None] = {}
    reads_item = False
    for position, token in enumerate(tokens):
        if token.text == "$" and token.kind == "operator":
            member, step_id = _root_reference(tokens, position)
            if step_id is not None:
                steps[step_id] = None
                read = outputs if _key(tokens, position + 5) == "output" else judged
                read[step_id] = None
            reads_item = reads_item or member in ("item", "index")
    _check_words(tokens)
    return Reading(tuple(steps), reads_item, tuple(judged), tuple(outputs))


def _tokens(text: str) -> Iterator[PathToken]:
    for token in path_tokens(text):
        if token.kind == BAD:
            raise ExpressionError(_explain(token))
        if token.kind == "variable":
            raise ExpressionError(
                f"{quoted(token.text)} at {token.at + 1}: there are no variables; {_ROOT_RULE}"
            )
        yield token


def _explain(bad: PathToken) -> str:
    character = bad.text
    where = f"at {bad.at + 1}"
    if character == '"':
        return f"the text that begins {where} has no closing quote"
    if character == "'":
        return f"single quotes {where}: a path writes texts in double quotes"
    if character == "=":
        return f'"=" {where}: a path compares with "=="'
    if character in "&|":
        return f"{quoted(character)} {where}: a path writes && and ||"
    if character == "/":
        return f"the comment that begins {where} is not closed"
    return f"{quoted(character)} {where} does not belong in a path"


def _check_brackets(tokens: list[PathToken]) -> None:
    open_tokens: list[PathToken] = []
    for token in tokens:
        if token.kind != "operator":
            continue
        if token.text in _CLOSING:
            open_tokens.append(token)
        elif token.text in _CLOSING.values():
            if not open_tokens or _CLOSING[open_tokens[-1].text] != token.text:
                raise ExpressionError(f"{quoted(token.text)} at {token.at + 1} has no opening bracket")
            open_tokens.pop()
    if open_tokens:
        last = open_tokens[-1]
        raise ExpressionError(f"{quoted(last.text)} at {last.at + 1} has no closing bracket")


def _check_words(tokens: list[PathToken]) -> None:
    """Refuse a word that is neither a key after a dot nor a keyword: its quotes or its $ are missing."""
    before: PathToken | None = None
    for token in tokens:
        is_key = before is not None and before.text == "." and before.kind == "operator"
        if token.kind == "word" and not is_key and token.text not in _KEYWORDS:
            if token.text.lower() in _KEYWORDS - {"true", "false", "null"}:
                pass
            elif token.text in _HINTS or token.text.lower() in ("and", "or", "not"):
                meant = _HINTS.get(token.text) or _HINTS[token.text.lower()]
                raise ExpressionError(f"{quoted(token.text)} at {token.at + 1}: a path writes {meant}")
            else:
                raise ExpressionError(
                    f"{quoted(token.text)} at {token.at + 1} is not known; write texts in double quotes "
                    f"and begin references with $: {_ROOT_RULE}"
                )
        before = token
    if tokens[-1].kind == "operator" and tokens[-1].text not in ("$", "@", ")", "]", "}", "*", "**"):
        raise ExpressionError(f"ends with {quoted(tokens[-1].text)}; something is missing after it")


def _root_reference(tokens: list[PathToken], position: int) -> tuple[str, str | None]:
    """The root member that a `$` reads and, for steps, the id. Reading the whole document is refused: its
    content depends on timing."""
    at = tokens[position].at + 1
    member = _key(tokens, position + 1)
    if member is None:
        raise ExpressionError(f"$ at {at} reads the whole document; {_ROOT_RULE}")
    if member not in ROOT_MEMBERS:
        raise ExpressionError(f"$.{member} at {at} does not exist; {_ROOT_RULE}")
    if member != "steps":
        return member, None
    step_id = _key(tokens, position + 3)
    if step_id is None:
        raise ExpressionError(f"$.steps at {at} reads every step; {_ROOT_RULE}")
    part = _key(tokens, position + 5)
    if part not in STEP_MEMBERS:
        shown = "nothing" if part is None else f".{part}"
        if part is not None or _looks_like_hyphen_id(tokens, position + 5):
            hint = f'; an id with "." or "-" is written in double quotes: $.steps."{step_id}…"'
        else:
            hint = ""
        raise ExpressionError(
            f"after $.steps.{step_id} at {at} comes {shown}; accepted: .status, .output or .error{hint}"
        )
    return member, step_id


def _looks_like_hyphen_id(tokens: list[PathToken], position: int) -> bool:
    return position < len(tokens) and tokens[position].text == "-"


def _key(tokens: list[PathToken], position: int) -> str | None:
    """The key of `.key` or `."key"` at this position, or None. A key before `(` is a method call."""
    if position + 1 >= len(tokens) or tokens[position].text != ".":
        return None
    key = tokens[position + 1]
    is_call = position + 2 < len(tokens) and tokens[position + 2].text == "("
    if key.kind == "string":
        return _unescape(key.text)
    return key.text if key.kind == "word" and not is_call else None


def _unescape(text: str) -> str:
    try:
        return unescape(text)
    except ValueError as error:
        raise ExpressionError(f"{quoted(str(error))} is not a character that can be stored") from None
