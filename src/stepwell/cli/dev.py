"""Develop an app in a terminal: receives its file, runs `up`, starts a new worker after each change."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stepwell.cli.serve import HostOption, PortOption
from stepwell.cli.up import DataDirOption, Plan, run_tree
from stepwell.errors import UsageError
from stepwell.up.reload import folder_of

app = typer.Typer(add_completion=False)


@app.command()
def dev(
    context: typer.Context,
    app_name: Annotated[
        str, typer.Argument(help="The app: file.py, file.py:app or module:app.", metavar="APP")
    ],
    host: HostOption = "127.0.0.1",
    port: PortOption = None,
    data_dir: DataDirOption = None,
    watch: Annotated[
        list[Path] | None,
        typer.Option(help="Another folder with files of the app; may be given several times."),
    ] = None,
) -> None:
    """Run an app as `up` does, and start a new worker after each change of its Python or YAML files.

    If a changed file has an error, the error is printed and the old worker stays until you correct the file.
    """
    for place in (folder_of(app_name), *(watch or ())):
        if not place.is_dir():
            raise UsageError(f"there is no folder {place} to watch", field="watch")
    file = app_name.rpartition(":")[0] or app_name
    if file.endswith(".py") and not Path(file).is_file():
        raise UsageError(f"there is no file {file}", field="app")
    watched = tuple(dict.fromkeys((folder_of(app_name), *(path.resolve() for path in watch or ()))))
    run_tree(context.obj, host, port, data_dir, Plan(app_name, watched=watched))
