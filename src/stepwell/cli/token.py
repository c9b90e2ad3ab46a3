"""Tokens in a terminal: receives whose token it is and what it may do, prints its text once."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from stepwell.cli.connect import JsonOption, LimitOption, answer, ask, each, print_json
from stepwell.define.duration import parse_duration
from stepwell.store.calls import principals as calls
from stepwell.store.calls.principals import Token

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.command()
def create(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The account whose token it is.")],
    label: Annotated[str, typer.Option(help="What the token is for, such as 'nightly import'.")],
    expires: Annotated[str, typer.Option(help="How long it is valid, such as 12h or 90d.")] = "90d",
    verb: Annotated[
        list[str] | None, typer.Option(help="Narrow it to this verb; may be given several times.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Create a token; its text is printed once and cannot be read again. STEPWELL_TOKEN takes it."""
    seconds = int(parse_duration(expires, "--expires"))
    token_id, text = ask(
        context,
        lambda client: client.perform(calls.create_token(client.tenant_id, name, label, seconds, verb)),
    )
    document = {"token_id": token_id, "token": text, "name": name, "label": label, "verbs": verb}
    answer(as_json, document, text)
    if not as_json:
        typer.echo(f"token {token_id} of {name}; it cannot be shown again", err=True)


@app.command("list")
def list_tokens(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Only the tokens of this account.")] = None,
    limit: LimitOption = 100,
    as_json: JsonOption = False,
) -> None:
    """List tokens, the newest first; their texts are not stored."""
    found = ask(context, lambda client: client.perform(calls.tokens(client.tenant_id, name, limit)))
    if as_json:
        print_json([asdict(token) for token in found])
        return
    for token in found:
        typer.echo(_line(token))
    if not found:
        typer.echo("no tokens")


@app.command()
def revoke(
    context: typer.Context,
    tokens: Annotated[list[int], typer.Argument(help="Numbers of tokens.")],
    as_json: JsonOption = False,
) -> None:
    """Revoke tokens: they bind nothing any more."""
    each(
        context,
        "token",
        tokens,
        lambda client, number: client.perform(calls.revoke_token(client.tenant_id, number)),
        "revoked",
        as_json=as_json,
    )


def _line(token: Token) -> str:
    state = "revoked" if token.revoked_at else "valid" if token.is_valid else "not valid"
    verbs = "" if token.verbs is None else f", only {', '.join(token.verbs)}"
    return (
        f"{token.token_id}  {token.principal_name}: {token.label}, {state}, "
        f"expires {token.expires_at:%Y-%m-%d %H:%M}{verbs}"
    )
