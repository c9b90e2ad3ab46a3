"""Show the work of a person in a terminal: receives a name, prints their steps and those they may claim."""

from __future__ import annotations

from typing import Annotated

import typer

from stepwell.cli.connect import JsonOption, LanguageOption, LimitOption, print_json
from stepwell.cli.people_screen import inbox_page
from stepwell.cli.people_words import AsOption, look_at, person
from stepwell.cli.render import console

app = typer.Typer(add_completion=False)


@app.command()
def inbox(
    context: typer.Context,
    who: AsOption = None,
    everybody: Annotated[bool, typer.Option("--all", help="The open steps of all people.")] = False,
    role: Annotated[str | None, typer.Option(help="Only steps for this role.")] = None,
    escalated: Annotated[bool, typer.Option("--escalated", help="Only escalated steps.")] = False,
    limit: LimitOption = 100,
    lang: LanguageOption = "en",
    as_json: JsonOption = False,
) -> None:
    """Steps assigned to you, steps you may claim, and steps escalated to you; the most urgent first.

    Example: stepwell inbox --as ada --escalated
    """
    name = None if everybody else person(context, who)
    found, look = look_at(context, lambda people: people.inbox(name, role=role, limit=limit), lang, as_json)
    if escalated:
        found = [step for step in found if step.escalation_level is not None]
    if look is None:
        print_json(found)
    elif not found:
        typer.echo(look.word("nothing to do"))
    else:
        console().print(inbox_page(look, found))
