"""The HTTP API: receives requests, calls the client, returns JSON. No SQL here."""
