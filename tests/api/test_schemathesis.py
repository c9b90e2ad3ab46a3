"""Every operation of the OpenAPI document, with values that fit it and values that do not.

The document is read from the application, so that new operations are probed without a change here.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from stepwell.api.app import create_app
from stepwell.config import Settings
from tests.api.routes import made
from tests.api.serving import serving
from tests.sql.drive import Engine, human, operation
from tests.support.databases import Databases
from tests.support.roles import as_process, bound_token
from tests.support.sample import WANTED, sample

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
# A stream does not end, and a bundle is no JSON: other tests have them. `make test` probes one path in ten.
ELSEWHERE = ("/api/v1/stream", "/api/v1/evidence/verify")
PATHS = [path for path in made().openapi()["paths"] if path not in ELSEWHERE]
schema = schemathesis.openapi.from_dict(made().openapi()).include(path=PATHS if WANTED else PATHS[::10])
numbers = count()


@pytest.fixture(scope="module")
def probed(databases: Databases, template: str) -> Iterator[tuple[str, str]]:
    """One server for all operations, with a run and an approval: its database and its address."""
    with databases.fresh(template) as dsn:
        with psycopg.connect(dsn, autocommit=True, options="-csearch_path=stepwell,public") as db:
            engine = Engine(db)
            engine.person("ada")
            engine.publish("w", operation("a"), human("sign", role="office"))
            run_id = engine.start("w")
            engine.one("select fn_approval_request(1, 'stop', %s, 'ada')", (run_id << 20,))
        address = as_process(dsn, "api")
        settings = Settings(
            database_url=address, data_dir=Path("/nonexistent"), api_requests_per_second=100_000
        )
        with serving(create_app(settings, address)) as client:
            yield dsn, str(client.base_url).rstrip("/")


@schema.parametrize()
@sample(3)
def test_every_operation_answers_as_the_document_says(case: schemathesis.Case, probed: tuple[str, str]):
    dsn, base_url = probed
    # Another principal for each example: one of them may end its own session or token.
    bearer = {"Authorization": f"Bearer {bound_token(dsn, f'probe-{next(numbers)}')}"}
    # A position that is not reached yet is waited for; tests/api/test_conventions.py has it.
    (case.query or {}).pop("min_position", None)
    response = case.call(base_url=base_url, headers=bearer, timeout=60)
    case.validate_response(response, checks=CHECKS)
