"""Show a person's work in a terminal: receives a name, hands on what is theirs and what they may take."""

from __future__ import annotations

from typing import Annotated

import typer

from stepwell.cli.connect import JsonOption, LimitOption, print_json
from stepwell.cli.people_words import AsOption, act, person, step_table
from stepwell.cli.render import console

app = typer.Typer(add_completion=False, help="Show the open work of people.")


@app.command()
def inbox(
    context: typer.Context,
    who: AsOption = None,
    everybody: Annotated[bool, typer.Option("--all", help="Everybody's open work.")] = False,
    role: Annotated[str | None, typer.Option(help="Only what is for this role.")] = None,
    limit: LimitOption = 100,
    as_json: JsonOption = False,
) -> None:
    """What is in your hands, and what is ready for one of your roles; most urgent first."""
    name = None if everybody else person(who)
    found = act(context, lambda people: people.inbox(name, role=role, limit=limit))
    if as_json:
        print_json(found)
    elif not found:
        typer.echo("nothing to do")
    else:
        console().print(step_table(found))
