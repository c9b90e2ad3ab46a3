"""A local server with the Web API of Slack for tests: receives requests and checks them as Slack does.

It refuses what Slack would refuse, with the same error code; `refusals` stores the reasons.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.connectors.blocks import block_problems
from tests.connectors.http_server import CUT, Reply, Seen

Message = dict[str, Any]


@dataclass
class Workspace:
    """`answers` replaces the answer of a method; `cuts_after` closes the connection after it was done."""

    token: str
    channels: dict[str, dict[str, Message]] = field(default_factory=lambda: {"C0AAAA": {}})
    ephemerals: list[dict[str, Any]] = field(default_factory=list)
    views: list[dict[str, Any]] = field(default_factory=list)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    answers: dict[str, Reply] = field(default_factory=dict)
    cuts_after: set[str] = field(default_factory=set)
    numbers: Any = field(default_factory=lambda: itertools.count(1))

    def answer(self, seen: Seen) -> Reply:
        method = seen.path.removeprefix("/api/")
        if seen.headers.get("authorization") != f"Bearer {self.token}":
            return self.no("invalid_auth", "the token is wrong or missing")
        is_json = seen.headers.get("content-type", "").startswith("application/json")
        given = seen.json if is_json and seen.body else seen.form
        self.calls.append((method, given))
        if method in self.answers:
            return self.answers[method]
        handlers: dict[str, Callable[[dict[str, Any]], Reply]] = {
            "chat.postMessage": self.post,
            "chat.update": self.update,
            "chat.delete": self.delete,
            "chat.postEphemeral": self.ephemeral,
            "conversations.history": self.history,
            "conversations.replies": self.history,
            "views.open": self.open_view,
        }
        if method not in handlers:
            return self.no("unknown_method", method)
        if method.startswith("conversations.") and is_json:
            return self.no("invalid_arguments", "reading methods take no JSON")
        reply = handlers[method](given)
        if method in self.cuts_after:
            self.cuts_after.discard(method)
            return CUT
        return reply

    def post(self, given: dict[str, Any]) -> Reply:
        if problem := self.content_problem(given):
            return problem
        ts = f"1700000000.{next(self.numbers):06}"
        message = {
            "ts": ts,
            **{name: given[name] for name in given if name not in ("channel", "unfurl_links")},
        }
        self.channels[given["channel"]][ts] = message
        return self.yes(channel=given["channel"], ts=ts, message=message)

    def update(self, given: dict[str, Any]) -> Reply:
        if problem := self.content_problem(given):
            return problem
        message = self.channels[given["channel"]].get(given.get("ts", ""))
        if message is None:
            return self.no("message_not_found", str(given.get("ts")))
        message.update({name: given[name] for name in ("text", "blocks", "metadata") if name in given})
        if not message.get("blocks"):
            message.pop("blocks", None)
        return self.yes(channel=given["channel"], ts=given["ts"], text=given["text"])

    def delete(self, given: dict[str, Any]) -> Reply:
        if self.channels.get(given["channel"], {}).pop(given["ts"], None) is None:
            return self.no("message_not_found", given["ts"])
        return self.yes(channel=given["channel"], ts=given["ts"])

    def ephemeral(self, given: dict[str, Any]) -> Reply:
        if problem := self.content_problem(given):
            return problem
        self.ephemerals.append(given)
        return self.yes(message_ts="1700000000.999999")

    def history(self, given: dict[str, Any]) -> Reply:
        if given["channel"] not in self.channels:
            return self.no("channel_not_found", given["channel"])
        found = sorted(
            self.channels[given["channel"]].values(), key=lambda message: message["ts"], reverse=True
        )
        if "ts" in given:
            found = [one for one in found if given["ts"] in (one["ts"], one.get("thread_ts"))]
            if not found:
                return self.no("thread_not_found", given["ts"])
        first = int(given.get("cursor") or 0)
        last = first + int(given.get("limit", 100))
        shows_metadata = given.get("include_all_metadata") in ("1", "true", "True")
        page = [one if shows_metadata else {**one, "metadata": None} for one in found[first:last]]
        cursor = str(last) if last < len(found) else ""
        return self.yes(messages=page, response_metadata={"next_cursor": cursor})

    def open_view(self, given: dict[str, Any]) -> Reply:
        view = given["view"] if isinstance(given["view"], dict) else json.loads(given["view"])
        problems = block_problems(view.get("blocks", []))
        if (
            view.get("type") != "modal"
            or len(view["title"]["text"]) > 24
            or len(view["private_metadata"]) > 3000
        ):
            problems.append("the view is not a valid modal")
        if problems or not given.get("trigger_id"):
            return self.no("invalid_arguments", str(problems))
        self.views.append(view)
        return self.yes(view={"id": "V1"})

    def content_problem(self, given: dict[str, Any]) -> Reply | None:
        if given.get("channel") not in self.channels:
            return self.no("channel_not_found", str(given.get("channel")))
        if not given.get("text"):
            return self.no("no_text", "a text is needed for notifications")
        problems = block_problems(given.get("blocks") or [])
        return self.no("invalid_blocks", "; ".join(problems)) if problems else None

    def messages(self, channel: str = "C0AAAA") -> list[Message]:
        return [message for _, message in sorted(self.channels[channel].items())]

    def no(self, word: str, why: str) -> Reply:
        self.refusals.append(f"{word}: {why}")
        return Reply(200, {"ok": False, "error": word})

    def yes(self, **values: Any) -> Reply:
        return Reply(200, {"ok": True, **values})
