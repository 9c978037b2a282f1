"""The shipped models of Philly's jobs."""
