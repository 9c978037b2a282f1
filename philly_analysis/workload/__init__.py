"""The jobs to run and the machines to run them on."""

from philly_analysis.workload.demand import (
    UNKNOWN,
    Demand,
    account,
    demand_of,
    in_one_run,
    not_taken,
    some,
)
from philly_analysis.workload.ensemble import Ensemble
from philly_analysis.workload.failure_reasons import with_failures
from philly_analysis.workload.gpu_use import with_use
from philly_analysis.workload.job import AttemptSpec, JobSpec, Stay
from philly_analysis.workload.load import at_load, factor_to, load_of, offered_load, stretched
from philly_analysis.workload.machines import SERVER, Machine, fleet, frame_of, servers
from philly_analysis.workload.outcomes import CURVES, SCALARS, measures
from philly_analysis.workload.quotas import quotas_of
from philly_analysis.workload.target import Cluster, cluster
from philly_analysis.workload.workload import Workload
