"""Names of a package that are loaded when they are used: receives where each lives, returns what Python asks.

So `import stepwell` costs little, and a command line that needs few names starts at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, Sequence[str]], modules: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package: names by the module they live in, and modules of its own."""
    home_of = {name: module for module, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if name in modules:
            return import_module(f"{package}.{name}")
        if name not in home_of:
            raise AttributeError(f"module {package} has no attribute {name}")
        return getattr(import_module(home_of[name]), name)

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home_of, *modules})

    return get, names
