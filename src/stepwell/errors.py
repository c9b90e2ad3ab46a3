"""All errors that stepwell raises; receives database errors, returns exceptions.

StepwellError
├── InvalidInput          SW001  a field is wrong; the message says what would be accepted
├── NotFound              SW002  the named thing does not exist (for this tenant)
├── Conflict              SW003  the state or the content of the thing does not allow the request
│   └── ActionConflict           the idempotency key belongs to another action
├── Refused               SW004  the registry, a guard or a policy does not allow it
│   ├── PolicyDenied             a policy denies the action, or no rule allows it
│   ├── ApprovalRejected         a reviewer rejected the approval
│   ├── ApprovalExpired          no reviewer decided in time
│   └── ApprovalCancelled        the approval request was withdrawn
├── LeaseLost             SW005  the lease ended or belongs to another session
├── LimitExceeded         SW006  too many, too large, too deep, too long
├── PermissionDenied      SW007  the caller may not do this
├── UnsupportedDatabase   SW008  stepwell does not support this server or its version
├── EffectInFlight               another worker is doing the same action now
├── UsageError                   a command or setting is wrong
├── SchemaError                  the migrations and the database do not match
├── ServerBusy                   every connection to the database is in use; nothing was done
├── StorageUnavailable           a file of a bundle or an anchor could not be written or read
└── DatabaseFailure              PostgreSQL itself raised an error
    └── DatabaseUnavailable      the database did not answer, or its data folder cannot be used
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

__all__ = [
    "ActionConflict",
    "ApprovalCancelled",
    "ApprovalExpired",
    "ApprovalRejected",
    "Conflict",
    "DatabaseFailure",
    "DatabaseUnavailable",
    "EffectInFlight",
    "InvalidInput",
    "LeaseLost",
    "LimitExceeded",
    "NotFound",
    "PermissionDenied",
    "PolicyDenied",
    "Refused",
    "SchemaError",
    "ServerBusy",
    "StepwellError",
    "StorageUnavailable",
    "UnsupportedDatabase",
    "UsageError",
    "from_database",
]


class StepwellError(Exception):
    """Base class of all errors. `code` is stable, for programs; the message is for people.

    A refusal of the database also has `codes`, the stable codes of its reasons, such as
    `transition_refused_by_guard:actor_is_pic`, and `translations`: the message by language.
    """

    code: ClassVar[str] = "error"
    sqlstate: str | None = None
    codes: tuple[str, ...] = ()
    translations: Mapping[str, str] = {}
    # The event that the registry rejected: the client keeps it in a transaction of its own.
    rejected: Mapping[str, Any] | None = None

    def __init__(
        self,
        message: str,
        *,
        detail: str | None = None,
        hint: str | None = None,
        field: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.hint = hint
        self.field = field
        if hint:
            self.add_note(f"Hint: {hint}")  # the last line of a traceback

    def __str__(self) -> str:
        return self.message

    @property
    def is_transient(self) -> bool:
        """True if the same request may succeed later without any change."""
        return False

    def sentence(self) -> str:
        """Message and hint on one line, for a terminal."""
        text = " ".join(self.message.split()).rstrip(".?!")
        hint = " ".join((self.hint or "").split())
        if hint.endswith("?"):
            return f"{text}. {hint[0].upper()}{hint[1:]}"
        return f"{text}: {hint.rstrip('.')}." if hint else f"{text}."


class InvalidInput(StepwellError):
    code = "invalid_input"
    sqlstate = "SW001"


class NotFound(StepwellError):
    code = "not_found"
    sqlstate = "SW002"


class Conflict(StepwellError):
    code = "conflict"
    sqlstate = "SW003"


class Refused(StepwellError):
    code = "refused"
    sqlstate = "SW004"


class ActionConflict(Conflict):
    code = "action_conflict"


class PolicyDenied(Refused):
    """`reason_code` is the reason as one word: rule, no_policy, no_match, rule_error, policy_timeout, …"""

    code = "policy_denied"
    reason_code: str = "rule"


class ApprovalRejected(Refused):
    code = "approval_rejected"


class ApprovalExpired(Refused):
    code = "approval_expired"


class ApprovalCancelled(Refused):
    code = "approval_cancelled"


class EffectInFlight(StepwellError):
    code = "effect_in_flight"

    @property
    def is_transient(self) -> bool:
        return True


class LeaseLost(StepwellError):
    code = "lease_lost"
    sqlstate = "SW005"


class LimitExceeded(StepwellError):
    code = "limit_exceeded"
    sqlstate = "SW006"


class PermissionDenied(StepwellError):
    code = "permission_denied"
    sqlstate = "SW007"


class UnsupportedDatabase(StepwellError):
    code = "unsupported_database"
    sqlstate = "SW008"


class UsageError(StepwellError):
    code = "usage"


class SchemaError(StepwellError):
    code = "schema"


class ServerBusy(StepwellError):
    code = "server_busy"

    @property
    def is_transient(self) -> bool:
        return True


class StorageUnavailable(StepwellError):
    code = "storage_unavailable"

    @property
    def is_transient(self) -> bool:
        return True


class DatabaseFailure(StepwellError):
    """An error that PostgreSQL itself raised; `sqlstate` is the code of PostgreSQL."""

    code = "database_failure"

    @property
    def is_transient(self) -> bool:
        return self.sqlstate in _TRANSIENT_SQLSTATES


class DatabaseUnavailable(DatabaseFailure):
    code = "database_unavailable"

    @property
    def is_transient(self) -> bool:
        return True


_BY_SQLSTATE: dict[str, type[StepwellError]] = {
    "SW001": InvalidInput,
    "SW002": NotFound,
    "SW003": Conflict,
    "SW004": Refused,
    "SW005": LeaseLost,
    "SW006": LimitExceeded,
    "SW007": PermissionDenied,
    "SW008": UnsupportedDatabase,
    "42501": PermissionDenied,
}

# Another transaction has the lock, and the call does not wait for it.
LOCKED_SQLSTATE = "55P03"
# The call collided with another transaction and wrote nothing: serialization failure, deadlock, busy lock.
COLLISION_SQLSTATES = frozenset({"40001", "40P01", LOCKED_SQLSTATE})
# A statement was cancelled by a time limit or by a person.
CANCELLED_SQLSTATE = "57014"
# The same call may succeed later: a collision, or a statement that was cancelled.
_TRANSIENT_SQLSTATES = COLLISION_SQLSTATES | {CANCELLED_SQLSTATE}

# Undefined schema, table, function or column: the database is older than this release, or has no schema.
UNDEFINED_SQLSTATES = frozenset({"3F000", "42P01", "42883", "42703"})

# Connection trouble, operator shutdown, too many connections, disk full.
_UNAVAILABLE_CLASSES = ("08", "57P", "53")


def from_database(error: BaseException) -> StepwellError:
    """Turn a `psycopg.Error` into a StepwellError. Reads attributes only, so no driver is imported here."""
    if isinstance(error, StepwellError):
        return error
    sqlstate: str | None = getattr(error, "sqlstate", None)
    diag = getattr(error, "diag", None)
    primary: str | None = getattr(diag, "message_primary", None)
    message = primary or (str(error).strip() or type(error).__name__)
    detail: str | None = getattr(diag, "message_detail", None)
    hint: str | None = getattr(diag, "message_hint", None) or None
    field: str | None = getattr(diag, "column_name", None)
    if sqlstate is None:
        # The driver gives no SQLSTATE when the connection could not be made or was cut.
        cls: type[StepwellError] = DatabaseUnavailable if _is_connection_error(error) else DatabaseFailure
        if cls is DatabaseUnavailable:
            # libpq adds the line "Is the server running …?"; our hint replaces it.
            said = " ".join(line for line in message.splitlines() if not line.startswith("\tIs the server"))
            message = f"the database cannot be reached: {' '.join(said.split())}"
            hint = "check its address, that it runs, and that it accepts your user and password"
    elif sqlstate in _BY_SQLSTATE:
        cls = _BY_SQLSTATE[sqlstate]
    elif sqlstate.startswith(_UNAVAILABLE_CLASSES):
        cls = DatabaseUnavailable
    else:
        cls = DatabaseFailure
    if sqlstate == "42501" and hint is None:
        hint = "use the role of the owner, or let the owner grant it; 'stepwell doctor' shows what is missing"
    refusal = _refusal(detail) if cls is Refused else {}
    found = cls(message, detail=None if refusal else detail, hint=hint, field=field)
    found.codes = tuple(refusal.pop("codes", ()))
    found.rejected = refusal.pop("rejected", None)
    found.translations = refusal
    if issubclass(cls, DatabaseFailure):
        found.sqlstate = sqlstate
    return found


def _refusal(detail: str | None) -> dict[str, Any]:
    """The codes of a refusal, and its sentence in each language."""
    try:
        found = json.loads(detail or "")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _is_connection_error(error: BaseException) -> bool:
    names = {base.__name__ for base in type(error).__mro__}
    return bool(names & {"OperationalError", "InterfaceError", "PoolTimeout", "PoolClosed", "OSError"})
