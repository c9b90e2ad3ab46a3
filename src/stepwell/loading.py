"""Load what a command line names: receives `module:attribute` or files, returns an App or workflows."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import sysconfig
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from stepwell.app import App
from stepwell.define import DefinitionError, Graph, freeze, read_yaml
from stepwell.define.limits import MAX_PROBLEMS
from stepwell.define.problem import Problem, code_place
from stepwell.errors import StepwellError, UsageError

DEFAULT_ATTRIBUTE = "app"
YAML_BYTES_LIMIT = 5_000_000

# Folders of Python and its packages: files there do not belong to the app.
_INSTALLED = tuple({Path(sysconfig.get_paths()[name]) for name in ("stdlib", "purelib", "platlib")})


def load_app(target: str) -> App:
    """The App of `module:attribute` or `path/file.py:attribute`; the default attribute is `app`."""
    place, attribute = _parts(target)
    module = _from_file(Path(place), target) if place.endswith(".py") else _from_name(place, target)
    found: Any = module
    for name in attribute.split("."):
        if not hasattr(found, name):
            raise UsageError(
                f"--app {target}: {place} has no {name}", hint=_apps_of(module, place), field="app"
            )
        found = getattr(found, name)
    if not isinstance(found, App):
        raise UsageError(
            f"--app {target}: {attribute} is {type(found).__name__}, not a stepwell App",
            hint=_apps_of(module, place),
            field="app",
        )
    return found


def load_workflows(paths: list[Path]) -> list[Graph]:
    """The checked workflow of each YAML file; one error lists the problems of all files with their lines."""
    found: list[Graph] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            found.append(freeze(read_yaml(_text(path), file=str(path))))
        except DefinitionError as error:
            problems += error.problems
    if problems:
        raise DefinitionError(problems)
    return found


def _parts(target: str) -> tuple[str, str]:
    # Split at the last colon, unless it is part of a path. A file name may contain a colon.
    place, _, attribute = target.rpartition(":")
    if not place or "/" in attribute or attribute.endswith(".py"):
        place, attribute = target, ""
    if not place:
        raise UsageError(
            f"--app {target!r} is not an app", hint="write module:app or file.py:app", field="app"
        )
    return place, attribute or DEFAULT_ATTRIBUTE


def _from_name(name: str, target: str) -> ModuleType:
    _look_in(Path.cwd())
    return _imported(name, target)


def _from_file(path: Path, target: str) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"--app {target}: there is no file {path}", field="app")
    path = path.resolve()
    # Import it by its own name, so that the processes of the executor 'process' can import it too.
    _look_in(path.parent)
    loaded = sys.modules.get(path.stem)
    if loaded is not None and Path(getattr(loaded, "__file__", None) or "") != path:
        raise UsageError(
            f"--app {target}: the name {path.stem} belongs to another module",
            hint="rename the file",
            field="app",
        )
    return _imported(path.stem, target)


def _imported(name: str, target: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        if name == missing or name.startswith(f"{missing}."):
            raise UsageError(
                f"--app {target}: there is no module {missing}",
                hint="run the command in the folder of the module, or give the path of its file",
                field="app",
            ) from error
        raise UsageError(
            f"--app {target}: {_raised_at(error)}: {name} needs the module {missing}", field="app"
        ) from error
    except StepwellError as error:
        raise UsageError(f"--app {target}: {_refused_at(error)}", hint=error.hint, field="app") from error
    except SyntaxError as error:
        shown = f": {error.text.strip()}" if error.text else ""
        raise UsageError(
            f"--app {target}: {code_place(error.filename, error.lineno)}: {error.msg}{shown}", field="app"
        ) from error
    except (Exception, SystemExit) as error:
        what = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise UsageError(
            f"--app {target}: {_raised_at(error)}: {what} (STEPWELL_DEBUG=1 shows more)",
            field="app",
        ) from error


def _refused_at(error: StepwellError) -> str:
    """Each problem with its place: the place in the YAML file, or the line of the app that declares it."""
    if not isinstance(error, DefinitionError):
        return f"{_raised_at(error)}: {error.message}"
    said = [str(problem) for problem in error.problems[:MAX_PROBLEMS]]
    if any(problem.line is None for problem in error.problems):
        said[0] = f"{_raised_at(error)}: {said[0]}"
    if (left_off := len(error.problems) - len(said)) > 0:
        said.append(f"and {left_off} more")
    return "; ".join(said)


def _raised_at(error: BaseException) -> str:
    """The line of the app that raised: the innermost line outside Python and installed packages."""
    frames = traceback.extract_tb(error.__traceback__)
    of_app = [
        frame
        for frame in frames
        if not frame.filename.startswith("<") and not _is_installed(Path(frame.filename))
    ]
    frame = (of_app or frames)[-1]
    return code_place(frame.filename, frame.lineno)


def _is_installed(path: Path) -> bool:
    own = Path(__file__).parent
    return path.is_relative_to(own) or any(path.is_relative_to(folder) for folder in _INSTALLED)


def _look_in(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _apps_of(module: ModuleType, place: str) -> str | None:
    names = sorted(name for name, value in vars(module).items() if isinstance(value, App))
    return f"it has {', '.join(f'{place}:{name}' for name in names)}" if names else "it has no App"


def _text(path: Path) -> bytes:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", field="file") from error
    if len(text) > YAML_BYTES_LIMIT:
        raise UsageError(f"{path} is larger than {YAML_BYTES_LIMIT} bytes", field="file")
    return text
