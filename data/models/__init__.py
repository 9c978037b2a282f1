"""Scripts that made the shipped models and other shipped numbers."""
