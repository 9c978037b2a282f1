"""Schedule jobs as Slurm does: partitions, limits, multifactor priority, backfill, preemption."""

from philly_analysis.simulator.policies.slurm.policy import Slurm
