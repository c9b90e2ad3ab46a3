"""The keeper: fires timers and schedules, recovers expired leases, seals the log."""

from stepwell.keeper.background import BackgroundKeeper
from stepwell.keeper.keeper import Keeper, Tick

__all__ = ["BackgroundKeeper", "Keeper", "Tick"]
