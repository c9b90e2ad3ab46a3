"""View in a browser: receives paths that are no API, returns the built interface or its start page.

Every address of the interface can be reloaded and sent to a colleague, so unknown paths get index.html.
"""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Final

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from stepwell import __version__

UI_DIST: Final = Path(__file__).resolve().parent.parent / "ui_dist"

# The names of files under assets/ carry a hash of their content: they never change.
_IMMUTABLE = "public, max-age=31536000, immutable"
_REVALIDATE = "no-cache"

_LINKS: Final = {
    "page": "/",
    "reference": "/api/v1/docs",
    "openapi": "/api/v1/openapi.json",
    "health": "/api/v1/health",
}

_NOT_BUILT = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Stepwell: the web interface is not built</title>
<body>
<h1>The web interface is not built</h1>
<p>The server works, but this installation carries no web interface.
In a source checkout, build it with <code>make ui</code>; otherwise install the wheel again.</p>
<p>The API is there: <a href="/api/v1/docs">reference</a>, <a href="/api/v1/health">health</a>.</p>
</body>
</html>
"""


class BuiltUi(StaticFiles):
    """Files of one folder. The router's default, not mounted: a wrong method of the API stays a 405."""

    def __init__(self, folder: Path = UI_DIST) -> None:
        super().__init__(directory=folder, check_dir=False)
        self.folder = folder

    async def check_config(self) -> None:
        """A missing folder is not an error of the server: `get_response` says it to the person."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        path = path.removeprefix("/")
        if path == "api" or path.startswith("api/"):
            raise HTTPException(404)
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405, headers={"Allow": "GET, HEAD"})
        full_path, found = self.lookup_path(path)
        if found is not None and stat.S_ISREG(found.st_mode):
            return self._cached(super().file_response(full_path, found, scope), path)
        if path in ("", ".") and not _wants_page(path, scope):
            return _signpost(scope)
        if not _wants_page(path, scope):
            raise HTTPException(404)
        index_path, index = self.lookup_path("index.html")
        if index is None:
            return HTMLResponse(_NOT_BUILT, 503)
        return self._cached(super().file_response(index_path, index, scope), "index.html")

    def _cached(self, response: Response, path: str) -> Response:
        response.headers["Cache-Control"] = _IMMUTABLE if path.startswith("assets/") else _REVALIDATE
        return response


def _signpost(scope: Scope) -> Response:
    """The first address a program asks: what there is, as text, or as JSON where that is asked for."""
    headers = Headers(scope=scope)
    root = f"{scope.get('scheme', 'http')}://{headers.get('Host', 'localhost')}"
    links = {name: f"{root}{path}" for name, path in _LINKS.items()}
    if "application/json" in headers.get("Accept", ""):
        return JSONResponse({"name": "stepwell", "version": __version__, "links": links})
    lines = [f"  {name:<10}{link}" for name, link in links.items()]
    text = "\n".join([f"Stepwell {__version__}", "", *lines, "", "At a terminal: stepwell --help", ""])
    return PlainTextResponse(text)


def _wants_page(path: str, scope: Scope) -> bool:
    """A browser asking for a page, not a script asking for a file that is gone."""
    if path.startswith("assets/"):
        return False
    accept = Headers(scope=scope).get("Accept", "")
    return "text/html" in accept
