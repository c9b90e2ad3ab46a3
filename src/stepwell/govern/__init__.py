"""Govern what runs do and prove what they did: receives a client, hands on verdicts, seals and evidence."""
