"""The generator of most papers' "Philly-like" workloads, as a workload model.

    python -m data.models.literature.fit

The distributions are taken from the papers. The rate of submissions is the rate of the extract
`philly-passed-jobs`.
"""

from dataclasses import replace

import numpy as np
import scipy

from data.models.extracts import observed
from data.models.shipping import ship
from philly_analysis.distributions import OBSERVED_LEVELS, Distribution, round_significant
from philly_analysis.models import WorkloadModel
from philly_analysis.models.components import (
    ANY,
    DIGITS,
    HOUR_S,
    WEEK_H,
    Arrivals,
    Duration,
    DurationCell,
    GangSize,
    GangSizeDistribution,
    Users,
    VcGangSizes,
    VirtualCluster,
)
from philly_analysis.study import GANGS, gang_class

SHARES = {1: 0.70, 2: 0.10, 4: 0.15, 8: 0.05}
# Run time in minutes: 10^U(1.5, 3) with probability 0.8, else 10^U(3, 4); log-linear between
# these quantiles at 0, 0.2, .. 1.
KNOTS_S = tuple(60 * 10**e for e in (1.5, 1.875, 2.25, 2.625, 3.0, 4.0))


def literature(rate_per_h: float) -> WorkloadModel:
    """Return the model; none of its parameters is fitted to Philly.

    Parameters
    ----------
    rate_per_h
        Jobs per hour, a free parameter in the papers.
    """
    run_time = Distribution.of_quantiles(round_significant(np.array(KNOTS_S)), 1.0, 0.0, 1.0)
    run_time = replace(run_time, observed=round_significant(run_time.ppf(OBSERVED_LEVELS)))
    shares = tuple(SHARES.values())
    classes = GANGS[: int(gang_class(max(SHARES))) + 1]
    gangs = GangSizeDistribution(tuple(SHARES), shares, shares, shares, 0)
    return WorkloadModel(
        name="literature",
        fitted_on="no data: the generator of Gavel (OSDI 2020), which Synergy, Shockwave and many "
        "others took over",
        cannot_know=(
            "Gang sizes, run times and arrivals are drawn apart from each other.",
            f"The rate is a free parameter of those papers; here {rate_per_h:g} jobs per hour, "
            "that of the model philly: scale it with the load.",
            "Virtual clusters, users, endings, retries, failures and utilisation are not in it.",
        ),
        sources=("Gavel, OSDI 2020: utils.py of stanford-futuredata/gavel (MIT)",),
        run_policy="sum",
        arrivals=poisson_arrivals(rate_per_h),
        gang_size=GangSize(gangs, (VcGangSizes("", gangs),)),
        duration=Duration(tuple(DurationCell(gang, ANY, ANY, run_time) for gang in classes), ()),
        users=Users((VirtualCluster("", (1.0,)),), 0, False, 0.0, 0.0, 0.0, 0.0, 0.0),
    )


def poisson_arrivals(rate_per_h: float) -> Arrivals:
    """Return Poisson arrivals with a constant rate."""
    levels = np.concatenate((np.linspace(0, 0.99, 100), [0.995, 0.999, 0.9999]))
    counts = np.maximum(scipy.stats.poisson(rate_per_h).ppf(levels), 0)  # SciPy starts at -1
    line = np.sum((counts[1:] + counts[:-1]) / 2 * np.diff(levels)) / levels[-1]
    gaps_s = scipy.stats.expon(scale=HOUR_S / rate_per_h).ppf(np.linspace(0, 0.999, 101))
    hours = 10_000
    return Arrivals(
        n=round(rate_per_h * hours),
        hours=hours,
        rate_per_h=(rate_per_h,) * WEEK_H,
        count_levels=tuple(levels.tolist()),
        count_quantiles=round_significant(counts * rate_per_h / max(float(line), 1e-12), DIGITS),
        autocorrelation=(0.0,),
        intrahour_gaps=(),
        gap_correlation=0.0,
        gaps_s=round_significant(gaps_s, DIGITS),
        dispersion=1.0,
    )


def at_philly_rate() -> WorkloadModel:
    """Return the papers' generator, at the rate of the model `philly`."""
    at = observed("philly-passed").jobs["submitted_s"]
    return literature(round(len(at) / ((at.max() - at.min()) / 3_600), 1))


if __name__ == "__main__":
    ship(at_philly_rate())
