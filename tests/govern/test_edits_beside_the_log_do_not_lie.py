"""Somebody edits tables beside the log: a later bundle says what the log says, or there is none."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest

from stepwell.errors import Conflict
from stepwell.govern import verify as verifier
from stepwell.machines.model import Registry
from stepwell.translations.states import STATES
from tests.govern.conftest import export_run
from tests.govern.sample_run import make_sample_run
from tests.govern.sealing import seal

DOCUMENTS = (*verifier.DERIVED_FILES, "values.json", "graph.json", "report.html")

# What the bundle shows is in the events themselves: the edit does not reach it.
TOLD_BY_EVENTS = {
    "another voter": "update approval_vote set voter = 'the-ceo' where voter = 'bob'",
    "another vote": "update approval_vote set decision = 'reject', reason = 'no'",
    "a vote less": "delete from approval_vote where voter = 'cleo'",
    "a vote more": "insert into approval_vote select tenant_id, approval_id, 'the-cfo', decision, reason,"
    " voted_at from approval_vote where voter = 'the-ceo'",
    "another requester": "update approval_detail set requested_by = 'eve', reason = 'because'",
    "another quorum": "update approval_detail set quorum = 1, tier = 1, approvers = '{eve}'",
    "another end of an approval": "update approval_detail set decided_by = 'eve', decided_at = now()",
    "a verdict less": "delete from policy_verdict where effect = 'deny'",
    "another verdict": "update policy_verdict set effect = 'allow', rule_name = 'none', reason = 'fine'",
    "another attempt of a verdict": "update policy_verdict set lease_no = 9, target = 'elsewhere'",
    "another receipt": "update action_receipt set connector = 'mail', target = 'x', external_id = 'y'",
    "another cost": "update action_receipt set cost_micros = 1, input_tokens = 1, output_tokens = 1",
    "another acting person": "update action_receipt set requested_by = 'eve', acting = 'eve'",
    "another state of a receipt": "update work_unit set state_code = 'void' where scope = 'receipt'",
    "another state of an approval": "update work_unit set state_code = 'rejected' where scope = 'approval'",
    "another state of a step": "update work_unit set state_code = 'cancelled', started_at = now()"
    " where scope = 'step'",
    "other names of steps": "update workflow_step_def set step_id = 'approve-' || step_id",
    "other words for states": "update i18n_text set text_value = 'Approved by the board'",
    "other looks of states": "update state_def set ui_icon_glyph = '✓', ui_color_token ="
    " (select ui_color_token from state_def where state_code = 'completed' limit 1)",
}  # fmt: skip
# The log has only the hash of what the bundle shows: there is no bundle.
TOLD_BY_HASHES = {
    "another input": """update run_detail set input = '{"order_id": "B-2"}'""",
    "another starter": "update run_detail set started_by = 'eve'",
    "another trigger": "update run_detail set trigger_ref = 'other' where trigger_ref = 'A-1'",
    "another output": """update unit_output set output = '{"ok": false}'""",
    "an output less": "delete from unit_output",
    "another failure": """update unit_failure set error = '{"type": "Other"}'""",
    "other values shown": """update step_input set inputs = '{"card": "x"}'""",
    "another subject of an approval": """update approval_detail set about = '{"fields": {"amount": 1}}'""",
    "another request": """update action_receipt set request_metadata = '{"fields": {}}'""",
    "another response": """update action_receipt set response_metadata = '{"result": 1}'""",
    "another way back": """update action_receipt set reversal = '{"operation": "x"}', prior = '{}'""",
    "a receipt less": "delete from action_receipt",
}


@pytest.fixture
def run_id(db: psycopg.Connection) -> int:
    found = make_sample_run(db)
    seal(db)
    return found


def documents(path: str) -> dict[str, bytes]:
    entries = verifier.unpack(Path(path).read_bytes())
    assert entries is not None
    told = {name: entries[name] for name in DOCUMENTS}
    run = json.loads(told["run.json"])
    # A second export has more blocks.
    return {**told, "run.json": verifier.write_json({**run, "streams": []})}


def test_the_bundle_says_what_the_log_says(dsn: str, db: psycopg.Connection, run_id: int, tmp_path: Path):
    before = documents(export_run(dsn, run_id, tmp_path / "before.zip").url)
    for number, (name, edit) in enumerate(TOLD_BY_EVENTS.items()):
        with db.transaction():
            db.execute("set local session_replication_role = replica")
            assert db.execute(edit).rowcount > 0, name
        made = export_run(dsn, run_id, tmp_path / f"after-{number}.zip")
        assert documents(made.url) == before, name
        assert verifier.verify(Path(made.url).read_bytes()) == []


def test_the_words_of_the_report_are_those_of_the_machines(db: psycopg.Connection):
    """The release has its own copy: the report shows a state as the console does."""
    ((document,),) = db.execute("select fn_registry_read()").fetchall()
    registry = Registry.from_document(document)
    shown = {
        machine.scope: {
            state.state_code: (
                (registry.text(state.ui_label_i18n_key, "en"), registry.text(state.ui_label_i18n_key, "vi")),
                state.ui_icon_glyph, registry.colours[state.ui_color_token].fg,
                registry.colours[state.ui_color_token].bg,
            )
            for state in machine.states
        }
        for machine in registry.machines
        if machine.active and machine.scope in STATES
    }  # fmt: skip
    assert shown == STATES


@pytest.mark.parametrize("edit", TOLD_BY_HASHES.values(), ids=TOLD_BY_HASHES)
def test_a_value_that_is_not_the_sealed_one_gives_no_bundle(
    dsn: str, db: psycopg.Connection, run_id: int, tmp_path: Path, edit: str
):
    with db.transaction():
        db.execute("set local session_replication_role = replica")
        assert db.execute(edit).rowcount > 0
    with pytest.raises(Conflict, match=r"cannot be verified: .*\[value\.(missing|unsealed)\]"):
        export_run(dsn, run_id, tmp_path)
    assert list(tmp_path.iterdir()) == []
