"""View in a terminal: receives command lines, returns calls; one module per command group."""
