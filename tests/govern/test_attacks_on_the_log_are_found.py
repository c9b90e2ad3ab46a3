"""Tamperings beside those that the catalog gives: each has a finding of `audit verify`."""

from __future__ import annotations

import pytest

from tests.govern import tamper
from tests.govern.conftest import Disarmed
from tests.govern.sealing import await_sealable, check

# The last event of a completed step of the sample run.
EVENT = "(select max(event_id) from event_log where tenant_id = 1 and event_type = 'step.completed')"
# The last approval that bob and cleo decided.
APPROVED = (
    "(select max(unit_id) from event_log where tenant_id = 1 and event_type = 'approval.vote_recorded'"
    " and payload ->> 'voter' = 'cleo')"
)
# As of a transaction that has ended: that of the attacker is open, and its events are found by that alone.
ARCHIVED = (
    "insert into event_log (tenant_id, tx, event_id, at, run_id, unit_id, event_type, actor_class, actor,"
    " payload) select 1, (array_agg(tx order by tx desc))[1], max(event_id) + 1, stepwell.now(), 0, 0,"
    " 'log.archived', 'system', 'keeper', {payload} from event_log"
)
COPY = (
    "insert into event_log (tenant_id, tx, event_id, at, run_id, unit_id, event_type, actor_class, actor)"
    " overriding system value select {values} from event_log where tenant_id = 1 and event_id = " + EVENT
)
FIELDS = ("tenant_id", "tx", "event_id", "at", "run_id", "unit_id", "event_type", "actor_class", "actor")


def copied(**other: str) -> str:
    return COPY.format(values=", ".join(other.get(name, name) for name in FIELDS))


def swapped(table: str, key: str = "block_no") -> str:
    return f"update {table} set {key} = 3 - {key} where tenant_id = 1 and {key} in (1, 2)"


# What is done, by name. The attacker has no triggers, no constraints and no unique indexes in his way.
ATTACKS: dict[str, str | list[str]] = {
    # Blocks, leaves and streams
    "two blocks swapped": swapped("audit_block"),
    "the leaves of two blocks swapped": swapped("audit_leaves"),
    "the streams of two blocks swapped": swapped("audit_block_stream"),
    "everything of two blocks swapped": [
        swapped("audit_block"), swapped("audit_leaves"), swapped("audit_block_stream"),
    ],
    "a block before the first": (
        "insert into audit_block (tenant_id, block_no, first_tx, first_event_id, last_tx, last_event_id,"
        " first_at, last_at,"
        " event_count, event_root, stream_count, stream_root, history_root, previous_hash, sealed_at,"
        " block_hash)"
        " select tenant_id, 0, '0', 0, '0', 0, first_at, last_at, event_count, event_root, stream_count,"
        " stream_root,"
        " history_root, previous_hash, sealed_at, previous_hash from audit_block where tenant_id = 1 and"
        " block_no = 1"
    ),
    "leaves in reverse order": (
        "update audit_leaves set txs = array(select x from unnest(txs) with ordinality as q (x, n) order by"
        " n desc),"
        " event_ids = array(select x from unnest(event_ids) with ordinality as q (x, n) order by n desc)"
        " where tenant_id = 1 and block_no = 1"
    ),
    "leaves that say the position of another event, which is gone": [
        "update audit_leaves set txs[3] = txs[4], event_ids[3] = event_ids[4] where tenant_id = 1 and"
        " block_no = 1",
        "delete from event_log as e using audit_leaves as l where l.tenant_id = 1 and l.block_no = 1"
        " and e.tenant_id = 1 and e.event_id = l.event_ids[4]",
    ],
    "a carried value moved to another event": (
        "update audit_leaves set value_hashes = value_hashes[2:] || value_hashes[1] where tenant_id = 1"
    ),
    "no event carries values any more": "update audit_leaves set value_hashes = null where tenant_id = 1",
    "values carried by nobody, and other outputs": [
        "update audit_leaves set value_hashes = array_fill(null::bytea, array[cardinality(txs)]) where"
        " tenant_id = 1",
        """update unit_output set output = '{"paid": true}' where tenant_id = 1""",
    ],
    "a stream that begins a second time": (
        "update audit_block_stream set previous_block_no = 0 where tenant_id = 1 and previous_block_no > 0"
    ),
    "the last block gone, and the row of the chain fits": [
        "delete from audit_block_stream where tenant_id = 1 and block_no = (select max(block_no) from"
        " audit_block)",
        "delete from audit_leaves where tenant_id = 1 and block_no = (select max(block_no) from audit_block)",
        "with gone as (delete from audit_block where tenant_id = 1 and block_no ="
        " (select max(block_no) from audit_block where tenant_id = 1) returning block_no)"
        " update audit_chain as c set block_count = b.block_no, head_hash = b.block_hash, last_tx ="
        " b.last_tx,"
        " last_event_id = b.last_event_id, sealed_at = b.sealed_at from audit_block as b, gone as g"
        " where c.tenant_id = 1 and b.tenant_id = 1 and b.block_no = g.block_no - 1",
    ],
    "the whole seal gone": [f"delete from {table} where tenant_id = 1" for table in tamper.SEAL],
    "the seal of no tenant left": [f"delete from {table}" for table in tamper.SEAL],
    "another salt": "update audit_chain set salt = sha256('x') where tenant_id = 1",
    "the chain of another tenant": (
        "update audit_chain set chain_id = (select chain_id from audit_chain where tenant_id = 2) where"
        " tenant_id = 1"
    ),
    "the chains of two tenants swapped": [
        f"update {table} set tenant_id = 3 - tenant_id where tenant_id in (1, 2)" for table in tamper.SEAL
    ],
    "events that look as if they were not sealed yet": (
        "update audit_chain set last_event_id = last_event_id - 5 where tenant_id = 1"
    ),
    # Events
    "an event of transaction 0": copied(tx="'0'::xid8", event_id="1"),
    "an event of a transaction that has not begun": copied(tx="'9223372036854775807'::xid8"),
    "an event with number 0": copied(event_id="0"),
    "an event with a number below all others": copied(event_id="-5"),
    "an event at infinity": f"update event_log set at = 'infinity' where event_id = {EVENT}",
    "an event before all time": f"update event_log set at = '-infinity' where event_id = {EVENT}",
    "an event in the year 10000": f"update event_log set at = '10000-01-01' where event_id = {EVENT}",
    "an event of year 1 BC": f"update event_log set at = '0001-01-01 BC' where event_id = {EVENT}",
    "an event twice, in two months": copied(at="at + interval '1 month'"),
    "an event given to another tenant": f"update event_log set tenant_id = 2 where event_id = {EVENT}",
    "an event of another tenant": "update event_log set tenant_id = 1 where tenant_id = 2",
    "an event of another run": f"update event_log set run_id = run_id + 1000 where event_id = {EVENT}",
    "all events of a run given to another run": (
        "update event_log set run_id = run_id + 1000, unit_id = unit_id + (1000 << 20)"
        f" where run_id = {APPROVED} >> 20"
    ),
    "an event without a unit": f"update event_log set unit_id = null where event_id = {EVENT}",
    "a name with another mark": (
        "update event_log set actor = actor || U&'\\0301' where tenant_id = 1 and actor = 'ada'"
    ),
    "a name with an invisible letter": (
        "update event_log set actor = actor || U&'\\200B' where tenant_id = 1 and actor = 'ada'"
    ),
    "a month of events detached": "alter table event_log detach partition {month}",
    "a month of events without its rows": "truncate {month}",
    "events with numbers and times that are none": (
        """update event_log set payload = '{"deadline_at": "x", "sla_breach_duration": "y", "verdict_id": "z",
        "replay_request_id": 1e999, "prior_audit_id": "a", "completed_after_deadline": 1}' where true"""
    ),
    "a definition whose steps are a number": """update workflow_version set graph = '{"steps": 5}'""",
    "a definition whose edges are texts, with its own hash": [
        """update workflow_version set graph = graph || '{"edges": ["x"], "branches": 7, "groups": {}}'""",
        "update workflow_version set graph_hash = encode(sha256(convert_to(graph::text, 'UTF8')), 'hex')",
    ],
    "a step twice": (
        "insert into workflow_step_def select * from workflow_step_def where tenant_id = 1"
        " order by version_id, step_no limit 1"
    ),
    # All columns but those that PostgreSQL computes.
    "a version twice": """do $$ begin execute (
        select format('insert into workflow_version (%1$s) overriding system value select %1$s'
            ' from workflow_version as v where tenant_id = 1 and not exists (select from run_detail as r'
            ' where r.version_id = v.version_id) limit 1', string_agg(quote_ident(a.attname), ', '))
        from pg_attribute as a
        where a.attrelid = 'workflow_version'::regclass and a.attnum > 0 and not a.attisdropped
            and a.attgenerated = ''); end $$""",
    "an edge less": "delete from workflow_step_relations where tenant_id = 1",
    "a step for another role": (
        """update workflow_step_def set config = config || '{"role": "x"}' where config ? 'role'"""
    ),
    "a branch that is negated": "update workflow_branch set negated = not negated where tenant_id = 1",
    "another policy in force": (
        "update policy_active set policy_set_id = (select min(policy_set_id) from policy_set) where"
        " policy_set_id <> (select min(policy_set_id) from policy_set)"
    ),
    "a replay that nobody approved": (
        "update dlq_replay_request set proposal_state = 'merged', replay_state = 'completed'"
        " where proposal_state = 'rejected'"
    ),
    "a plan that was never stopped": (
        "update dlq_replay_plan set plan_state = 'completed', ended_because = 'every letter was replayed'"
        " where tenant_id = 1 and plan_state = 'stopped'"
    ),
    "a correction for another reason": (
        "update step_run_correction_cycle set correction_reason = 'none' where tenant_id = 1"
    ),
    "another output before a correction": [
        "update step_run_output_snapshot set output = '{}' where tenant_id = 1",
        "update step_run_prior_audit set output = '{}' where tenant_id = 1",
    ],
    "a bundle that was never asked for": "delete from evidence_bundle where tenant_id = 1",
    # Months that are said to be archived
    "a present month archived": [
        "delete from event_log where tenant_id = 1",
        ARCHIVED.format(
            payload="jsonb_build_object('months', array[left(now()::text, 7)], 'event_count', 5)"
        ),
    ],
    "an archived month that nobody had": ARCHIVED.format(
        payload="""'{"months": ["2001-01"], "event_count": 7}'::jsonb"""
    ),
    "less than nothing archived": ARCHIVED.format(
        payload="""'{"months": ["2001-01"], "event_count": -7}'::jsonb"""
    ),
    "a verdict that nobody gave, in a log without its oldest months": [
        ARCHIVED.format(payload="""'{"months": ["2001-01"], "event_count": 0}'::jsonb"""),
        "insert into policy_verdict overriding system value select (jsonb_populate_record(v,"
        """ '{"verdict_id": 99999}')).* from policy_verdict as v where tenant_id = 1 limit 1""",
    ],
    "another publisher, in a log without its oldest months": [
        ARCHIVED.format(payload="""'{"months": ["2001-01"], "event_count": 0}'::jsonb"""),
        "update workflow_version set published_by = 'the-ceo', published_at = '2001-01-03'"
        " where tenant_id = 1",
    ],
    "archived, but what": ARCHIVED.format(payload="""'{}'::jsonb"""),
    "archived as a text": ARCHIVED.format(payload="""'{"months": "2001-01", "event_count": "all"}'::jsonb"""),
    "archived without a payload": ARCHIVED.format(payload="null"),
    # Beside the log
    "a vote by another person": (
        f"update approval_vote set voter = 'the-ceo' where approval_id = {APPROVED} and voter = 'bob'"
    ),
    "a vote given to another tenant": (
        f"update approval_vote set tenant_id = 2 where approval_id = {APPROVED}"
    ),
    "one vote is enough": [
        f"update approval_detail set quorum = 1 where approval_id = {APPROVED}",
        f"delete from approval_vote where approval_id = {APPROVED} and voter = 'cleo'",
    ],
    "an approval without a trace beside the log": [
        f"delete from {table} where {key} = {APPROVED}"
        for table, key in (
            ("approval_vote", "approval_id"), ("approval_detail", "approval_id"), ("work_unit", "unit_id"),
        )
    ],
    "an approval of another request": (
        "update approval_detail set request_key = 'act:other' where tenant_id = 1 and request_key like"
        " 'act:%'"
    ),
    "cheaper": "update action_receipt set cost_micros = 1 where tenant_id = 1 and cost_micros > 1",
    "in another currency": "update action_receipt set currency = 'XTS' where tenant_id = 1 and currency is"
    " not null",
    "a verdict that allows": (
        "update policy_verdict set effect = 'allow' where tenant_id = 1 and effect = 'deny'"
    ),
    "the same number, written otherwise": (
        "update run_detail set input = jsonb_set(input, '{items,0,price}', '9.50') where input #>"
        " '{items,0,price}' = '9.5'"
    ),
    "other rules under the same hash": (
        """update policy_set set rules = rules || '{"forged": true}' where tenant_id = 1"""
    ),
    "other rules with their own hash": [
        """update policy_set set rules = '{"rules": []}' where tenant_id = 1""",
        "update policy_set set rules_hash = encode(sha256(convert_to(rules::text, 'UTF8')), 'hex') where"
        " tenant_id = 1",
    ],
    "a policy that somebody else proposed": "update policy_set set proposed_by = 'zoe' where tenant_id = 1",
    "another definition under the same hash": (
        """update workflow_version set graph = graph || '{"forged": true}' where tenant_id = 1"""
    ),
    "a definition that somebody else published": (
        "update workflow_version set published_by = 'zoe' where tenant_id = 1"
    ),
    "another operation in a definition and in its steps": [
        "update workflow_step_def set operation_id = (select min(operation_id) from operation)"
        " where tenant_id = 1 and operation_id is not null",
        "update work_unit set operation_id = (select min(operation_id) from operation)"
        " where tenant_id = 1 and scope = 'step' and operation_id is not null",
    ],
    "an operation with another name": (
        "update operation set operation_name = 'x.' || operation_name where tenant_id = 1 and"
        " operation_name not like 'stepwell.%'"
    ),
    "a job with another operation": (
        "update work_unit set operation_id = operation_id - 1 where tenant_id = 1 and scope = 'job'"
    ),
    "a workflow with another name": "update workflow_registry set workflow_name = 'x.' || workflow_name",
    "a person with another name": "update person set person_name = 'zoe' where person_name = 'ada'",
    "a step that was never late": (
        "update work_unit set completed_after_deadline = false, overdue_first_at = null,"
        " sla_breach_duration = null"
        " where tenant_id = 1 and completed_after_deadline"
    ),
    "a run that ended earlier": "update run_detail set finished_at = finished_at - interval '1 hour' where"
    " finished_at is not null",
    "attempts that never failed": "update work_unit set attempt_count = 0, failure_class = null where"
    " attempt_count > 0",
}  # fmt: skip
MONTH = (
    "select tableoid::regclass::text from event_log where tenant_id = 1"
    " group by tableoid order by count(*) desc limit 1"
)


@pytest.mark.parametrize("name", ATTACKS)
def test_it_is_found(disarmed: Disarmed, name: str):
    db, attack = disarmed.db, ATTACKS[name]
    ((month,),) = db.execute(MONTH).fetchall()
    await_sealable(db)
    with db.transaction(force_rollback=True):
        for statement in [attack] if isinstance(attack, str) else attack:
            changed = db.execute(statement.replace("{month}", month).encode())
            assert changed.rowcount != 0, statement
        tenants = db.execute("select tenant_id from tenant order by 1").fetchall()
        assert any(check(db, tenant, disarmed.anchored).problems for (tenant,) in tenants)


def test_an_attacker_who_makes_everything_again_is_found_by_the_anchor(disarmed: Disarmed):
    """He edits a vote in the log and beside it, and seals all again with the functions of the database."""
    db = disarmed.db
    await_sealable(db)
    with db.transaction(force_rollback=True):
        db.execute(
            f"update approval_vote set voter = 'the-ceo' where approval_id = {APPROVED} and voter = 'bob'"
        )
        db.execute(
            "update event_log set actor = 'the-ceo', payload = payload || jsonb_build_object('voter',"
            " 'the-ceo')"
            f" where unit_id = {APPROVED} and event_type = 'approval.vote_recorded' and payload ->> 'voter'"
            f" = 'bob'"
        )
        tamper.rewind(db, 1)
        while db.execute("select * from fn_audit_seal(1)").fetchall():
            pass
        assert check(db).problems == []
        found = check(db, anchored=disarmed.anchored).problems
        assert {problem.detail for problem in found} == {
            "the anchor has another hash for it: the chain was made again"
        }
