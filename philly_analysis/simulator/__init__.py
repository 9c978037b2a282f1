"""Simulate a workload under a scheduling policy, and write the result as a trace."""

from philly_analysis.simulator.cluster.allocation import Allocation, Cluster, lowest_bits
from philly_analysis.simulator.cluster.capacity import allocate, has_room
from philly_analysis.simulator.cluster.placement import pack
from philly_analysis.simulator.engine.event_loop import Simulation, run
from philly_analysis.simulator.engine.outages import Failures, Outage
from philly_analysis.simulator.engine.pools import Pool, assign_to_pools, divide_quotas
from philly_analysis.simulator.engine.prerun import run_first
from philly_analysis.simulator.engine.schedule import Schedule, merge_schedules
from philly_analysis.simulator.ensembles import Months, months_of, simulate_ensemble
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.jobs.run_failures import (
    fails,
    is_user_error,
    until_user_error,
    with_reasons,
)
from philly_analysis.simulator.output.samples import PublishedMeans, Utilisation
from philly_analysis.simulator.policies import POLICIES, Bounds, Policy, knob, policy_named
from philly_analysis.simulator.policies.preemption import (
    by_running_key,
    find_gpus,
    preempt_for_gpus,
)
from philly_analysis.simulator.policies.priority import start_in_order
from philly_analysis.simulator.policies.view import Decision, Plan, View
from philly_analysis.simulator.policy_check import check_policy
from philly_analysis.simulator.simulation import simulate
from philly_analysis.simulator.speed.models import (
    SPEEDS,
    HostResources,
    Locality,
    Parallelism,
    Spread,
    speed_named,
)
from philly_analysis.simulator.speed.profiles import PROFILES, Profile
from philly_analysis.simulator.speed.sharing import PHILLY_MINUTES, Sharing
from philly_analysis.simulator.speed.speed import AS_RECORDED, Speed

__all__ = [
    "Bounds",
    "Decision",
    "Job",
    "Plan",
    "Policy",
    "View",
    "allocate",
    "by_running_key",
    "check_policy",
    "find_gpus",
    "has_room",
    "knob",
    "pack",
    "preempt_for_gpus",
    "start_in_order",
]
"""Names for policies of one's own: see docs/own-policy.md."""
