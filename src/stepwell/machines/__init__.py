"""Show the declared state machines: receives the registry, returns diagrams and the reference page."""
