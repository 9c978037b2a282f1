"""Model validation: calibration, coverage, baselines, and comparison with the literature."""
