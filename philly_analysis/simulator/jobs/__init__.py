"""Simulated jobs: their state, their order, estimates of run times, restarts and failures."""
