"""View over HTTP: receives requests, returns what the engine answers. No SQL here."""
