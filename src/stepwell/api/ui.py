"""Serve the web interface: receives all paths outside the API, returns its files or index.html.

Every address of the interface can be reloaded or sent to another person, so unknown paths get index.html.
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

# The names of files in assets/ contain a hash of their content, so the files never change.
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
<p>The server works, but this installation has no web interface.
In a source checkout, build it with <code>make ui</code>; otherwise install the wheel again.</p>
<p>The API works: <a href="/api/v1/docs">reference</a>, <a href="/api/v1/health">health</a>.</p>
</body>
</html>
"""


class BuiltUi(StaticFiles):
    """Files of one folder. It is the default of the router, not mounted, so that the API can answer 405."""

    def __init__(self, folder: Path = UI_DIST) -> None:
        super().__init__(directory=folder, check_dir=False)
        self.folder = folder

    async def check_config(self) -> None:
        """A missing folder is no error here: `get_response` shows a page about it."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        path = path.removeprefix("/")
        if path == "api" or path.startswith("api/"):
            raise HTTPException(404)
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405, headers={"Allow": "GET, HEAD"})
        try:
            full_path, found = self.lookup_path(path)
        except (ValueError, OSError):
            # NUL, or longer than the name of a file can be.
            raise HTTPException(404) from None
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
    """The answer to a program at `/`: the addresses, as text, or as JSON if the program accepts JSON."""
    headers = Headers(scope=scope)
    root = f"{scope.get('scheme', 'http')}://{headers.get('Host', 'localhost')}"
    links = {name: f"{root}{path}" for name, path in _LINKS.items()}
    if "application/json" in headers.get("Accept", ""):
        return JSONResponse({"name": "stepwell", "version": __version__, "links": links})
    lines = [f"  {name:<10}{link}" for name, link in links.items()]
    text = "\n".join([f"Stepwell {__version__}", "", *lines, "", "In a terminal: stepwell --help", ""])
    return PlainTextResponse(text)


def _wants_page(path: str, scope: Scope) -> bool:
    """True for a request of a browser for a page; false for a file that does not exist."""
    if path.startswith("assets/"):
        return False
    accept = Headers(scope=scope).get("Accept", "")
    return "text/html" in accept
