"""Fixtures of the API tests: a real server with and without a database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest

from stepwell.api.app import create_app
from stepwell.api.envelope import LOOPBACK_NAMES
from stepwell.config import Settings
from tests.api.serving import closed_port, serving
from tests.support.roles import as_process, bound_token


@pytest.fixture
def ui_folder(tmp_path: Path) -> Path:
    """A small web console: one page, one asset with a hash in its name, one file without."""
    folder = tmp_path / "ui_dist"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>start page</title>")
    (folder / "assets" / "index-Ab12.js").write_text("export {};")
    (folder / "favicon.svg").write_text("<svg/>")
    (tmp_path / "secret.txt").write_text("not for the web")
    return folder


@pytest.fixture
def http(dsn: str, tmp_path: Path, ui_folder: Path) -> Iterator[httpx.Client]:
    """A client of a real server with the role of the API, on a migrated database; it has no token."""
    address = as_process(dsn, "api")
    settings = Settings(database_url=address, data_dir=tmp_path)
    app = create_app(settings, address, allowed_hosts=LOOPBACK_NAMES, ui_folder=ui_folder)
    with serving(app) as client:
        yield client


@pytest.fixture
def token(dsn: str) -> Callable[..., str]:
    """Makes a token of a principal of tenant 1: its name, its kind, its roles."""
    return partial(bound_token, dsn)


@pytest.fixture
def api(http: httpx.Client, token: Callable[..., str]) -> httpx.Client:
    """The same client with the token of an administrator."""
    http.headers["Authorization"] = f"Bearer {token()}"
    return http


@pytest.fixture
def api_without_database(tmp_path: Path, ui_folder: Path) -> Iterator[httpx.Client]:
    nowhere = f"host=127.0.0.1 port={closed_port()} dbname=none user=none"
    settings = Settings(database_url=nowhere, data_dir=tmp_path)
    with serving(create_app(settings, nowhere, ui_folder=ui_folder)) as client:
        yield client
