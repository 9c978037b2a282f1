"""The jobs to run and the machines to run them on."""

from philly_analysis.workload.activity_levels import activity, mean_level
from philly_analysis.workload.changes import Changes, Prerun
from philly_analysis.workload.demand import (
    UNKNOWN,
    Demand,
    account,
    as_single_runs,
    demand_of,
    excluded_jobs,
    largest_job_note,
    require_jobs,
)
from philly_analysis.workload.ensemble import Ensemble, seeds_of
from philly_analysis.workload.estimates import Estimates, estimates_of
from philly_analysis.workload.job import AttemptSpec, JobSpec, Stay
from philly_analysis.workload.job_specs import even_parts
from philly_analysis.workload.load import (
    load_of,
    offered_load,
    stretch_arrivals,
    stretch_factor,
    stretch_to_load,
)
from philly_analysis.workload.machines import (
    SERVER,
    Machine,
    default_servers,
    fleet,
    machine_rows,
    machines_of,
)
from philly_analysis.workload.outcomes import CURVES, SCALARS, bounds, measures
from philly_analysis.workload.quotas import preferred_quotas, quotas_of, use_by_vc
from philly_analysis.workload.recorded_details import with_failure_reasons, with_gpu_use
from philly_analysis.workload.runs import SCHEDULER_ENDS, runs_of
from philly_analysis.workload.target import ASSUMED_CLUSTER, Cluster, target_cluster
from philly_analysis.workload.workload import CHOSEN_JOBS, Redraw, Workload
