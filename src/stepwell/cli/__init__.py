"""View in a terminal: receives command lines, hands on calls; one module per command group."""
