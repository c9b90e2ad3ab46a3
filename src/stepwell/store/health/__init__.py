"""Read and check the health of an installation."""
