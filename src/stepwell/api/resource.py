"""Declare the routes of a resource: receives a path and a verb, adds a route that `conduct` conducts.

`read` and `write` are the only two kinds. Everything that all routes share is documented and done here: who
may call, problems, `min_position`, `Idempotency-Key`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Scope

from stepwell.api import accepted, catalogue
from stepwell.api.conduct import KEY_HEADER, POSITION_HEADER, REPLAYED_HEADER, Terms, conduct

F = TypeVar("F", bound=Callable[..., Any])

_VERB: Final = "x-stepwell-verb"
_SECRETS: Final = "x-stepwell-shown-once"
_TAKES_SECRET: Final = "x-stepwell-takes-secret"
_SECURITY: Final[list[dict[str, list[str]]]] = [{"token": []}, {"session": []}]
_MIN_POSITION: Final[dict[str, Any]] = {
    "name": "min_position",
    "in": "query",
    "required": False,
    "description": f"read not before the log has reached this {POSITION_HEADER}; waits 5 seconds at most",
    "schema": {"type": "string", "pattern": "^[0-9]{1,19}$"},
    "example": "1234",
}
_KEY: Final = {
    "name": KEY_HEADER,
    "in": "header",
    "required": False,
    "description": "repeat a request with the same key, and it is done once and answered the same",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
    "example": "9b2f5f8e-6d0a-4d55-9c6e-0f7d3c1b2a10",
}
_READ_HEADERS: Final = {"ETag": {"description": "for If-None-Match", "schema": {"type": "string"}}}
_WRITE_HEADERS: Final = {
    POSITION_HEADER: {
        "description": "the position of the log that the write reached, for min_position",
        "schema": {"type": "string"},
    },
    REPLAYED_HEADER: {
        "description": "true: the answer of the first request with this key",
        "schema": {"type": "string"},
    },
}


class CallRoute(APIRoute):
    """A route that needs a caller. Its verb stands in the OpenAPI document."""

    @property
    def terms(self) -> Terms:
        declared = self.openapi_extra or {}
        return Terms(
            declared[_VERB],
            not (self.methods or set()) <= {"GET", "HEAD"},
            tuple(declared.get(_SECRETS, ())),
            bool(declared.get(_TAKES_SECRET)),
        )

    def get_route_handler(self) -> Any:
        route = super().get_route_handler()
        terms = self.terms
        takes_body = self.body_field is not None or "requestBody" in (self.openapi_extra or {})
        queries = accepted.queries_of(self.dependant) | (set() if terms.writes else {_MIN_POSITION["name"]})

        async def checked(request: Request) -> Response:
            accepted.refuse_other_queries(request, queries)
            if terms.writes and not takes_body:
                accepted.refuse_any(await request.body())
            answer: Response = await route(request)
            return answer

        async def conducted(request: Request) -> Response:
            return await conduct(request, terms, checked)

        return conducted


def verbs_of(routers: Iterable[APIRouter]) -> dict[str, str | None]:
    """Name of an operation → the verb that it needs; None: no verb, only a caller."""
    return {
        str(route.operation_id): route.terms.verb
        for router in routers
        for route in router.routes
        if isinstance(route, CallRoute)
    }


class Resource(APIRouter):
    """The routes of one resource. `verb=None`: everybody who is signed in may call it."""

    def __init__(self, tag: str) -> None:
        super().__init__(tags=[tag], route_class=CallRoute)
        self._first_words: frozenset[str] | None = None

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether a route fits. No path begins with a parameter, so the first word rules most resources out.

        To compare the path with each of all routes would take a quarter of the time of a short call.
        """
        if self._first_words is None:
            self._first_words = frozenset(
                route.path.split("/")[1] for route in self.routes if isinstance(route, APIRoute)
            )
        # "", "api", "v1", the first word, the rest.
        words = scope.get("path", "").split("/", 4)
        if len(words) > 3 and words[3] not in self._first_words:
            return Match.NONE, {}
        return super().matches(scope)

    def read(
        self,
        path: str,
        *,
        summary: str,
        verb: str | None = "read",
        problems: Iterable[str] = ("not_found",),
        **more: Any,
    ) -> Callable[[F], F]:
        """A GET that changes nothing."""
        codes = (*catalogue.EVERY_CALL, *catalogue.READS, *problems)
        return self._route(path, "GET", verb, 200, codes, summary, more, {"parameters": [_MIN_POSITION]})

    def write(
        self,
        path: str,
        *,
        summary: str,
        verb: str | None,
        method: str = "POST",
        status: int = 200,
        shown_once: Iterable[str] = (),
        body: dict[str, Any] | None = None,
        takes_secret: bool = False,
        problems: Iterable[str] = ("not_found",),
        **more: Any,
    ) -> Callable[[F], F]:
        """A call that changes something. Fields that are `shown_once` are null in the answer to a repeat.

        `body` describes a body that is no JSON, for the OpenAPI document. Nothing of a request that
        `takes_secret` is kept: a repeat is done again.
        """
        codes = (*catalogue.EVERY_CALL, *catalogue.WRITES, *problems)
        extra: dict[str, Any] = {} if takes_secret else {"parameters": [_KEY]}
        if once := list(shown_once):
            extra[_SECRETS] = once
        if takes_secret:
            extra[_TAKES_SECRET] = True
        return self._route(path, method, verb, status, codes, summary, more, extra | (body or {}))

    def _route(
        self,
        path: str,
        method: str,
        verb: str | None,
        status: int,
        codes: Iterable[str],
        summary: str,
        more: dict[str, Any],
        declared: dict[str, Any],
    ) -> Callable[[F], F]:
        is_read = method == "GET"
        responses = catalogue.responses(dict.fromkeys(codes))
        responses[status] = {"headers": _READ_HEADERS if is_read else _WRITE_HEADERS}
        if is_read:
            responses[304] = {"description": "The caller has it already (If-None-Match)."}
        extra: dict[str, Any] = {_VERB: verb, "security": _SECURITY, **declared}

        def declare(endpoint: F) -> F:
            self.add_api_route(
                path,
                endpoint,
                methods=[method],
                status_code=status,
                summary=summary,
                responses=responses,
                openapi_extra=extra,
                operation_id=endpoint.__name__,
                **more,
            )
            return endpoint

        return declare
