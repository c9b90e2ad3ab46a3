"""Keep one process tree running: receives child specifications, hands on a clean end of all of them."""
