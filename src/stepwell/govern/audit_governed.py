"""Compare approvals, votes, verdicts and receipts with the log: receives a reader, adds problems.

What the tables must say is derived from the events by the code that derives the documents of a bundle.
Records of earlier releases, whose events do not have everything, are counted and not compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from stepwell.govern.audit_verdict import Verdict
from stepwell.govern.verify import PROBLEM_LIMIT, Story, commitment, payload_of, salt_of, typed
from stepwell.govern.verify import VERDICT as TOLD
from stepwell.store.calls import audit_governed as tables
from stepwell.store.calls.audit import Archived, AuditReader, Chain, Position

PAGE = 500
NO_RUN = -1
EVENT_LIMIT = 1_000_000
NEEDED = ("tx", "event_id", "at", "stream_id", "unit_id", "event_type")
# Field of a document → column of the table of verdicts.
VERDICT_COLUMNS = {"attempt": "lease_no", "rule": "rule_name"}

Row = Mapping[str, Any]


class GovernedCheck:
    """`tries` has, for each receipt, event_id, attempt and session of the verdicts that name it."""

    def __init__(self, reader: AuditReader, chain: Chain, verdict: Verdict, archived: Archived) -> None:
        self.reader = reader
        self.chain = chain
        self.verdict = verdict
        self.archived = archived
        self.tries: dict[int, list[tuple[int, int | None, int | None]]] = {}
        # Number of each verdict of the log → its effect, receipt and approval.
        self.judged: dict[int, tuple[str | None, int | None, int | None]] = {}
        # How many verdicts of an earlier release, without a number, the log has of each unit.
        self.unnumbered: Counter[int] = Counter()

    def check(self) -> None:
        self._check_verdicts()
        ids = tables.governed_ids(self.reader)
        if None in ids:
            self.verdict.say("altered", "an approval, vote or receipt", "its number is missing")
        for page in _pages([one for one in ids if one is not None]):
            self._check_records(page)

    def _check_verdicts(self) -> None:
        after: Position = (0, 0)
        while True:
            events = tables.judgements(self.reader, after, PAGE)
            if events:
                self._compare_verdicts(events)
                after = (events[-1]["tx"], events[-1]["event_id"])
            if len(events) < PAGE:
                break
        for verdict_id, unit_id, at in tables.verdict_units(self.reader):
            if verdict_id in self.judged:
                continue
            if unit_id is not None and self.unnumbered[unit_id] > 0:
                self.unnumbered[unit_id] -= 1
                self.verdict.earlier_count += 1
            elif len(self.verdict.problems) < PROBLEM_LIMIT and str(at)[:7] not in self.archived.months:
                self.verdict.say("inserted", f"verdict {verdict_id}", "the log has no event of it")

    def _compare_verdicts(self, events: Sequence[Row]) -> None:
        told = []
        for event in events:
            found = typed(payload_of(event), TOLD)
            if found["verdict_id"] is None:
                self.unnumbered[event["unit_id"]] += 1
                continue
            self.judged[found["verdict_id"]] = (found["effect"], found["receipt_id"], found["approval_id"])
            if found["receipt_id"] is not None:
                tried = (event["event_id"], found["attempt"], _session_of(event["actor"]))
                self.tries.setdefault(found["receipt_id"], []).append(tried)
            if event["has_run"]:
                told.append({**found, "unit_id": event["unit_id"], "decided_at": event["at"]})
        ids = [one["verdict_id"] for one in told]
        policies = tables.verdict_policies(self.reader, ids)
        rows = self._by_key(tables.verdicts(self.reader, ids), "verdict_id", "verdict")
        for one in told:
            row = rows.get(one["verdict_id"])
            wanted = {VERDICT_COLUMNS.get(name, name): value for name, value in one.items()}
            version, rules_hash = policies.get(one["verdict_id"], (None, None))
            if row is not None:
                row = {**row, "policy_version": version, "rules_hash": rules_hash}
            self.verdict.verdict_count += 1
            self._compare(f"verdict {one['verdict_id']}", wanted, row, {*wanted} - {"receipt_id"})

    def _check_records(self, ids: list[int]) -> None:
        found = self.reader.stream_events(sorted({one >> 20 for one in ids}), EVENT_LIMIT)
        # An event that lost a field is a finding of its block; here it says nothing.
        events = [event for event in found if None not in (event[name] for name in NEEDED)]
        story = Story(NO_RUN, events)
        keys = _keys(events)
        approvals = self._by_key(tables.approvals(self.reader, ids), "approval_id", "approval")
        receipts = self._by_key(tables.receipts(self.reader, ids), "receipt_id", "receipt")
        votes: dict[int, list[Row]] = {}
        for vote in tables.votes(self.reader, ids):
            votes.setdefault(vote["approval_id"], []).append(vote)
        for number in ids:
            approval, receipt = story.approvals.get(number), story.receipts.get(number)
            if approval is None and receipt is None:
                self._say_unknown(number, approvals.get(number) or receipts.get(number))
            if approval is not None:
                row = _with_key(approvals.get(number), keys.get(number), "request_key")
                self._check_approval(number, approval, row, votes.get(number, []), story)
            if receipt is not None:
                row = _with_key(receipts.get(number), keys.get(number), "intent_token")
                self._check_receipt(number, receipt, row, story)

    def _say_unknown(self, number: int, row: Row | None) -> None:
        began = None if row is None else row.get("requested_at") or row.get("intended_at")
        if str(began)[:7] not in self.archived.months:
            self.verdict.say("inserted", f"approval or receipt {number}", "the log has no event of it")

    def _check_approval(
        self, number: int, told: Row, row: Row | None, votes: list[Row], story: Story
    ) -> None:
        place = f"approval {number}"
        if told["expires_at"] is None:
            self.verdict.earlier_count += 1
            return
        self.verdict.approval_count += 1
        self._compare(place, told, row, {*tables.APPROVAL})
        self._check_values(place, f"approval:{number}:", row, story)
        wanted = [{name: vote[name] for name in tables.VOTE[1:]} for vote in told["votes"]]
        held = [{name: vote[name] for name in tables.VOTE[1:]} for vote in votes]
        self.verdict.vote_count += len(wanted)
        for vote in wanted:
            if vote not in held:
                detail = "it changed, or is missing" if held else "it is missing"
                self.verdict.say("altered", f"the vote of {vote['voter']} on {place}", detail)
        for vote in held:
            if vote not in wanted or held.count(vote) > 1:
                detail = "the log has another vote, or none"
                self.verdict.say("inserted", f"the vote of {vote['voter']} on {place}", detail)

    def _check_receipt(self, number: int, told: Row, row: Row | None, story: Story) -> None:
        if told["connector"] is None:
            self.verdict.earlier_count += 1
            return
        tries = sorted(self.tries.get(number, []), key=lambda tried: tried[0])
        _, lease_no, session_id = tries[-1] if tries else (None, None, None)
        wanted = {**told, "try_count": len(tries), "lease_no": lease_no, "session_id": session_id,
                  "run_id": (told["unit_id"] or 0) >> 20}  # fmt: skip
        self.verdict.receipt_count += 1
        self._compare(f"receipt {number}", wanted, row, {*tables.RECEIPT})
        self._check_values(f"receipt {number}", f"receipt:{number}:", row, story)

    def _compare(self, place: str, wanted: Row, row: Row | None, names: Iterable[str]) -> None:
        if row is None:
            self.verdict.say("missing", place, "the log has its events, but its row is gone")
            return
        wrong = sorted(name for name in names if row[name] != wanted[name])
        wrong += row.get("wrong_key", [])
        if wrong:
            detail = f"the sealed events say something else about its {', '.join(wrong[:5])}"
            self.verdict.say("altered", place, detail)

    def _check_values(self, place: str, label: str, row: Row | None, story: Story) -> None:
        for part, text in ({} if row is None else row["values"]).items():
            told = story.digests.get(label + part)
            if text is None:
                fits = told is None
            else:
                hidden = commitment(salt_of(self.chain.salt, label + part), text)
                fits = told is not None and (told["size"], told["commitment"]) == (len(text.encode()), hidden)
                self.verdict.value_count += fits
            if not fits:
                self.verdict.say("altered", place, f"its {part} is not the value that its events name")

    def _by_key(self, rows: Iterable[Row], key: str, what: str) -> dict[int, Row]:
        found: dict[int, Row] = {}
        for row in rows:
            if row[key] in found:
                self.verdict.say("inserted", f"{what} {row[key]}", "its row is there twice")
            found[row[key]] = row
        return found


def _session_of(actor: str | None) -> int | None:
    """The number of the worker's session that acted."""
    kind, _, number = (actor or "").partition(":")
    return int(number) if kind == "session" and number.isdecimal() else None


def _keys(events: Iterable[Row]) -> dict[int, Row]:
    """The last request of each approval and the last intent of each receipt: they name their keys."""
    return {
        event["unit_id"]: payload_of(event)
        for event in sorted(events, key=lambda event: event["event_id"])
        if event["event_type"] == "approval.requested" or event["to_state"] == "intended"
    }


def _with_key(row: Row | None, told: Row | None, name: str) -> Row | None:
    """Note whether the key is the one of the event. Events of earlier releases do not name it."""
    if row is None or told is None or name not in told or (row[name] or "") == told[name]:
        return row
    return {**row, "wrong_key": [name]}


def _pages(ids: list[int]) -> Iterator[list[int]]:
    for at in range(0, len(ids), PAGE):
        yield ids[at : at + PAGE]
