"""The generator of most papers' "Philly-like" workloads, as a workload model."""

from dataclasses import replace

import numpy as np

from philly_analysis.distributions import OBSERVED_LEVELS, Distribution, round_significant
from philly_analysis.models.components.arrivals import Arrivals
from philly_analysis.models.components.duration import Duration, DurationCell
from philly_analysis.models.components.gang_size import (
    GangSize,
    GangSizeDistribution,
    VcGangSizes,
)
from philly_analysis.models.components.job_classes import ANY
from philly_analysis.models.components.users import Users, VirtualCluster
from philly_analysis.models.workload_model import WorkloadModel
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
        arrivals=Arrivals.poisson(rate_per_h),
        gang_size=GangSize(gangs, (VcGangSizes("", gangs),)),
        duration=Duration(tuple(DurationCell(gang, ANY, ANY, run_time) for gang in classes), ()),
        users=Users((VirtualCluster("", (1.0,)),), 0, False, 0.0, 0.0, 0.0, 0.0, 0.0),
    )
