"""All calls of database functions and views, one module for each subject."""
