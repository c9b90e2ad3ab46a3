"""Show the declared state machines: receives the registry, hands on diagrams and the reference page."""
