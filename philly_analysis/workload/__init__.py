"""The jobs to run and the machines to run them on: one definition of each of their measures."""

from philly_analysis.workload.ensemble import Ensemble
from philly_analysis.workload.job import AttemptSpec, JobSpec, Stay
from philly_analysis.workload.machines import Machine
from philly_analysis.workload.workload import Workload

__all__ = ["AttemptSpec", "Ensemble", "JobSpec", "Machine", "Stay", "Workload"]
