"""Every call of a database function or view, one module per subject."""
