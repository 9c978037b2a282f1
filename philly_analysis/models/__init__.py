"""Fitted numbers: what jobs arrive, how large, how long, whose, and how they end.

>>> from philly_analysis import fit, load_model  # doctest: +SKIP
>>> m = fit("my-trace")  # doctest: +SKIP
>>> m.duration(gpus=8).ppf(0.9)  # doctest: +SKIP
>>> load_model("philly").sample(jobs=10_000, seed=1)  # doctest: +SKIP
"""

from philly_analysis.models.library import load_model, models, shipped

__all__ = ["load_model", "models", "shipped"]
