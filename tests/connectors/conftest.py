"""Fixtures of the connector tests: a local HTTP server, a planted secret, calls of perform and confirm."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from stepwell.connectors.base import Action, Connector, Effect
from tests.connectors.http_server import LocalServer, local_server

KEY = "run-7:notify:1"


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with local_server() as started:
        yield started


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> str:
    """The value of the secret `env:PLANTED_TOKEN`."""
    value = 'canary-7f3a+/&=tok"en'
    monkeypatch.setenv("PLANTED_TOKEN", value)
    return value


def action(connector: Connector, operation: str, target: str, fields: Any = None, key: str = KEY) -> Action:
    return Action(1, connector.name, operation, target, fields or {}, key, reversible=True)


@pytest.fixture
def perform() -> Callable[..., Effect]:
    def call(connector: Connector, operation: str, target: str, fields: Any = None, key: str = KEY) -> Effect:
        return asyncio.run(connector.perform(action(connector, operation, target, fields, key)))

    return call


@pytest.fixture
def confirm() -> Callable[..., Effect | None]:
    def call(
        connector: Connector, operation: str, target: str, fields: Any = None, key: str = KEY
    ) -> Effect | None:
        return asyncio.run(connector.confirm(action(connector, operation, target, fields, key)))

    return call
