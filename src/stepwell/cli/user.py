"""Accounts in a terminal: receives names and roles of people, services and agents, prints them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from stepwell.cli.connect import JsonOption, answer, ask, print_json
from stepwell.define.duration import parse_duration
from stepwell.errors import NotFound
from stepwell.store.calls import principals as calls
from stepwell.store.calls import words
from stepwell.store.calls.principals import Principal

if TYPE_CHECKING:
    from stepwell.client import Client

app = typer.Typer(no_args_is_help=True, add_completion=False)
roles = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Add roles to an account, or remove them."
)
app.add_typer(roles, name="roles")
sees = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Which roles see a step, or read a content."
)
app.add_typer(sees, name="sees")

NameArgument = Annotated[str, typer.Argument(help="Name of the account.")]
RolesArgument = Annotated[list[str], typer.Argument(help="One or more roles.")]


@app.command()
def add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the account, as --as takes it.")],
    role: Annotated[list[str] | None, typer.Option(help="A role; may be given several times.")] = None,
    title: Annotated[str | None, typer.Option(help="Full name, for display.")] = None,
    kind: Annotated[str, typer.Option(help="person, service or agent.")] = "person",
    as_json: JsonOption = False,
) -> None:
    """Add a person, a service or an agent; for an account that exists, replace its roles."""
    given = role or []
    ask(
        context,
        lambda client: client.perform(calls.set_principal(client.tenant_id, kind, name, given, title)),
    )
    document = {"name": name, "kind": kind, "title": title, "is_active": True, "roles": given}
    answer(as_json, document, f"{name}: {_listed(given)}")


@app.command("list")
def list_users(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the accounts and their roles."""
    found = ask(context, lambda client: client.perform(calls.principals(client.tenant_id)))
    if as_json:
        print_json([asdict(account) for account in found])
        return
    for account in found:
        typer.echo(_line(account))


@app.command()
def show(context: typer.Context, name: NameArgument, as_json: JsonOption = False) -> None:
    """Show an account: its roles, and what they allow."""
    found = _account(context, name)
    if as_json:
        print_json(asdict(found))
        return
    typer.echo(_line(found))
    typer.echo(f"may: {', '.join(found.verbs) or 'nothing'}")


@app.command()
def deactivate(context: typer.Context, name: NameArgument, as_json: JsonOption = False) -> None:
    """End an account: it acts no more, and its tokens and sessions bind nothing."""
    _change(context, name, as_json, is_active=False)


@app.command()
def activate(context: typer.Context, name: NameArgument, as_json: JsonOption = False) -> None:
    """Let an account that was deactivated act again."""
    _change(context, name, as_json, is_active=True)


@app.command()
def rename(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The old name, or '#' and the number that doctor prints.")],
    new_name: Annotated[str, typer.Argument(help="The new name.")],
    as_json: JsonOption = False,
) -> None:
    """Give another name to an account whose name this release does not accept; then activate it."""
    ask(
        context,
        lambda client: client.perform(calls.rename_principal(client.tenant_id, name, new_name)),
    )
    found = _account(context, new_name)
    answer(as_json, asdict(found), _line(found))


@app.command()
def link(
    context: typer.Context,
    name: NameArgument,
    first_admin: Annotated[
        bool, typer.Option("--first-admin", help="Make this person the first administrator.")
    ] = False,
    expires: Annotated[str, typer.Option(help="How long it can be used, such as 2h.")] = "24h",
    as_json: JsonOption = False,
) -> None:
    """Create a link that works once, to set a password; its text is printed once."""
    purpose = "first_administrator" if first_admin else "password_reset"
    seconds = int(parse_duration(expires, "--expires"))
    text, until = ask(
        context,
        lambda client: client.perform(calls.create_link(client.tenant_id, name, purpose, seconds)),
    )
    document = {"name": name, "purpose": purpose, "link": text, "expires_at": until.isoformat()}
    answer(as_json, document, text)
    if not as_json:
        typer.echo(f"for {name}, until {until:%Y-%m-%d %H:%M %Z}; it cannot be shown again", err=True)


@roles.command("add")
def add_roles(
    context: typer.Context, name: NameArgument, role: RolesArgument, as_json: JsonOption = False
) -> None:
    """Add roles to an account."""
    _change(context, name, as_json, add=role)


@roles.command("remove")
def remove_roles(
    context: typer.Context, name: NameArgument, role: RolesArgument, as_json: JsonOption = False
) -> None:
    """Remove roles from an account."""
    _change(context, name, as_json, remove=role)


def _change(
    context: typer.Context,
    name: str,
    as_json: bool,
    *,
    add: Sequence[str] = (),
    remove: Sequence[str] = (),
    is_active: bool | None = None,
) -> None:
    ask(
        context,
        lambda client: client.perform(
            calls.change_principal(client.tenant_id, name, add=add, remove=remove, is_active=is_active)
        ),
    )
    found = _account(context, name)
    answer(as_json, asdict(found), _line(found))


def _account(context: typer.Context, name: str) -> Principal:
    async def read(client: Client) -> Principal:
        found = await client.perform(calls.principals(client.tenant_id, name))
        if not found:
            hint = await client.perform(words.suggestion(client.tenant_id, "person", name))
            raise NotFound(f"{name} does not exist", hint=hint or "see 'stepwell user list'", field="name")
        return found[0]

    return ask(context, read)


def _line(account: Principal) -> str:
    shown = f"{account.name} ({account.title})" if account.title else account.name
    kind = "" if account.kind == "person" else f", {account.kind}"
    return f"{shown}: {_listed(account.roles)}{kind}{'' if account.is_active else ', inactive'}"


def _listed(given: Sequence[str]) -> str:
    return ", ".join(given) or "no roles"


SeeingRoles = Annotated[list[str] | None, typer.Argument(help="Roles; none: everybody.")]


@sees.command("step")
def sees_step(
    context: typer.Context,
    workflow: Annotated[str, typer.Argument(help="Name of a published workflow.")],
    step: Annotated[str, typer.Argument(help="Id of one of its steps.")],
    roles: SeeingRoles = None,
    as_json: JsonOption = False,
) -> None:
    """Show a step only to these roles: `stepwell user sees step order.process check-credit finance`."""
    given = sorted(set(roles or []))
    ask(
        context,
        lambda client: client.perform(calls.set_step_roles(client.tenant_id, workflow, step, given)),
    )
    document = {"kind": "step", "name": workflow, "step": step, "roles": given}
    answer(as_json, document, f"{workflow} {step}: {_seen(given)}")


@sees.command("content")
def sees_content(
    context: typer.Context,
    code: Annotated[str, typer.Argument(help="Code of the content unit.")],
    roles: SeeingRoles = None,
    as_json: JsonOption = False,
) -> None:
    """Show the body of a content only to these roles: `stepwell user sees content price-list finance`."""
    given = sorted(set(roles or []))
    ask(context, lambda client: client.perform(calls.set_content_roles(client.tenant_id, code, given)))
    answer(
        as_json, {"kind": "content", "name": code, "step": None, "roles": given}, f"{code}: {_seen(given)}"
    )


@sees.command("list")
def sees_list(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the steps and contents that are not for everybody."""
    found = ask(context, lambda client: client.perform(calls.shown_to(client.tenant_id)))
    if as_json:
        print_json([asdict(one) for one in found])
        return
    if not found:
        typer.echo("everybody sees every step and reads every content")
    for one in found:
        typer.echo(f"{one.kind} {one.name}{f' {one.step}' if one.step else ''}: {_seen(one.roles)}")


def _seen(given: Sequence[str]) -> str:
    return ", ".join(given) or "everybody"
