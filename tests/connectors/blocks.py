"""Checks Block Kit by the documented rules of Slack: receives blocks, returns what Slack would refuse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

BLOCKS_LIMIT = 50


def block_problems(blocks: Any) -> list[str]:
    if not isinstance(blocks, list) or len(blocks) > BLOCKS_LIMIT:
        return ["blocks: a list of at most 50"]
    ids = [block["block_id"] for block in blocks if "block_id" in block]
    problems = ["block_id: used twice"] if len(ids) != len(set(ids)) else []
    for at, block in enumerate(blocks):
        problems += [f"blocks[{at}] {problem}" for problem in _block(block)]
    return problems


def _block(block: dict[str, Any]) -> Iterator[str]:
    match block.get("type"):
        case "header":
            yield from _text(block.get("text"), 150, kinds=("plain_text",))
        case "section":
            if "text" not in block and "fields" not in block:
                yield "a section has a text or fields"
            if "text" in block:
                yield from _text(block["text"], 3000)
            if not 1 <= len(block.get("fields", [1])) <= 10:
                yield "fields: 1 to 10"
            for one in block.get("fields", []):
                yield from _text(one, 2000)
        case "context":
            if not 1 <= len(block.get("elements", [])) <= 10:
                yield "elements: 1 to 10"
            for one in block.get("elements", []):
                yield from _text(one, 3000)
        case "actions":
            elements = block.get("elements", [])
            if not 1 <= len(elements) <= 25:
                yield "elements: 1 to 25"
            if len({one.get("action_id") for one in elements}) != len(elements):
                yield "action_id: used twice"
            for one in elements:
                yield from _button(one)
        case "input":
            yield from _text(block.get("label"), 2000, kinds=("plain_text",))
            if block.get("element", {}).get("type") != "plain_text_input":
                yield "element: a text input is expected"
            if not 1 <= block.get("element", {}).get("max_length", 1) <= 3000:
                yield "max_length: 1 to 3000"
        case "divider":
            pass
        case other:
            yield f"type {other!r} is not known"
    if len(block.get("block_id", "")) > 255:
        yield "block_id: at most 255"


def _button(element: dict[str, Any]) -> Iterator[str]:
    if element.get("type") != "button":
        yield "a button is expected"
    yield from _text(element.get("text"), 75, kinds=("plain_text",))
    if not 1 <= len(element.get("action_id", "")) <= 255 or len(element.get("value", "")) > 2000:
        yield "action_id of 1 to 255, value of at most 2000"
    if element.get("style", "primary") not in ("primary", "danger"):
        yield "style: primary or danger"


def _text(text: Any, limit: int, kinds: tuple[str, ...] = ("plain_text", "mrkdwn")) -> Iterator[str]:
    if not isinstance(text, dict) or text.get("type") not in kinds:
        yield f"a text of {kinds} is expected"
    elif not 1 <= len(text.get("text", "")) <= limit:
        yield f"a text of 1 to {limit} characters is expected, not {len(text.get('text', ''))}"
