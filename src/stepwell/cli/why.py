"""Show why something does not run: receives a run or a step, prints the causes to the root and what helps."""

from __future__ import annotations

import typer

from stepwell.cli.connect import JsonOption, LanguageOption, print_json
from stepwell.cli.people_words import StepArgument, look_at, step_name
from stepwell.cli.render import console
from stepwell.cli.way_out import draw_way

app = typer.Typer(add_completion=False)


@app.command()
def why(
    context: typer.Context, step: StepArgument, lang: LanguageOption = "en", as_json: JsonOption = False
) -> None:
    """Show why a run, step or job does not run: each cause down to the root, who can act, what helps.

    Example: stepwell why 7/sign-off --lang vi
    """
    found, look = look_at(context, lambda people: people.unblock_path(step_name(step)), lang, as_json)
    if look is None:
        print_json(found)
    else:
        console().print(draw_way(look, found))
