"""Work: claim units, execute their handlers, report the outcomes, in batches of one commit each."""

from stepwell.worker.context import Context
from stepwell.worker.worker import Worker

__all__ = ["Context", "Worker"]
