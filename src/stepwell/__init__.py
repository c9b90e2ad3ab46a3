"""Stepwell: a governed workflow engine that lives in Postgres. This module lists the public API.

A name is imported when it is used first, so that a command that needs few names starts quickly.
"""

from typing import TYPE_CHECKING

from stepwell.lazy import lazy_names

__version__ = "0.1.0"

if TYPE_CHECKING:
    from stepwell import connectors as connectors
    from stepwell import testing as testing
    from stepwell.app import (
        App,
    )
    from stepwell.content import (
        ContentVersion,
    )
    from stepwell.define import (
        Conditional,
        DefinitionError,
        Graph,
        Human,
        Map,
        Operation,
        Parallel,
        Retry,
        Sequential,
        SubWorkflow,
        Wait,
        Workflow,
        freeze,
        read_yaml,
        write_yaml,
    )
    from stepwell.errors import (
        ActionConflict,
        ApprovalCancelled,
        ApprovalExpired,
        ApprovalRejected,
        Conflict,
        DatabaseFailure,
        DatabaseUnavailable,
        InvalidInput,
        LeaseLost,
        LimitExceeded,
        NotFound,
        PermissionDenied,
        PolicyDenied,
        Refused,
        SchemaError,
        StepwellError,
        UnsupportedDatabase,
        UsageError,
    )
    from stepwell.govern.calls import (
        PolicyVersion,
        Receipt,
    )
    from stepwell.handler_progress import (
        progress,
    )
    from stepwell.handles import (
        JobHandle,
        RunFailed,
        RunHandle,
        RunOutcome,
        Waited,
    )
    from stepwell.logs import (
        LogFilter,
    )
    from stepwell.outcome import (
        Completed,
        Dead,
        OutboundEvent,
        RetryLater,
        Waiting,
    )
    from stepwell.people import (
        Approval,
        HumanStep,
    )
    from stepwell.ref import (
        Ref,
    )
    from stepwell.store.calls.events import (
        RunEvent,
    )
    from stepwell.store.calls.run_list import (
        Run,
    )
    from stepwell.store.calls.schedules import (
        Schedule,
    )
    from stepwell.store.calls.tenants import (
        Tenant,
    )
    from stepwell.store.calls.views import (
        RunStep,
    )
    from stepwell.store.calls.workflows import (
        PublishedWorkflow,
        WorkflowVersion,
    )
    from stepwell.sync import (
        SyncApp,
    )
    from stepwell.sync_handles import (
        SyncJobHandle,
        SyncRunHandle,
    )
    from stepwell.worker import (
        Context,
        Worker,
    )

_HOMES = {
    "stepwell.app": ("App",),
    "stepwell.content": ("ContentVersion",),
    "stepwell.define": (
        "Conditional",
        "DefinitionError",
        "Graph",
        "Human",
        "Map",
        "Operation",
        "Parallel",
        "Retry",
        "Sequential",
        "SubWorkflow",
        "Wait",
        "Workflow",
        "freeze",
        "read_yaml",
        "write_yaml",
    ),
    "stepwell.errors": (
        "ActionConflict",
        "ApprovalCancelled",
        "ApprovalExpired",
        "ApprovalRejected",
        "Conflict",
        "DatabaseFailure",
        "DatabaseUnavailable",
        "InvalidInput",
        "LeaseLost",
        "LimitExceeded",
        "NotFound",
        "PermissionDenied",
        "PolicyDenied",
        "Refused",
        "SchemaError",
        "StepwellError",
        "UnsupportedDatabase",
        "UsageError",
    ),
    "stepwell.govern.calls": (
        "PolicyVersion",
        "Receipt",
    ),
    "stepwell.handles": (
        "JobHandle",
        "RunFailed",
        "RunHandle",
        "RunOutcome",
        "Waited",
    ),
    "stepwell.handler_progress": ("progress",),
    "stepwell.logs": ("LogFilter",),
    "stepwell.outcome": (
        "Completed",
        "Dead",
        "OutboundEvent",
        "RetryLater",
        "Waiting",
    ),
    "stepwell.people": (
        "Approval",
        "HumanStep",
    ),
    "stepwell.ref": ("Ref",),
    "stepwell.store.calls.events": ("RunEvent",),
    "stepwell.store.calls.run_list": ("Run",),
    "stepwell.store.calls.schedules": ("Schedule",),
    "stepwell.store.calls.tenants": ("Tenant",),
    "stepwell.store.calls.views": ("RunStep",),
    "stepwell.store.calls.workflows": (
        "PublishedWorkflow",
        "WorkflowVersion",
    ),
    "stepwell.sync": ("SyncApp",),
    "stepwell.sync_handles": (
        "SyncJobHandle",
        "SyncRunHandle",
    ),
    "stepwell.worker": (
        "Context",
        "Worker",
    ),
}

__all__ = [
    "ActionConflict",
    "App",
    "Approval",
    "ApprovalCancelled",
    "ApprovalExpired",
    "ApprovalRejected",
    "Completed",
    "Conditional",
    "Conflict",
    "ContentVersion",
    "Context",
    "DatabaseFailure",
    "DatabaseUnavailable",
    "Dead",
    "DefinitionError",
    "Graph",
    "Human",
    "HumanStep",
    "InvalidInput",
    "JobHandle",
    "LeaseLost",
    "LimitExceeded",
    "LogFilter",
    "Map",
    "NotFound",
    "Operation",
    "OutboundEvent",
    "Parallel",
    "PermissionDenied",
    "PolicyDenied",
    "PolicyVersion",
    "PublishedWorkflow",
    "Receipt",
    "Ref",
    "Refused",
    "Retry",
    "RetryLater",
    "Run",
    "RunEvent",
    "RunFailed",
    "RunHandle",
    "RunOutcome",
    "RunStep",
    "Schedule",
    "SchemaError",
    "Sequential",
    "StepwellError",
    "SubWorkflow",
    "SyncApp",
    "SyncJobHandle",
    "SyncRunHandle",
    "Tenant",
    "UnsupportedDatabase",
    "UsageError",
    "Wait",
    "Waited",
    "Waiting",
    "Worker",
    "Workflow",
    "WorkflowVersion",
    "__version__",
    "freeze",
    "progress",
    "read_yaml",
    "write_yaml",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES, modules=("connectors", "testing"))
