"""The web console over HTTP: pages, assets, caching, and nothing outside its folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import httpx
import pytest

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.mark.parametrize(
    "path", ["/", "/runs/42", "/governance/problems", "/workflows/order.process", "/a/b/c"]
)
def test_every_address_of_the_web_console_can_be_reloaded(api: httpx.Client, path: str):
    response = api.get(path, headers=HTML)
    assert response.status_code == 200
    assert "start page" in response.text
    assert response.headers["Cache-Control"] == "no-cache"


def test_a_file_with_a_hash_in_its_name_is_cached_forever(api: httpx.Client):
    response = api.get("/assets/index-Ab12.js")
    assert "immutable" in response.headers["Cache-Control"]
    assert "javascript" in response.headers["Content-Type"]


def test_a_file_without_a_hash_is_requested_again(api: httpx.Client):
    first = api.get("/favicon.svg")
    assert first.headers["Cache-Control"] == "no-cache"
    again = api.get("/favicon.svg", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_a_missing_asset_is_not_found_also_for_a_browser(api: httpx.Client):
    assert api.get("/assets/index-0ld.js", headers=HTML).status_code == 404


def test_a_program_that_requests_the_root_gets_a_list_of_links(api: httpx.Client):
    text = api.get("/", headers={"Accept": "*/*"})
    assert text.status_code == 200
    assert text.headers["Content-Type"].startswith("text/plain")
    assert f"{api.base_url}/api/v1/docs" in text.text
    found = api.get("/", headers={"Accept": "application/json"}).json()
    assert found["name"] == "stepwell"
    assert {api.get(link).status_code for link in found["links"].values()} == {200}


def test_a_program_that_requests_a_page_gets_a_problem(api: httpx.Client):
    response = api.get("/runs/42", headers={"Accept": "application/json"})
    assert response.status_code == 404
    assert response.headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/assets/..%2f..%2fsecret.txt",
        "//etc/passwd",
        "/..%5csecret.txt",
    ],
)
def test_nothing_outside_the_folder_is_served(api: httpx.Client, path: str):
    response = api.get(httpx.URL(str(api.base_url).rstrip("/") + path), headers={"Accept": "*/*"})
    assert "not for the web" not in response.text
    assert response.status_code == 404


@pytest.mark.parametrize("accept", ["*/*", HTML["Accept"]])
@pytest.mark.parametrize(
    "path", ["/%00", "/assets/index-Ab12.js%00.png", "/assets/" + "a" * 5_000, "/" + "a/" * 3_000, "/%ff%fe"]
)
def test_a_name_that_no_file_can_have_is_not_found(api: httpx.Client, path: str, accept: str):
    """Or it is an address of the console, for a browser; it is never an error of the server."""
    response = api.get(httpx.URL(str(api.base_url).rstrip("/") + path), headers={"Accept": accept})
    if response.status_code != 200:
        assert response.status_code == 404
        assert response.headers["Content-Type"] == "application/problem+json"
    else:
        assert "start page" in response.text


def test_head_answers_like_get_without_a_body(api: httpx.Client):
    response = api.head("/", headers=HTML)
    assert (response.status_code, response.content) == (200, b"")


def test_the_answer_without_a_build_says_how_to_build_it(api: httpx.Client, ui_folder: Path):
    shutil.rmtree(ui_folder)
    response = api.get("/", headers=HTML)
    assert response.status_code == 503
    assert "is not built" in response.text
    assert "make ui" in response.text
    assert api.get("/healthz").status_code == 200
