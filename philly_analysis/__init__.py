"""Trace analytics and workload characterization for GPU clusters."""
