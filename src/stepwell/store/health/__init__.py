"""Read and examine the health of an installation."""
