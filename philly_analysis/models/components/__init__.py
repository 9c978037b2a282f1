"""The components of a workload model, each fitted on its own."""

from philly_analysis.models.components.arrivals import Arrivals
from philly_analysis.models.components.duration import Duration
from philly_analysis.models.components.duration_classes import DurationCell
from philly_analysis.models.components.failures import FailureReason, Failures
from philly_analysis.models.components.gang_size import (
    GangSize,
    GangSizeDistribution,
    VcGangSizes,
)
from philly_analysis.models.components.hourly_counts import HOUR_S, WEEK_H
from philly_analysis.models.components.intrahour import DIGITS
from philly_analysis.models.components.job_classes import ANY
from philly_analysis.models.components.load_dependence import load_correlation
from philly_analysis.models.components.locality import Locality
from philly_analysis.models.components.users import Users, VirtualCluster
from philly_analysis.models.components.utilisation import (
    BINS,
    Utilisation,
    UtilisationCell,
    UtilisationDistribution,
)
