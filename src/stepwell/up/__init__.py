"""Keep one process tree running: receives child specifications, returns a clean end of all of them."""
