"""Fitted numbers: what jobs arrive, how large, how long, whose, and how they end.

>>> from philly_analysis.models import fit, load_model  # doctest: +SKIP
>>> m = fit("my-trace")  # doctest: +SKIP
>>> m.duration(gpus=8).ppf(0.9)  # doctest: +SKIP
>>> load_model("philly").sample(jobs=10_000, seed=1)  # doctest: +SKIP
"""

from philly_analysis.laws.distribution import Distribution
from philly_analysis.laws.fitting import fit_distribution
from philly_analysis.models.library import load_model, shipped
from philly_analysis.models.observations import Observations
from philly_analysis.models.workload_model import WorkloadModel, fit

__all__ = [
    "Distribution",
    "Observations",
    "WorkloadModel",
    "fit",
    "fit_distribution",
    "load_model",
    "shipped",
]
