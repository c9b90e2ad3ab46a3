"""Keep what is due, lost or silent moving: receives a database, returns runs started and units woken."""

from stepwell.keeper.background import BackgroundKeeper
from stepwell.keeper.keeper import Keeper, Tick

__all__ = ["BackgroundKeeper", "Keeper", "Tick"]
