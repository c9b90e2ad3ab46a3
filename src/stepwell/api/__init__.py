"""View over HTTP: receives requests, hands on what the engine answers. No SQL here."""
