"""Project the event log: receives a graph and call events, hands on live statuses, past states, dry runs."""
