"""How values are shown: models made from the frozen values of the store, with numbers of rows as texts."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from starlette.responses import Response


def _as_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


# JavaScript reads a number above 2^53 wrongly, and the numbers of steps are larger than that.
Id = Annotated[str, BeforeValidator(_as_text), Field(description="a number, as text", examples=["7340033"])]


def _as_seconds(value: object) -> object:
    return value.total_seconds() if isinstance(value, timedelta) else value


Seconds = Annotated[float, BeforeValidator(_as_seconds)]


class Shown(BaseModel):
    """A value of the store; `Shown.model_validate(value)` reads its fields by name."""

    model_config = ConfigDict(from_attributes=True)


def as_json(text: str) -> Response:
    """JSON that the database wrote, as it is."""
    return Response(text, media_type="application/json")


class Changed(BaseModel):
    """The state after a write."""

    state_code: str
