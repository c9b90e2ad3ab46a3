"""Reach other systems: receives an action that policy has allowed, performs it once, hands on its effect."""
