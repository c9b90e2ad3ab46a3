"""Show the API as a page: receives the OpenAPI document, returns HTML that loads nothing from other hosts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from html import escape
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

router = APIRouter(include_in_schema=False)

_STYLE = """
:root { color-scheme: light dark; font: 14px/1.5 system-ui, sans-serif; }
body { max-width: 960px; margin: 0 auto; padding: 24px 16px; }
h1 { font-size: 20px; } h2 { font-size: 16px; margin: 32px 0 8px; }
article { border-top: 1px solid #8884; padding: 12px 0; }
article > h3 { font-size: 14px; margin: 0 0 4px; }
code, pre { font: 12px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; white-space: pre-wrap; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; }
th, td { text-align: left; vertical-align: top; padding: 2px 16px 2px 0; font-weight: 400; }
p { margin: 4px 0; }
"""
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; frame-ancestors 'none'"

_METHODS = ("get", "post", "put", "patch", "delete")


@router.get("/docs")
async def read_reference(request: Request) -> HTMLResponse:
    page = _page(request.app.openapi(), request.app.openapi_url)
    return HTMLResponse(page, headers={"Content-Security-Policy": _POLICY})


def _page(document: dict[str, Any], document_url: str) -> str:
    info = document["info"]
    operations = "".join(_operations(document))
    schemas = sorted(document["components"]["schemas"].items())
    shapes = "".join(_schema(name, schema) for name, schema in schemas)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(info["title"])} API</title><style>{_STYLE}</style></head>
<body><main>
<h1>{escape(info["title"])} API {escape(info["version"])}</h1>
<p>{escape(info.get("description", ""))} The same for programs:
<a href="{escape(document_url)}">OpenAPI</a>.</p>
<h2>Operations</h2>{operations}
<h2>Shapes</h2>{shapes}
</main></body></html>"""


def _operations(document: dict[str, Any]) -> Iterator[str]:
    for path, item in document["paths"].items():
        for method in _METHODS:
            if method in item:
                yield _operation(method, path, item[method])


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    rows = [
        (f"{entry['in']}.{entry['name']}", _shape(entry.get("schema", {})), entry.get("description", ""))
        for entry in operation.get("parameters", [])
    ]
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        rows.append(("body", _shape(content.get("schema", {})), media))
    for status, response in operation.get("responses", {}).items():
        shapes = [_shape(content.get("schema", {})) for content in response.get("content", {}).values()]
        rows.append((f"answer {status}", ", ".join(shapes), response.get("description", "")))
    name = f"<code>{method.upper()} {escape(path)}</code>"
    return (
        f"<article><h3>{name} {escape(operation.get('summary', ''))}</h3>"
        f"<p>{escape(operation.get('description', ''))}</p>{_table(rows)}</article>"
    )


def _schema(name: str, schema: dict[str, Any]) -> str:
    required = set(schema.get("required", ()))
    rows = [
        (
            field if field in required else f"{field} (optional)",
            _shape(described),
            described.get("description", ""),
        )
        for field, described in schema.get("properties", {}).items()
    ]
    values = ", ".join(str(value) for value in schema.get("enum", ()))
    return (
        f'<article id="{escape(name)}"><h3><code>{escape(name)}</code></h3>'
        f"<p>{escape(schema.get('description', ''))} {escape(values)}</p>{_table(rows)}</article>"
    )


def _table(rows: list[tuple[str, str, str]]) -> str:
    cells = "".join(
        f"<tr><th scope=row><code>{escape(name)}</code></th><td>{shape}</td><td>{escape(text)}</td></tr>"
        for name, shape, text in rows
    )
    return f"<table>{cells}</table>" if cells else ""


def _shape(schema: dict[str, Any]) -> str:
    """A type in a few words, as HTML; a named type is a link to its description."""
    match schema:
        case {"$ref": str(ref)}:
            name = escape(ref.rpartition("/")[2])
            return f'<a href="#{name}">{name}</a>'
        case {"anyOf": list(parts)} | {"oneOf": list(parts)} | {"allOf": list(parts)}:
            return " or ".join(_shape(part) for part in parts)
        case {"enum": list(values)}:
            return " or ".join(f"<code>{escape(str(value))}</code>" for value in values)
        case {"const": value}:
            return f"<code>{escape(str(value))}</code>"
        case {"type": "array", "items": dict(items)}:
            return f"list of {_shape(items)}"
        case {"type": str(kind), "format": str(form)}:
            return escape(f"{kind} ({form})")
        case {"type": str(kind)}:
            return escape(kind)
        case _:
            return "anything"
