"""Write the evidence of a run for people: receives its contents, returns one HTML page without scripts.

The page has both languages; two radio buttons choose one. What it says about the run is what the documents of
the bundle say; only the names of the tenant, of tasks and of items of Maps are those of the database.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from html import escape
from pathlib import Path
from typing import Any

from stepwell.govern.bundle import Contents
from stepwell.store.calls.audit import Chain
from stepwell.translations.report import REPORT
from stepwell.translations.states import look

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
# Longer tables are cut after so many rows; events.jsonl has all events.
EVENT_ROWS_LIMIT = 2000
VALUE_CHARACTERS = 20_000
# First word of an event type → scope of its state machine.
SCOPES = {
    "workflow": "workflow_run",
    "task": "task",
    "job": "job",
    "approval": "approval",
    "receipt": "receipt",
}
SIGNS = {"approve": "✓", "reject": "✗"}

Row = dict[str, Any]


def render(
    contents: Contents, events: Sequence[Row], found: Row, chain: Chain, blocks: Sequence[Row]
) -> str:  # fmt: skip
    """`found` has the names of the tenant, tasks and items, and sub-runs; all else is what the events say."""
    return _Report(contents, events, found, chain, blocks).page()


class _Report:
    def __init__(
        self,
        contents: Contents,
        events: Sequence[Row],
        found: Row,
        chain: Chain,
        blocks: Sequence[Row],
    ) -> None:
        self.contents = contents
        self.run = contents.run
        self.events = events
        self.chain = chain
        self.blocks = blocks
        # The sealed input names workflow, version and definition; only earlier releases sealed none.
        sealed = {name: self.run[name] for name in ("workflow", "version_no", "graph_hash")}
        self.found = found["run"] | {name: told for name, told in sealed.items() if told is not None}
        self.names = {int(unit_id): escape(name) for unit_id, name in found["names"].items()}
        for step in self.run["steps"]:
            if step["name"] is not None:
                self.names[step["unit_id"]] = escape(step["name"])
        self.names[self.run["run_id"] << 20] = word("itself")
        for item in contents.documents["approvals.json"]:
            self.names[item["approval_id"]] = _text(item["action"])
        for item in contents.documents["receipts.json"]:
            self.names[item["receipt_id"]] = _action(item)
        self.began = datetime.fromisoformat(self.run["created_at"])
        self.ended = _moment(self.run["finished_at"]) or datetime.fromisoformat(events[-1]["at"])

    def page(self) -> str:
        title = escape(f"{self.found['workflow']} · {self.run['run_id']}")
        style = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
        sections = [
            self.heading(), self.seal(), self.steps(), self.approvals(), self.decisions(), self.receipts(),
            self.costs(), self.values(), self.timeline(),
        ]  # fmt: skip
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{title}</title><style>\n{style}</style></head><body><main>\n"
            '<input type="radio" name="lang" id="lang-en" aria-label="English" checked>'
            '<input type="radio" name="lang" id="lang-vi" aria-label="Tiếng Việt">\n'
            '<div class="languages"><label for="lang-en">English</label>'
            '<label for="lang-vi">Tiếng Việt</label></div>\n' + "".join(sections) + "</main></body></html>\n"
        )

    def heading(self) -> str:
        run = self.run
        trigger = " · ".join(filter(None, (run["trigger_type"], run["trigger_ref"])))
        facts = [
            ("created", _time(run["created_at"])), ("finished", _time(run["finished_at"])),
            ("duration", _span(self.ended, self.began)), ("started_by", _text(run["started_by"])),
            ("trigger", escape(trigger)), ("tenant", f"{escape(self.found['tenant'])} ({run['tenant_id']})"),
            ("graph", f"{word('version')} {self.found['version_no']} · {_hash(self.found['graph_hash'])}"),
            ("trace", _code(run["trace_id"])), ("correlation", _code(run["correlation_id"])),
            ("parent", escape(str((run["parent_unit_id"] or 0) >> 20 or ""))),
            ("mode", word("development") if "mode" in run else ""),
            ("children", escape(", ".join(map(str, self.found["child_run_ids"])))),
        ]  # fmt: skip
        rows = "".join(f"<div><dt>{word(key)}</dt><dd>{text}</dd></div>" for key, text in facts if text)
        return (
            f'<header><div class="kicker">{word("title")} · {word("run")} {run["run_id"]}</div>'
            f'<div class="line"><h1>{escape(self.found["workflow"])}</h1>'
            f"{self.chip('workflow_run', run['state_code'])}</div><dl>{rows}</dl></header>\n"
        )

    def seal(self) -> str:
        rows = [
            [
                f"{block['block_no']}",
                _time(block["sealed_at"]),
                f"{block['event_count']}",
                _code(block["block_hash"]),
            ]
            for block in self.blocks
        ]
        name = f"evidence-run-{self.run['run_id']}.zip"
        command = f"python verify.py {name} --anchor seals.jsonl\nnode verify.mjs {name} --anchor seals.jsonl"
        note = f'<p class="soft">{word("proof")}</p><pre>{command}</pre>'
        chain = f'<p class="soft">{word("trust")}</p><p>{word("chain")} {_code(self.chain.chain_id)}</p>'
        heads = ("block", "sealed_at", "events_in_block", "block_hash")
        return _section("seal", note + chain + _table(heads, rows, numbers={0, 2}))

    def steps(self) -> str:
        rows = []
        for step in self.run["steps"]:
            name = self.names.get(step["unit_id"], _text(step["name"]))
            kind = _text(step["operation"] or step["kind"])
            below = "" if kind in ("", name) else f'<br><span class="soft">{kind}</span>'
            scope = "step" if step["kind"] else self._scope(step["unit_id"])
            rows.append(
                [
                    name + below, self.chip(scope, step["state_code"]), _text(step["actor"]),
                    str(_tries(step) or "—"),
                    self._course(step),
                ]
            )  # fmt: skip
        heads = ("step", "state", "who", "attempts", "time")
        return _section("steps", _table(heads, rows, numbers={3}, course=4, name=0), len(rows))

    def _scope(self, unit_id: int) -> str:
        """Tasks and items are not in the definition: their events have the word task or step."""
        types = (event["event_type"] for event in self.events if event["unit_id"] == unit_id)
        return "task" if next(types, "").startswith("task.") else "step"

    def _course(self, step: Row) -> str:
        """When a step ran: a bar on the time line of the run."""
        began, ended = _moment(step["started_at"]), _moment(step["changed_at"])
        if began is None:
            return ""
        whole = max((self.ended - self.began).total_seconds(), 1e-6)
        left = 198 * min(max((began - self.began).total_seconds() / whole, 0), 1)
        width = max(200 * ((ended or self.ended) - began).total_seconds() / whole, 2.0)
        width = min(width, 200 - left)
        label = f"{_clock(began)} · {_span(ended, began) or '…'}"
        return (
            f'<svg viewBox="0 0 200 18" preserveAspectRatio="none" role="img" aria-label="{escape(label)}">'
            f'<rect class="ground" width="200" height="18" rx="3"/>'
            f'<rect class="bar" x="{left:.1f}" y="4" width="{width:.1f}" height="10" rx="2"/></svg>'
            f'<span class="soft">{escape(label)}</span>'
        )

    def approvals(self) -> str:
        cards = []
        for item in self.contents.documents["approvals.json"]:
            votes = "".join(
                f"<li>{SIGNS.get(vote['decision'], '')} <strong>{_text(vote['voter'])}</strong> "
                f"{word(vote['decision']) if vote['decision'] in SIGNS else ''} "
                f'<span class="soft">{_time(vote["voted_at"])}</span>'
                f"{' — ' + escape(vote['reason']) if vote['reason'] else ''}</li>"
                for vote in item["votes"]
            )
            about = self.names.get(item["subject_unit_id"], "")
            asked = f"{word('asked_by')} {_text(item['requested_by'])}, {_time(item['requested_at'])}"
            reason = f"<div>{escape(item['reason'])}</div>" if item["reason"] else ""
            cards.append(
                f'<div class="card">{self.chip("approval", item["state_code"])} '
                f"<strong>{_text(item['action'])}</strong> · {about} "
                f'<span class="soft">{asked} · {word("of_votes")}: {item["quorum"]}</span>'
                f"{reason}<ul>{votes}</ul></div>"
            )
        return _section("approvals", "".join(cards), len(cards))

    def decisions(self) -> str:
        rows = [
            [
                f'{_action(item)}<br><span class="soft">{_text(item["target"])}</span>',
                f"<strong>{word(item['effect']) if item['effect'] in REPORT else ''}</strong>",
                _text(item["rule"] or "—")
                + (f' <span class="soft">v{item["policy_version"]}</span>' if item["policy_version"] else ""),
                _text(item["reason"]),
                self.names.get(item["unit_id"], ""), _time(item["decided_at"]),
            ]
            for item in self.contents.documents["decisions.json"]
        ]  # fmt: skip
        return _section(
            "decisions", _table(("action", "effect", "rule", "reason", "step", "when"), rows), len(rows)
        )

    def receipts(self) -> str:
        rows = [
            [
                f'{_action(item)}<br><span class="soft">{_text(item["target"])}</span>',
                self.chip("receipt", item["state_code"]), _text(item["external_id"]),
                word("yes" if item["reversible"] else "no"),
                _text(item["acting"]), _time(item["intended_at"]),
            ]
            for item in self.contents.documents["receipts.json"]
        ]  # fmt: skip
        heads = ("action", "state", "external", "reversible", "who", "when")
        return _section("receipts", _table(heads, rows), len(rows))

    def costs(self) -> str:
        rows = [
            [
                escape(item["provider"]), escape(item["model"] or ""), f"{item['call_count']:,}",
                f"{item['input_tokens']:,}", f"{item['output_tokens']:,}",
                f"{_money(item['cost_micros'])} {escape(item['currency'] or '')}",
            ]
            for item in self.contents.documents["costs.json"]
        ]  # fmt: skip
        heads = ("provider", "model", "calls", "tokens_in", "tokens_out", "cost")
        return _section("costs", _table(heads, rows, numbers={2, 3, 4, 5}), len(rows))

    def values(self) -> str:
        note = word("with_values" if self.run["with_payloads"] else "metadata_only")
        rows = []
        for item in sorted(
            self.contents.values, key=lambda item: (item["at"], item["unit_id"], item["label"])
        ):
            kind, part = item["label"].split(":")[0], item["label"].rsplit(":")[-1]
            inner = "".join(f"<li>{escape(line)}</li>" for line in item["shape"])
            shown = (
                f"<details><summary>{len(item['shape'])} {word('names')}</summary><ul>{inner}</ul></details>"
            )
            if item["value"] is not None:
                text = json.dumps(json.loads(item["value"]), ensure_ascii=False, indent=1)
                shown += f"<pre>{escape(text[:VALUE_CHARACTERS])}</pre>"
            what = word(part if kind in ("approval", "receipt") else kind)
            if kind == "failure" and item["facts"]:
                what += f" · {escape(str(item['facts'][0]))}"
            name = self.names.get(item["unit_id"], "")
            rows.append([name, what, f"{item['size']:,} B", shown, _hash(item["commitment"])])
        table = _table(("step", "what", "size", "inside", "hash"), rows, numbers={2}, name=0)
        return _section("values", f'<p class="note">{note}</p>{table}', len(rows))

    def timeline(self) -> str:
        rows = []
        for event in self.events[:EVENT_ROWS_LIMIT]:
            change = ""
            if event["to_state"] is not None:
                scope = SCOPES.get(event["event_type"].partition(".")[0], "step")
                before = self.label(scope, event["from_state"]) if event["from_state"] else ""
                change = f"{before} → {self.label(scope, event['to_state'])}"
            rows.append(
                [
                    _time(event["at"], exact=True),
                    f"<code>{escape(event['event_type'])}</code>",
                    self.names.get(event["unit_id"], ""),
                    change, escape(event["actor"] or event["actor_class"]),
                    f'<span class="hash soft">{event["tx"]}/{event["event_id"]}</span>',
                ]
            )  # fmt: skip
        more = len(self.events) - len(rows)
        rest = f'<p class="soft">+ {more:,} (events.jsonl)</p>' if more > 0 else ""
        heads = ("when", "event", "step", "change", "actor", "position")
        return _section("events", _table(heads, rows) + rest, len(self.events))

    def label(self, scope: str, state_code: str) -> str:
        found = look(scope, state_code)
        return escape(state_code) if found is None else _both(*found.words)

    def chip(self, scope: str, state_code: str) -> str:
        """Icon, text and colour of a state."""
        found = look(scope, state_code)
        if found is None:
            return f'<span class="chip">{escape(state_code)}</span>'
        return (
            f'<span class="chip" style="color:{found.fg};background:{found.bg}">'
            f"{found.sign} {self.label(scope, state_code)}</span>"
        )


def _tries(step: Row) -> int:
    """Attempts so far, including the one that succeeded; human steps have none."""
    is_done_by_machine = step["state_code"] == "completed" and step["operation"] is not None
    return int(step["failure_count"]) + int(is_done_by_machine)


def _action(item: Row) -> str:
    return f"{_text(item['connector'])}.{_text(item['operation'])}"


def _text(text: str | None) -> str:
    return escape(text or "")


def word(key: str) -> str:
    return _both(*REPORT[key])


def _both(en: str, vi: str) -> str:
    return f'<span lang="en">{escape(en)}</span><span lang="vi">{escape(vi)}</span>'


def _section(key: str, body: str, count: int | None = None) -> str:
    if count == 0:
        body = f'<p class="soft">{word("none")}</p>'
    number = "" if count is None else f'<span class="count">{count:,}</span>'
    return f'<section id="{key}"><h2>{word(key)}{number}</h2>{body}</section>\n'


def _table(
    heads: Iterable[str], rows: Iterable[Sequence[str]], *, numbers: set[int] | None = None,
    course: int | None = None, name: int | None = None,
) -> str:  # fmt: skip
    def kind(at: int) -> str:
        if at in (numbers or ()):
            return ' class="number"'
        return ' class="course"' if at == course else ' class="name"' if at == name else ""

    top = "".join(f'<th scope="col"{kind(at)}>{word(key)}</th>' for at, key in enumerate(heads))
    body = "".join(
        "<tr>" + "".join(f"<td{kind(at)}>{cell}</td>" for at, cell in enumerate(row)) + "</tr>\n"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _clock(at: datetime) -> str:
    return f"{at:%H:%M:%S}"


def _time(text: str | None, *, exact: bool = False) -> str:
    at = _moment(text)
    if at is None:
        return ""
    shown = f"{at:%Y-%m-%d %H:%M:%S}" + (f".{at.microsecond // 1000:03}" if exact else "")
    return f'<time datetime="{escape(at.isoformat())}">{shown} UTC</time>'


def _span(ended: datetime | None, began: datetime | None) -> str:
    if ended is None or began is None:
        return ""
    length: timedelta = ended - began
    seconds = max(length.total_seconds(), 0.0)
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = int(seconds)
    if whole < 3600:
        return f"{whole // 60} m {whole % 60:02} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60:02} m"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"


def _money(micros: int) -> str:
    """An amount with at least two decimal places, more if needed."""
    text = f"{micros / 1_000_000:,.6f}".rstrip("0")
    whole, _, places = text.partition(".")
    return f"{whole}.{places:0<2}"


def _code(text: str | None) -> str:
    return "" if text is None else f"<code>{escape(text)}</code>"


def _hash(text: str) -> str:
    """The first 16 characters of a hash; the tooltip and the files have all of it."""
    return f'<code title="{escape(text)}">{escape(text[:16])}…</code>'
