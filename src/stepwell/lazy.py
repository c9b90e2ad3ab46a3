"""Import names and modules of a package when they are used: receives their homes, returns `__getattr__`.

So `import stepwell` is cheap, and a command that needs few names starts quickly.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, Sequence[str]], modules: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package. `homes`: module → its names; `modules`: submodules."""
    home_of = {name: module for module, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if name in modules:
            return import_module(f"{package}.{name}")
        if name not in home_of:
            raise AttributeError(f"module {package} has no attribute {name}")
        return getattr(import_module(home_of[name]), name)

    def names() -> list[str]:
        known = {name for name in vars(sys.modules[package]) if name.startswith("__")}
        return sorted({*known, *home_of, *modules})

    return get, names


def lazy_modules(package: str) -> Callable[[str], ModuleType]:
    """`__getattr__` of a package whose modules are imported when one of their names is used."""

    def get(name: str) -> ModuleType:
        if name.startswith("_"):
            raise AttributeError(f"module {package} has no attribute {name}")
        return _LaterModule(f"{package}.{name}")

    return get


class _LaterModule(ModuleType):
    """Gives the names of a module; the first one imports it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.modules.get(self.__name__) or import_module(self.__name__), name)


@contextmanager
def without_collector() -> Iterator[None]:
    """Load modules in this block: that makes many objects and no garbage, and what it makes stays."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
