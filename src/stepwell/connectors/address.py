"""The one form of addresses: receives the address of a service, or a target below it, and returns its
canonical form, or refuses it. Policy judges this form and the connector sends it, so everybody must read it
in the same way: what servers read in different ways (`..`, `//`, `%2F`, `;`, backslashes) is refused. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final, NoReturn
from urllib.parse import SplitResult, unquote, unquote_to_bytes, urlsplit

from stepwell.connectors.base import EffectRefused
from stepwell.errors import UsageError

__all__ = ["path_below", "plain_target", "service_address"]

TARGET_LENGTH_LIMIT: Final = 2_000
_PORTS: Final = {"http": 80, "https": 443}
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
# In a path these mean the same with and without their percent form; the canonical form has them plain.
_PLAIN_IN_PATH: Final = frozenset(_LETTERS + "!$&'()*+,=:@")
_PLAIN_IN_QUERY: Final = frozenset(_LETTERS)
_RAW_IN_QUERY: Final = frozenset(_LETTERS + "!$&'()*+,=:@/?;[]|")
_PERCENT: Final = re.compile(r"%([0-9A-Fa-f]{2})|(.)", re.DOTALL)
# %25 followed by two digits: a server that decodes twice would read another character.
_TWICE: Final = re.compile(r"%25[0-9A-Fa-f]{2}")


def service_address(url: str, field: str, example: str) -> str:
    """The address of a service in its settings: scheme, host and path, without a slash at the end."""
    try:
        parts = urlsplit(url)
        host, port = _host(parts.hostname or ""), parts.port
    except (UnicodeError, ValueError):
        parts, host, port = SplitResult("", "", "", "", ""), "", None
    is_right = (
        parts.scheme in _PORTS
        and host
        and not any(mark in url for mark in "@?#\\")
        and all(" " < letter != "\x7f" for letter in url)
        and ("%" not in host or ":" in host)
        and not {".", ".."} & set(unquote(parts.path).split("/"))
    )
    if not is_right:
        raise UsageError(f"{field} is not accepted", hint=f"write {example}", field=field)
    place = f"[{host}]" if ":" in host else host
    if port is not None and port != _PORTS[parts.scheme]:
        place = f"{place}:{port}"
    return f"{parts.scheme}://{place}{parts.path.rstrip('/')}"


def path_below(target: str, *, keeps_encoded_slash: bool = False) -> str:
    """The canonical form of a target of HTTP: a path below the address of the service, maybe with a query.

    With `keeps_encoded_slash` a %2F is part of a name; without it, it is refused.
    """
    if len(target) > TARGET_LENGTH_LIMIT:
        _refuse(f"is longer than {TARGET_LENGTH_LIMIT} characters")
    if any(not " " < letter < "\x7f" for letter in target) or "\\" in target or "#" in target:
        _refuse("contains a space, a control or a letter that is not ASCII, a backslash or #")
    path, _, query = (target if target.startswith("/") else f"/{target}").partition("?")
    names = path[1:].split("/")
    if "" in names[:-1]:
        _refuse("has an empty part between two slashes")
    canonical = "/" + "/".join(_name(name, keeps_encoded_slash) for name in names)
    asked = _spelled(query, _PLAIN_IN_QUERY, _RAW_IN_QUERY)
    return f"{canonical}?{asked}" if asked else canonical


def plain_target(target: str) -> str:
    """The canonical form of a name that is no address: itself, without spaces around it, in form NFC."""
    canonical = unicodedata.normalize("NFC", target.strip())
    if any(unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp") for letter in canonical):
        _refuse("contains a control or an invisible character")
    return canonical


def _name(given: str, keeps_encoded_slash: bool) -> str:
    """One part of a path between two slashes."""
    canonical = _spelled(given, _PLAIN_IN_PATH, _PLAIN_IN_PATH)
    try:
        meant = unquote_to_bytes(canonical).decode()
    except UnicodeDecodeError:
        _refuse("has a percent form that is not UTF-8")
    is_other_form = unicodedata.normalize("NFKC", meant) != meant or any(
        map(_is_common_in_another_case, meant)
    )
    if is_other_form or not meant.isprintable():
        _refuse("has a percent form of a control, or of a letter that is another form of a common one")
    if "\\" in meant or ("/" in meant and not keeps_encoded_slash):
        _refuse("has an encoded slash or backslash")
    if ";" in meant:
        _refuse("has a semicolon; some servers read a part only up to it")
    for part in meant.split("/"):
        # Some servers drop dots and spaces at the end of a part.
        if part != part.strip(" ").rstrip("."):
            _refuse("has a part that ends with a dot or is . or ..")
    return canonical


def _is_common_in_another_case(letter: str) -> bool:
    """A server that ignores the case reads a dotless i as I."""
    return not letter.isascii() and (letter.upper().isascii() or letter.casefold().isascii())


def _spelled(text: str, decoded: frozenset[str], raw: frozenset[str]) -> str:
    """Each character in one way: plain if it is in `decoded` or, where it was plain, in `raw`."""

    def one(match: re.Match[str]) -> str:
        code, plain = match[1], match[2]
        if code is not None:
            letter = chr(int(code, 16))
            return letter if letter in decoded else f"%{code.upper()}"
        if plain not in raw:
            _refuse(f"contains {plain}, which has to be percent-encoded")
        return plain

    spelled = _PERCENT.sub(one, text)
    # Asked of the result: in `%25%61a` the second code becomes a letter first.
    if _TWICE.search(spelled):
        _refuse("is percent-encoded twice")
    return spelled


def _host(name: str) -> str:
    host = name.rstrip(".")
    return host if host.isascii() else host.encode("idna").decode("ascii")


def _refuse(why: str) -> NoReturn:
    raise EffectRefused(
        f"target {why}", hint="write a path such as /tickets/7, percent-encoded, without ..", field="target"
    )
