"""Random values for property tests."""
