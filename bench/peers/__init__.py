"""The peers a user would pick instead: one module each, all following the protocol of `contestant.py`."""
