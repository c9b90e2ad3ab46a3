"""What a caller may send: receives bodies and queries, refuses names that do not exist and tells which do.

A misspelled name would be left out in silence: a run would start with an empty input, a list would have all
runs instead of the failed ones.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final, get_args

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict

from stepwell.define.problem import did_you_mean

UNKNOWN: Final = "extra_forbidden"
_REFUSED: Final = "stepwell_refused"


def in_utc(moment: datetime) -> datetime:
    """The same time in UTC: PostgreSQL knows fewer offsets than Python. Raises ValueError."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("the time is outside the years 1 to 9999 of UTC") from None


# A time that a caller sends; it must have a zone.
Moment = Annotated[AwareDatetime, AfterValidator(in_utc)]


class Body(BaseModel):
    """What a caller sends with a write, or a part of it."""

    model_config = ConfigDict(extra="forbid")


def refuse_any(body: bytes) -> None:
    """Refuse what is sent to a call that takes no body; an empty object says nothing, so it may be sent."""
    if body.strip() in (b"", b"{}", b"null"):
        return
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    name = next(iter(found)) if isinstance(found, dict) and found else None
    raise _refusal(("body",) if name is None else ("body", name), "this call takes no body")


def queries_of(dependant: Dependant) -> frozenset[str]:
    """The names of the query parameters of a route, those of its dependencies too."""
    own = (param.alias for param in dependant.query_params)
    return frozenset(own).union(*(queries_of(part) for part in dependant.dependencies))


def refuse_other_queries(request: Request, known: frozenset[str]) -> None:
    for name in request.query_params:
        if name not in known:
            raise _refusal(("query", name), _unknown("parameter", name, sorted(known)))


def _refusal(place: tuple[str, ...], message: str) -> RequestValidationError:
    return RequestValidationError([{"type": _REFUSED, "loc": place, "msg": message}])


def _unknown(kind: str, given: str, accepted: Sequence[str]) -> str:
    listed = ", ".join(accepted) or "none"
    # To compare a name of megabytes would stop all other requests.
    return f"there is no such {kind}{did_you_mean(given[:100], accepted)}; accepted: {listed}"


def sentence(route: object, error: dict[str, Any]) -> str:
    """What is wrong with a field, and what is accepted; `error` is one of pydantic."""
    if error["type"] != UNKNOWN or not isinstance(route, APIRoute) or route.body_field is None:
        return str(error["msg"])
    names = _accepted(route.body_field.field_info.annotation, error["loc"][1:-1])
    return _unknown("field", str(error["loc"][-1]), names)


def models_of(annotation: object) -> Iterator[type[BaseModel]]:
    """The models in an annotation: of an optional value, of the items of a list."""
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from models_of(part)


def _accepted(annotation: object, path: Sequence[int | str]) -> list[str]:
    """The fields of the object at this place of a body."""
    models = list(models_of(annotation))
    for part in path:
        # A part that names no field is the place in a list.
        fields = [model.model_fields[part] for model in models if part in model.model_fields]
        models = [one for field in fields for one in models_of(field.annotation)] if fields else models
    return sorted({field.alias or name for model in models for name, field in model.model_fields.items()})
