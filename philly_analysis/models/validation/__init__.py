"""How far to trust a model: calibration, baselines, the literature's generator."""
