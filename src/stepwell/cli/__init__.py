"""The command line: receives arguments, calls the client, prints the answer; one module per command group.

`from stepwell.cli import render` gives a module that is imported at its first use.
"""

from stepwell.lazy import lazy_modules

__getattr__ = lazy_modules(__name__)
