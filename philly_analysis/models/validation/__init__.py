"""Model validation: calibration, coverage, baselines and the literature's generator."""
