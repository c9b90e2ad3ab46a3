"""All calls of database functions and views, one module for each subject.

`from stepwell.store.calls import runs` imports the module when one of its names is used first.
"""

from stepwell.lazy import lazy_modules

__getattr__ = lazy_modules(__name__)
