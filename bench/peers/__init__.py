"""The peers a user would pick instead: one module each, all speaking the protocol of `contestant.py`."""
