"""Stepwell: a governed workflow engine that lives in Postgres. This module is the public API, explicit."""

from stepwell.errors import StepwellError

__version__ = "0.1.0"

__all__ = ["StepwellError", "__version__"]
