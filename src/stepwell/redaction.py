"""Remove secrets from texts and values before they are stored or logged: receives a text or a JSON value,
returns it without what has the name or the shape of a secret, and without the secrets this process has read.

The database does the same by name and shape (`base/redaction.sql`); a test holds the two equal. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

__all__ = ["KEY_PATTERN", "is_secret_name", "know", "text", "value"]

MASK: Final = "***"
REDACTED: Final = "[redacted]"
KNOWN_LIMIT: Final = 1_000
# The same as the setting redaction.key_pattern.
KEY_PATTERN: Final = (
    "((password|passwd|passphrase|passcode|pwd|secret|api[_-]?key|(access|private|secret|signing|encryption|master)[_-]?key"
    "|credential|cookie|(access|refresh|auth|bearer|api)[_-]?token)s?|token|authorization|auth|session([_-]?id)?|jwt|bearer"
    "|(^|[_-])(pass|pw|otp))([_-]?(value|text|plain|raw|old|new|current|header|string|base64|hex|[0-9]{1,3}))?$"
)
_KEY: Final = re.compile(KEY_PATTERN, re.I | re.A)
_REFERENCE: Final = re.compile(r"(env|file):")
_IGNORED: Final = re.I | re.A
# In this order; each with its replacement. base/redaction.sql has the same patterns.
_TEXTS: Final = (
    (
        re.compile(
            r"-----BEGIN [A-Z ]*?PRIVATE KEY(?: BLOCK)?-----.*?"
            r"(-----END [A-Z ]*?PRIVATE KEY(?: BLOCK)?-----|\Z)",
            re.S,
        ),
        REDACTED,
    ),
    (
        re.compile(
            r"(authorization|cookie)(\\*[\"']?\s*[:=](?!\s*\\*[\"']?(?:\[redacted|\*\*\*))\s*\\*[\"']?)[^\r\n\"']{4,}",
            _IGNORED,
        ),
        rf"\1\2{REDACTED}",
    ),
    (re.compile(r"(://[^/?#@\s:]*):[^/?#@\s]*@", _IGNORED), rf"\1:{REDACTED}@"),
    (re.compile(r"((bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}", _IGNORED), rf"\1{REDACTED}"),
    (
        re.compile(
            r"((?:password|passwd|passphrase|passcode|pwd|secret|api_?-?key|(?:access|private|secret|signing)[_-]?key"
            r"|credential)s?|token|session(?:[_-]?id)?|auth|signature|sig)(\\*[\"']?\s*[:=](?!\s*\\*[\"']?(?:\[redacted|\*\*\*|env:|file:))\s*)"
            # Between quotes everything: a passphrase has spaces. In JSON inside a text they are escaped.
            r"(?:(\\+[\"'])[^\"'\r\n]+|(\")(?:[^\"\\\r\n]|\\[^\r\n])+|(')(?:[^'\\\r\n]|\\[^\r\n])+|[^\s\"'&,;}\]#]{4,})",
            _IGNORED,
        ),
        rf"\1\2\3\4\5{REDACTED}",
    ),
    (
        # The option of a command, and its value.
        re.compile(
            r"((?:^|\s)--?(?:[a-z0-9]+[_-])*(?:password|passwd|passphrase|pwd|secret|token|api-?key|auth)\s+[\"']?)"
            r"(?![-\[\"'])[^\s\"']{6,}",
            _IGNORED,
        ),
        rf"\1{REDACTED}",
    ),
    (
        re.compile(
            r"eyJ[A-Za-z0-9_-]{8,}(\.[A-Za-z0-9_-]*){1,4}|(AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}|xox[a-z][.-][A-Za-z0-9.-]{8,}"
            r"|xapp-[A-Za-z0-9-]{8,}|gh[opsur]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|gl[a-z]{2,4}-[A-Za-z0-9_-]{16,}"
            r"|sk-[A-Za-z0-9_-]{20,}|(sk|rk|pk)_(live|test)_[A-Za-z0-9]{12,}|AIza[0-9A-Za-z_-]{30,}|npm_[A-Za-z0-9]{30,}"
            r"|pypi-[A-Za-z0-9_-]{16,}|sw[a-z]?_[0-9a-f]{64}|hooks\.slack\.com/[a-z]+/[A-Za-z0-9/_-]{20,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
            r"|ya29\.[A-Za-z0-9_-]{20,}|whsec_[A-Za-z0-9]{20,}|hf_[A-Za-z0-9]{30,}|do[opr]_v1_[0-9a-f]{64}|shp[a-z]{2}_[0-9a-fA-F]{32}"
            r"|AGE-SECRET-KEY-1[0-9A-Z]{50,}|AccountKey=[A-Za-z0-9+/]{20,}"
        ),
        REDACTED,
    ),
)
# A list of names and values, such as headers: the name decides about the value beside it.
_NAMES: Final = frozenset(
    {"name", "key", "k", "header", "field", "parameter", "param", "property", "variable"}
)
_VALUES: Final = frozenset({"value", "values", "val", "v", "content", "data", "text"})

_known: dict[str, None] = {}
_longest_first: tuple[str, ...] = ()


def know(forms: Iterable[str]) -> None:
    """From now on these secrets are removed from every text; the oldest are forgotten first."""
    global _longest_first
    for form in forms:
        _known.pop(form, None)
        _known[form] = None
    for form in list(_known)[: max(0, len(_known) - KNOWN_LIMIT)]:
        del _known[form]
    _longest_first = tuple(sorted(_known, key=len, reverse=True))


def is_secret_name(name: str) -> bool:
    return _KEY.search(name) is not None


def text(given: str) -> str:
    """A text without known secrets and without what looks like one."""
    for form in _longest_first:
        given = given.replace(form, MASK)
    for pattern, replacement in _TEXTS:
        given = pattern.sub(replacement, given)
    return given


def value(given: Any) -> Any:
    """A JSON value without secrets: by the names of its keys, in its texts, in lists of names and values."""
    if isinstance(given, str):
        return text(given)
    if isinstance(given, Mapping):
        named = any(
            str(name).lower() in _NAMES and isinstance(item, str) and is_secret_name(item)
            for name, item in given.items()
        )
        return {
            text(str(name)): _hidden(item)
            if is_secret_name(str(name)) or (named and str(name).lower() in _VALUES)
            else value(item)
            for name, item in given.items()
        }
    if isinstance(given, (list, tuple)):
        return [
            _hidden(item) if place and _names_next(given[place - 1], len(given)) else value(item)
            for place, item in enumerate(given)
        ]
    return given


def _names_next(given: Any, length: int) -> bool:
    """Whether what follows in a list is a secret: the value of a pair, or of an option of a command."""
    return isinstance(given, str) and (length == 2 or given.startswith("-")) and is_secret_name(given)


def _hidden(given: Any) -> Any:
    """Null, true, false and references to secrets say nothing and stay."""
    is_plain = given is None or isinstance(given, bool)
    return given if is_plain or (isinstance(given, str) and _REFERENCE.match(given)) else REDACTED
