"""Govern what runs do and prove what they did: receives a client, returns verdicts, seals and evidence."""
