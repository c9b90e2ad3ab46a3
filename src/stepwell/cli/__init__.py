"""The command line: receives arguments, calls the client, prints the answer; one module per command group."""
