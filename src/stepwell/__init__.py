"""Stepwell: a governed workflow engine that lives in Postgres. This module is the public API, explicit.

Names are loaded when they are used, so that a command line that needs few of them starts at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from stepwell import testing as testing
    from stepwell.app import App
    from stepwell.client import JobHandle, RunHandle
    from stepwell.define import (
        Conditional,
        DefinitionError,
        Human,
        Map,
        Operation,
        Parallel,
        Retry,
        Sequential,
        SubWorkflow,
        Wait,
        Workflow,
        read_yaml,
        write_yaml,
    )
    from stepwell.errors import (
        ApprovalExpired,
        ApprovalRejected,
        Conflict,
        DatabaseUnavailable,
        InvalidInput,
        LeaseLost,
        LimitExceeded,
        NotFound,
        PermissionDenied,
        PolicyDenied,
        Refused,
        StepwellError,
    )
    from stepwell.outcome import Completed, Dead, OutboundEvent, RetryLater, Waiting
    from stepwell.worker import Context, Worker

_HOMES = {
    "stepwell.app": ("App",),
    "stepwell.client": (
        "JobHandle",
        "RunHandle",
    ),
    "stepwell.define": (
        "Conditional",
        "DefinitionError",
        "Human",
        "Map",
        "Operation",
        "Parallel",
        "Retry",
        "Sequential",
        "SubWorkflow",
        "Wait",
        "Workflow",
        "read_yaml",
        "write_yaml",
    ),
    "stepwell.errors": (
        "ApprovalExpired",
        "ApprovalRejected",
        "Conflict",
        "DatabaseUnavailable",
        "InvalidInput",
        "LeaseLost",
        "LimitExceeded",
        "NotFound",
        "PermissionDenied",
        "PolicyDenied",
        "Refused",
        "StepwellError",
    ),
    "stepwell.outcome": (
        "Completed",
        "Dead",
        "OutboundEvent",
        "RetryLater",
        "Waiting",
    ),
    "stepwell.worker": (
        "Context",
        "Worker",
    ),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "App",
    "ApprovalExpired",
    "ApprovalRejected",
    "Completed",
    "Conditional",
    "Conflict",
    "Context",
    "DatabaseUnavailable",
    "Dead",
    "DefinitionError",
    "Human",
    "InvalidInput",
    "JobHandle",
    "LeaseLost",
    "LimitExceeded",
    "Map",
    "NotFound",
    "Operation",
    "OutboundEvent",
    "Parallel",
    "PermissionDenied",
    "PolicyDenied",
    "Refused",
    "Retry",
    "RetryLater",
    "RunHandle",
    "Sequential",
    "StepwellError",
    "SubWorkflow",
    "Wait",
    "Waiting",
    "Worker",
    "Workflow",
    "__version__",
    "read_yaml",
    "write_yaml",
]


def __getattr__(name: str) -> Any:
    if name == "testing":
        return import_module("stepwell.testing")
    if name not in _HOME_OF:
        raise AttributeError(f"module stepwell has no attribute {name}")
    return getattr(import_module(_HOME_OF[name]), name)
