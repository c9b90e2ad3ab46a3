"""Check, test, explain and propose policies in a terminal: receives YAML files, prints verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from stepwell.cli.connect import (
    JsonOption,
    LimitOption,
    ReasonOption,
    answer,
    ask,
    json_object,
    named_values,
    print_json,
)
from stepwell.cli.ids import RunOption
from stepwell.cli.people_words import AsOption, person
from stepwell.cli.problems import refuse
from stepwell.cli.receipts import govern
from stepwell.cli.render import console
from stepwell.define import DefinitionError
from stepwell.errors import UsageError
from stepwell.govern.calls import Explained, Govern, PolicyVersion, Verdict
from stepwell.unit_numbers import short

if TYPE_CHECKING:
    from stepwell.client import Client

app = typer.Typer(no_args_is_help=True, add_completion=False)

FileArgument = Annotated[Path, typer.Argument(help="A policy in YAML; - reads stdin.", metavar="FILE")]
PolicyOption = Annotated[
    Path | None, typer.Option("--policy", help="Use the rules of this file instead of the active version.")
]


@app.command()
def show(
    context: typer.Context,
    version: Annotated[int | None, typer.Argument(help="Which version; default: the active one.")] = None,
    source: Annotated[bool, typer.Option("--source", help="Print the file that was proposed.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show a rule set in the order in which its rules are evaluated: stepwell policy show 3."""
    found = govern(context, lambda calls: calls.policy(version))
    if as_json:
        print_json(found)
    elif source:
        typer.echo(found.source or "the source file was not stored")
    else:
        _show(found)


@app.command("list")
def list_versions(context: typer.Context, limit: LimitOption = 20, as_json: JsonOption = False) -> None:
    """List the versions, the newest first."""
    found = govern(context, lambda calls: calls.policies(limit=limit))
    if as_json:
        print_json(found)
        return
    table = Table(box=None, pad_edge=False)
    for title in ("VERSION", "STATE", "RULES", "PROPOSED BY", "AT", "APPROVAL", "REASON"):
        table.add_column(title, overflow="fold")
    for row in found:
        table.add_row(
            str(row.version_no), row.state_code, str(len(row.rules)), row.proposed_by,
            row.proposed_at.astimezone().strftime("%Y-%m-%d %H:%M"), short(row.approval_id), row.reason or "",
        )  # fmt: skip
    if found:
        console().print(table)
    else:
        typer.echo("no policy yet: every action is denied")


@app.command()
def check(context: typer.Context, file: FileArgument, as_json: JsonOption = False) -> None:
    """Check a policy file and print every problem with its line: stepwell policy check policy.yaml."""
    found = _whole(context, file)
    counts = {"rules": len(found.rules), "cases": len(found.cases)}
    sentence = f"{file}: {len(found.rules)} rules and {len(found.cases)} cases, no problem found"
    answer(as_json, {"file": str(file), **counts}, sentence)


@app.command("test")
def run_cases(
    context: typer.Context, file: FileArgument, policy: PolicyOption = None, as_json: JsonOption = False
) -> None:
    """Test the cases of a file: stepwell policy test cases.yaml --policy policy.yaml."""
    rules = None if policy is None else _whole(context, policy).rules
    text = _read(file)
    outcomes = _located(
        lambda: govern(context, lambda calls: calls.policy_test(text, file=str(file), rules=rules))
    )
    failed = [outcome for outcome in outcomes if not outcome.ok]
    if as_json:
        print_json([{**_plain(outcome), "ok": outcome.ok} for outcome in outcomes])
    else:
        for outcome in outcomes:
            said = _sentence(outcome.verdict)
            if outcome.ok:
                typer.echo(f"ok    {outcome.name}: {said}")
            else:
                wanted = ", ".join(f"{name} {value}" for name, value in outcome.expect.items())
                typer.echo(f"WRONG {file}:{outcome.line} {outcome.name}: expected {wanted}; got {said}")
        typer.echo(f"{len(outcomes) - len(failed)} of {len(outcomes)} cases passed")
    if failed:
        raise typer.Exit(1)


@app.command()
def explain(
    context: typer.Context,
    connector: Annotated[str | None, typer.Argument(help="Name of the connector.")] = None,
    operation: Annotated[str | None, typer.Argument(help="Operation of the connector.")] = None,
    target: Annotated[str | None, typer.Argument(help="Target of the operation, such as /orders.")] = None,
    field: Annotated[
        list[str] | None,
        typer.Option("--field", "-f", help="A field of the action, name=value; several times."),
    ] = None,
    more: Annotated[
        str | None,
        typer.Option("--action", help="The action, or further values for the rules, as JSON or @file."),
    ] = None,
    policy: PolicyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the verdict on an action, and why: stepwell policy explain shop order /orders -f amount=5."""
    action: dict[str, Any] = {"writes": True, "reversible": False, "fields": {}, "input": {}}
    action |= json_object(more, "action") if more else {}
    given = {"connector": connector, "operation": operation, "target": target}
    action |= {name: value for name, value in given.items() if value is not None}
    action["fields"] = {**action["fields"], **named_values(field or [], "field")}
    missing = [name for name in given if name not in action]
    if missing:
        raise UsageError(f"{missing[0]} is missing", hint="give connector, operation and target")
    rules = None if policy is None else _whole(context, policy).rules
    found = govern(context, lambda calls: calls.policy_explain(action, rules=rules))
    if as_json:
        print_json({"action": action, "verdict": found.verdict, "rules": found.answers})
    else:
        _explain(found)


@app.command()
def propose(
    context: typer.Context,
    file: FileArgument,
    who: AsOption = None,
    reason: ReasonOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask reviewers to approve a policy: stepwell policy propose policy.yaml --reason 'two for orders'."""
    text, name = _read(file), person(context, who)
    made = _located(
        lambda: govern(
            context, lambda calls: calls.policy_propose(text, file=str(file), reason=reason), actor=name
        )
    )
    if as_json:
        print_json(made)
        return
    approval = short(int(made["approval_id"]))
    typer.echo(f"version {made['version_no']}: becomes active when approval {approval} is granted")
    for word, sign in (("added", "+"), ("removed", "-"), ("changed", "~")):
        for rule in made["diff"][word]:
            shown = rule["new"] if word == "changed" else rule
            typer.echo(f"  {sign} {shown['priority']} {shown['name']}: {shown['effect']}")


@app.command()
def activate(
    context: typer.Context,
    version: Annotated[int, typer.Argument(help="The version to activate.", min=1)],
    who: AsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Activate the first version of a new installation: stepwell policy activate 1.

    Only the operator can do this, once: every later version becomes active when its approval is granted.
    """
    govern(context, lambda calls: calls.policy_activate(version), actor=person(context, who))
    answer(as_json, {"version_no": version, "state": "active"}, f"version {version}: active")


@app.command()
def verdicts(
    context: typer.Context,
    run: RunOption = None,
    limit: LimitOption = 20,
    as_json: JsonOption = False,
) -> None:
    """List the verdicts on actions, the newest first: stepwell policy verdicts --run 7."""

    async def read(client: Client) -> list[Verdict]:
        run_id = None if run is None else await run.number(client)
        return await Govern(client).verdicts(run_id, limit=limit)

    found = ask(context, read)
    if as_json:
        print_json(found)
        return
    table = Table(box=None, pad_edge=False)
    for title in ("RUN", "ACTION", "TARGET", "VERDICT", "WHY", "RULE", "VERSION", "AT"):
        table.add_column(title, overflow="fold")
    for row in found:
        table.add_row(
            "" if row.run_id is None else str(row.run_id), f"{row.connector}.{row.operation}",
            Text(row.target), row.effect,
            Text(row.reason if row.reason_code == "rule" else f"{row.reason} ({row.reason_code})"),
            row.rule_name or "", str(row.policy_version or ""),
            row.decided_at.astimezone().strftime("%Y-%m-%d %H:%M:%S"),
        )  # fmt: skip
    if found:
        console().print(table)
    else:
        typer.echo("no verdicts")


def _show(found: PolicyVersion) -> None:
    since = f" since {found.activated_at.astimezone():%Y-%m-%d %H:%M}" if found.activated_at else ""
    typer.echo(f"version {found.version_no}, {found.state_code}{since}, proposed by {found.proposed_by}")
    table = Table(box=None, pad_edge=False)
    for title in ("PRIORITY", "RULE", "EFFECT", "MATCH", "REASON"):
        table.add_column(title, overflow="fold")
    for rule in sorted(found.rules, key=lambda rule: int(rule["priority"])):
        table.add_row(
            str(rule["priority"]), rule["name"], _effect(rule), Text(rule["match"]), Text(rule["reason"])
        )
    console().print(table)


def _effect(rule: dict[str, Any]) -> str:
    if rule["effect"] != "needs_approval":
        return str(rule["effect"])
    people = [*rule.get("approvers", []), *([f"role {rule['role']}"] if "role" in rule else [])]
    count = "two" if rule.get("two_person") else "one"
    return f"needs approval ({rule['tier']}, {count} of {', '.join(people) or 'all others'})"


def _explain(found: Explained) -> None:
    typer.echo(_sentence(found.verdict))
    if not found.answers:
        return
    table = Table(box=None, pad_edge=False)
    for title in ("PRIORITY", "RULE", "EFFECT", "MATCHES"):
        table.add_column(title, overflow="fold")
    decided = False
    for said in found.answers:
        # The rules after the first one that matches or fails are not evaluated.
        table.add_row(
            str(said.priority),
            Text(said.rule),
            said.effect,
            Text("not evaluated" if decided else said.answer),
        )
        decided = decided or said.answer != "false"
    console().print(table)


def _sentence(verdict: dict[str, Any]) -> str:
    said = f"{verdict['effect']}: {verdict['reason']}"
    if verdict["effect"] == "needs_approval":
        said = f"needs approval ({verdict['tier']}{', two people' if verdict.get('two_person') else ''}): "
        said += str(verdict["reason"])
    names = [f"rule {verdict['rule']}"] if verdict.get("rule") else []
    names += [] if verdict["reason_code"] == "rule" else [verdict["reason_code"]]
    return f"{said} ({', '.join(names)})"


def _plain(outcome: Any) -> dict[str, Any]:
    return {name: getattr(outcome, name) for name in ("name", "line", "expect", "verdict")}


def _whole(context: typer.Context, file: Path) -> Any:
    text = _read(file)
    return _located(lambda: govern(context, lambda calls: calls.policy_check(text, file=str(file))))


def _read(file: Path) -> bytes:
    try:
        return typer.get_binary_stream("stdin").read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}", field="file") from error


def _located(what: Any) -> Any:
    try:
        return what()
    except DefinitionError as error:
        refuse(error)
