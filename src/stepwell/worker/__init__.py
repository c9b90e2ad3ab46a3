"""The worker: claim jobs, execute their handlers, report the outcomes, each batch in one commit."""

from stepwell.worker.context import Context
from stepwell.worker.worker import Worker

__all__ = ["Context", "Worker"]
