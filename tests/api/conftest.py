"""Fixtures of the API tests: a real server with and without a database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from stepwell.api.app import create_app
from stepwell.api.envelope import LOOPBACK_NAMES
from stepwell.config import Settings
from tests.api.serving import closed_port, serving


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
def api(dsn: str, tmp_path: Path, ui_folder: Path) -> Iterator[httpx.Client]:
    """A client of a real server on a migrated database."""
    settings = Settings(database_url=dsn, data_dir=tmp_path)
    app = create_app(settings, dsn, allowed_hosts=LOOPBACK_NAMES, ui_folder=ui_folder)
    with serving(app) as client:
        yield client


@pytest.fixture
def api_without_database(tmp_path: Path, ui_folder: Path) -> Iterator[httpx.Client]:
    nowhere = f"host=127.0.0.1 port={closed_port()} dbname=none user=none"
    settings = Settings(database_url=nowhere, data_dir=tmp_path)
    with serving(create_app(settings, nowhere, ui_folder=ui_folder)) as client:
        yield client
