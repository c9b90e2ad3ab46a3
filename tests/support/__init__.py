"""What tests stand on: a real server, a database per test, a movable clock, waiting for events."""
