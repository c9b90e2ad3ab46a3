"""Read secrets at the time of a call: receives `env:NAME` or `file:PATH`, returns a value that never prints.

A secret that was read is removed from every error, effect and log line of this process. References come only
from settings: with a reference in the data of an action, a person who writes the data could read any secret.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NoReturn, TypeVar
from urllib.parse import quote, quote_plus

from stepwell import logs, redaction
from stepwell.connectors.base import EffectRefused, EffectUnknown
from stepwell.errors import StepwellError, UsageError
from stepwell.redaction import MASK

__all__ = ["MASK", "OpenedSecrets", "Secret", "SecretMissing", "SecretRef", "opened_secrets"]

VALUE_BYTES_LIMIT = 64 * 1024
# Shorter values occur in ordinary words and are easy to guess.
VALUE_LENGTH_MIN = 4
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")

T = TypeVar("T")


class SecretMissing(EffectRefused):
    """The secret of a reference does not exist; there is certainly no effect."""

    code = "secret_missing"


class Secret:
    """Only `reveal` returns the value; printed, formatted and logged it is ***."""

    __slots__ = ("__value",)

    def __init__(self, value: str) -> None:
        self.__value = value

    def reveal(self) -> str:
        """The value itself; give it only to the code that sends it."""
        return self.__value

    def __repr__(self) -> str:
        return MASK

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return MASK

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret cannot be pickled or copied")


@dataclass(frozen=True, slots=True)
class SecretRef:
    """Where a secret is: `env:NAME` or `file:PATH`. The secret is read when it is used."""

    reference: str
    ACCEPTED: ClassVar[str] = "write env:NAME or file:PATH"

    def __post_init__(self) -> None:
        kind, _, place = self.reference.partition(":")
        is_right = bool(_ENV_NAME.fullmatch(place)) if kind == "env" else kind == "file" and bool(place)
        if not is_right:
            # The message does not contain the value: it may be the secret itself.
            raise UsageError("secret is not a reference", hint=self.ACCEPTED, field="secret")

    def resolve(self) -> Secret:
        """Read the secret. Raises SecretMissing with the reference, never with a value."""
        kind, _, place = self.reference.partition(":")
        value = os.environ.get(place) if kind == "env" else self._read(Path(place))
        if not value:
            raise SecretMissing(
                f"secret {self.reference} is not set", hint="set it for this process", field="secret"
            )
        if len(value) < VALUE_LENGTH_MIN:
            raise SecretMissing(
                f"secret {self.reference} is shorter than {VALUE_LENGTH_MIN} characters",
                hint="use a longer secret: a short one cannot be removed from texts",
                field="secret",
            )
        return Secret(value)

    def _read(self, path: Path) -> str:
        try:
            with path.open("rb") as stream:
                found = stream.read(VALUE_BYTES_LIMIT + 1)
            if len(found) > VALUE_BYTES_LIMIT:
                raise SecretMissing(f"secret {self.reference} is larger than {VALUE_BYTES_LIMIT} bytes")
            return found.decode().rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise SecretMissing(f"secret {self.reference} cannot be read: {reason}", field="secret") from None


class OpenedSecrets:
    """The secrets of one call; it removes them from results and errors."""

    def __init__(self) -> None:
        self._forms: tuple[str, ...] = ()

    def open(self, ref: SecretRef, *, user: str | None = None) -> Secret:
        """`user` is the user name for basic authentication; that form of the secret is removed too."""
        secret = ref.resolve()
        found = {*self._forms, *_forms(secret.reveal(), user)}
        # The longest first, so that no part of a form remains.
        self._forms = tuple(sorted(found, key=len, reverse=True))
        redaction.know(self._forms)
        return secret

    def clean(self, value: T) -> T:
        """The value without the secrets: in texts, containers, keys and dataclasses, at any depth."""
        return self._clean(value) if self._forms else value

    def _clean(self, value: Any) -> Any:
        if isinstance(value, str):
            for form in self._forms:
                value = value.replace(form, MASK)
            return value
        if isinstance(value, Mapping):
            return {self._clean(name): self._clean(item) for name, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._clean(item) for item in value]
        if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **{f.name: self._clean(getattr(value, f.name)) for f in fields(value)})
        return value

    def clean_error(self, error: StepwellError) -> StepwellError:
        error.message = self.clean(error.message)
        error.detail = self.clean(error.detail)
        error.hint = self.clean(error.hint)
        error.args = (error.message,)
        error.__cause__ = error.__context__ = None
        return error


@contextmanager
def opened_secrets() -> Iterator[OpenedSecrets]:
    """Use it around one call. Errors raised inside lose their secrets and their causes."""
    opened = OpenedSecrets()
    logs.guard_records()
    try:
        yield opened
    except StepwellError as error:
        raise opened.clean_error(error) from None
    except Exception as error:
        # An unexpected error: the effect of the call is unknown.
        text = opened.clean(f"{type(error).__name__}: {error}")
        raise EffectUnknown(f"the connector failed: {text}") from None


def _forms(value: str, user: str | None) -> Iterator[str]:
    """The forms of a secret: itself, in a URL, in JSON, in a Python text, in a basic authorization header."""
    yield value
    yield quote(value, safe="")
    yield quote_plus(value)
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield repr(value)[1:-1]
    yield base64.b64encode(value.encode()).decode()
    if user is not None:
        yield base64.b64encode(f"{user}:{value}".encode()).decode()
        yield base64.b64encode(f"\0{user}\0{value}".encode()).decode()
