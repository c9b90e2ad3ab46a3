"""Support for all tests: a real server, a database for each test, a clock to move, waiting for events."""
