"""Set up approvals in Slack in a terminal: receives people and Slack accounts, prints who has which."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from stepwell.cli.connect import JsonOption, LimitOption, answer, ask, print_json
from stepwell.cli.render import console
from stepwell.errors import NotFound, UsageError
from stepwell.store.calls import slack as calls
from stepwell.store.calls.slack import LateCard, SlackUser

if TYPE_CHECKING:
    from stepwell.client import Client

app = typer.Typer(no_args_is_help=True, add_completion=False)

UserArgument = Annotated[
    str, typer.Argument(help="Id of the Slack member, such as U0123456789.", metavar="USER")
]


@app.command("map")
def map_user(
    context: typer.Context,
    person: Annotated[str, typer.Argument(help="Name of the person.", metavar="PERSON")],
    user: UserArgument,
    as_json: JsonOption = False,
) -> None:
    """Assign a Slack account to a person: stepwell slack map ada U0123456789"""

    async def write(client: Client) -> bool:
        return await client.perform(calls.map_user(client.tenant_id, user, person, client.actor))

    is_new = ask(context, write)
    document = {"user": user, "person": person, "is_new": is_new}
    answer(as_json, document, f"{user} {'belongs to' if is_new else 'belonged already to'} {person}")


@app.command()
def unmap(context: typer.Context, user: UserArgument, as_json: JsonOption = False) -> None:
    """Remove a Slack account from its person: stepwell slack unmap U0123456789"""

    async def write(client: Client) -> bool:
        return await client.perform(calls.unmap_user(client.tenant_id, user))

    if not ask(context, write):
        raise NotFound(
            f"no person has the Slack account {user}", hint="'stepwell slack list' shows all", field="user"
        )
    answer(as_json, {"user": user, "person": None}, f"{user} belongs to no person now")


@app.command("list")
def list_users(context: typer.Context, limit: LimitOption = 100, as_json: JsonOption = False) -> None:
    """List Slack accounts and the people they belong to."""

    async def read(client: Client) -> list[SlackUser]:
        return await client.perform(calls.users(client.tenant_id, limit))

    found = ask(context, read)
    if as_json:
        print_json(found)
        return
    if not found:
        typer.echo("no Slack account belongs to a person; 'stepwell slack map PERSON USER' adds one")
        return
    table = Table(box=None, pad_edge=False)
    for title in ("PERSON", "SLACK USER", "SINCE", "BY"):
        table.add_column(title, overflow="fold")
    for user in found:
        name = user.person_name if user.is_active else f"{user.person_name} (inactive)"
        since = user.mapped_at.astimezone().strftime("%Y-%m-%d %H:%M")
        table.add_row(name, user.slack_user_id, since, user.mapped_by)
    console().print(table)


@app.command()
def check(context: typer.Context, as_json: JsonOption = False) -> None:
    """Check that Slack accepts the token, and list the approvals that could not be shown in Slack."""
    from stepwell.govern.slack import settings

    given = settings.load()
    if given is None:
        raise UsageError(
            "Slack is not set up",
            hint="set STEPWELL_SLACK_TOKEN and STEPWELL_SLACK_CHANNEL; see docs/connectors.md",
        )
    who = asyncio.run(_who(given))

    async def read(client: Client) -> list[LateCard]:
        return await client.perform(calls.late_cards(client.tenant_id, 100))

    late = ask(context, read)
    if as_json:
        print_json({"team": who.get("team"), "user": who.get("user"), "channel": given.channel, "late": late})
        return
    typer.echo(f"{who.get('user')} writes to {given.channel} of {who.get('team')}")
    if given.signing_secret is None:
        typer.echo("cards have no buttons: STEPWELL_SLACK_SIGNING_SECRET is not set")
    for card in late:
        typer.echo(
            f"approval {card.approval_id} is not shown after {card.try_count} attempts: {card.last_error}"
        )
    if not late:
        typer.echo("no message has failed")


async def _who(given: Any) -> dict[str, Any]:
    from stepwell.connectors.secrets import opened_secrets
    from stepwell.connectors.slack_api import SlackApi

    with opened_secrets() as opened:
        api = SlackApi(api_url=given.api_url, limit_seconds=given.limit_seconds)
        return opened.clean(await api.call(opened.open(given.token), "auth.test", writes=False))
