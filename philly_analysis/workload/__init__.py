"""The jobs to run and the machines to run them on: one definition of each of their measures."""

from philly_analysis.workload.workload import AttemptSpec, JobSpec, Machine, Workload

__all__ = ["AttemptSpec", "JobSpec", "Machine", "Workload"]
