"""Run one process tree: receives child specifications, starts, restarts and stops the children."""
