"""Request approvals and decide them in a terminal: receives numbers and names, returns states."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from stepwell.cli.connect import JsonOption, KeyOption, LimitOption, ReasonOption, answer, print_json
from stepwell.cli.ids import ApprovalArgument
from stepwell.cli.people_words import AsOption, StepArgument, act, person, step_name
from stepwell.cli.render import console
from stepwell.errors import UsageError
from stepwell.people import Approval, People
from stepwell.unit_numbers import short

ShownOption = Annotated[
    str | None,
    typer.Option(
        help="What you have read: the line 'shown' of 'approvals show'. Without it, a terminal shows the"
        " approval and asks."
    ),
]

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.command("list")
def list_approvals(
    context: typer.Context,
    state: Annotated[
        str | None, typer.Option(help="requested, approved, rejected, expired or cancelled; default: all.")
    ] = None,
    limit: LimitOption = 20,
    as_json: JsonOption = False,
) -> None:
    """List approvals, the newest first."""
    found = act(context, lambda people: people.approvals(state, limit=limit))
    if as_json:
        print_json(found)
    elif not found:
        typer.echo("no approvals")
    else:
        console().print(_table(found))


@app.command()
def show(context: typer.Context, approval: ApprovalArgument, as_json: JsonOption = False) -> None:
    """Show an approval and the decisions of its reviewers."""
    found = act(context, lambda people: people.approval(approval))
    if as_json:
        print_json(found)
        return
    _print(found)
    for vote in found.votes or []:
        typer.echo(f"  {vote['voter']}: {vote['decision']}{' - ' + vote['reason'] if vote['reason'] else ''}")
    if found.state_code == "requested":
        typer.echo(f"  shown: {found.shown_digest}")


@app.command()
def request(
    context: typer.Context,
    action: Annotated[str, typer.Argument(help="The action to allow, such as reopen.")],
    step: StepArgument,
    quorum: Annotated[int, typer.Option(help="How many reviewers must approve: 1 or 2.", min=1, max=2)] = 1,
    expires_seconds: Annotated[
        int | None, typer.Option(help="Seconds until the approval expires; default: dot_config.")
    ] = None,
    tier: Annotated[int, typer.Option(help="1 low, 2 med, 3 high.", min=1, max=3)] = 1,
    approver: Annotated[
        list[str] | None, typer.Option(help="Name of a person who may decide; may be given several times.")
    ] = None,
    role: Annotated[str | None, typer.Option(help="People with this role may decide.")] = None,
    who: AsOption = None,
    reason: ReasonOption = None,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask reviewers to allow an action on a step."""
    name = person(context, who)
    made = act(
        context,
        lambda people: people.approval_request(
            action, step_name(step), name, reason=reason, quorum=quorum, expires_seconds=expires_seconds,
            key=key, tier=tier, approvers=approver, role=role,
        ),
    )  # fmt: skip
    answer(as_json, {"approval_id": made, "state": "requested"}, f"approval {short(made)}: requested")


@app.command()
def approve(
    context: typer.Context,
    approval: ApprovalArgument,
    who: AsOption = None,
    reason: ReasonOption = None,
    shown: ShownOption = None,
    as_json: JsonOption = False,
) -> None:
    """Approve what was shown; the approval is granted when enough reviewers approve."""
    _decide(context, approval, "approve", person(context, who), reason, shown, as_json)


@app.command()
def reject(
    context: typer.Context,
    approval: ApprovalArgument,
    reason: Annotated[str, typer.Option(help="The reason; it is stored and shown to the person who asked.")],
    who: AsOption = None,
    shown: ShownOption = None,
    as_json: JsonOption = False,
) -> None:
    """Reject; one rejection ends the approval, and it requires a reason."""
    _decide(context, approval, "reject", person(context, who), reason, shown, as_json)


@app.command()
def withdraw(
    context: typer.Context,
    approval: ApprovalArgument,
    who: AsOption = None,
    reason: ReasonOption = None,
    as_json: JsonOption = False,
) -> None:
    """Withdraw an approval that you requested."""
    name = person(context, who)
    state = act(context, lambda people: people.approval_withdraw(approval, name, reason=reason))
    answer(as_json, {"approval_id": approval, "state": state}, f"approval {short(approval)}: {state}")


def _decide(
    context: typer.Context,
    approval: int,
    decision: str,
    name: str,
    reason: str | None,
    shown: str | None,
    as_json: bool,
) -> None:
    """Decide with the digest that the person gives, or show the approval and ask the person."""
    found = act(context, lambda people: people.approval(approval))
    if shown is None:
        _confirm(found, decision)
    given = replace(found, shown_digest=shown or found.shown_digest)

    async def vote(people: People) -> tuple[str, str]:
        state = await people.approval_decide(given, decision, name, reason=reason)
        if state != "requested":
            return state, state
        now = await people.approval(approval)
        return state, f"{state}, {now.approve_count} of {now.quorum} have agreed"

    state, sentence = act(context, vote)
    answer(as_json, {"approval_id": approval, "state": state}, f"approval {short(approval)}: {sentence}")


def _confirm(found: Approval, decision: str) -> None:
    if not sys.stdin.isatty():
        raise UsageError(
            "--shown is missing: it tells what you have read",
            hint=f"'stepwell approvals show {short(found.approval_id)}' prints it",
            field="shown",
        )
    _print(found)
    typer.confirm(f"{decision} this?", abort=True)


def _print(found: Approval) -> None:
    console().print(_table([found]))
    for line in _particulars(found):
        typer.echo(f"  {line}")


def _particulars(found: Approval) -> list[str]:
    """Lines about what is to be approved: the proposed action, or the rules that would change."""
    about = found.about or {}
    lines = [f"asked: {found.reason}"] if found.reason else []
    lines.append(f"tier {('low', 'med', 'high')[found.tier - 1] if found.tier <= 3 else found.tier}")
    who = " or ".join(
        [*(found.approvers or ()), *([f"role {found.approver_role}"] if found.approver_role else ())]
    )
    lines.append(f"decided by {who or 'anybody else'}")
    if "connector" in about:
        lines.append(f"action: {about['connector']}.{about['operation']} on {about['target']}")
        lines += [f"  {name} = {_written(value)}" for name, value in about.get("fields", {}).items()]
        lines.append("can be reversed" if about.get("reversible") else "cannot be reversed")
        lines.append(f"rule {about.get('rule')} of policy version {about.get('policy_version')}")
    for word, rules in about.get("diff", {}).items():
        for rule in rules:
            lines.append(f"rule {word}: {(rule.get('new') or rule)['name']}")
            lines += [f"  {name} = {_written(value)}" for name, value in rule.items()]
    return lines


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _table(rows: list[Approval]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("APPROVAL", "STATE", "ACTION", "RUN", "ABOUT", "ASKED BY", "AGREED", "UNTIL"):
        table.add_column(title, overflow="fold")
    for row in rows:
        table.add_row(
            short(row.approval_id),
            row.state_code,
            row.action,
            "" if row.run_id is None else str(row.run_id),
            short(row.subject_unit_id),
            # A name such as [b]ada[/b] is no markup.
            Text(row.requested_by),
            f"{row.approve_count} of {row.quorum}",
            row.expires_at.astimezone().strftime("%Y-%m-%d %H:%M"),
        )
    return table
