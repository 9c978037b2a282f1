"""What if: runs a workload under a policy, and writes the trace of it."""

from philly_analysis.simulator.engine import Simulation, run
from philly_analysis.simulator.placement import packed, seat
from philly_analysis.simulator.policies import POLICIES, Policy, policy_named
from philly_analysis.simulator.policies.knobs import Bounds, knob
from philly_analysis.simulator.schedule import Schedule
from philly_analysis.simulator.simulation import simulate
from philly_analysis.simulator.speed import AS_RECORDED, Speed
from philly_analysis.workload.machines import fleet

__all__ = [
    "AS_RECORDED",
    "POLICIES",
    "Bounds",
    "Policy",
    "Schedule",
    "Simulation",
    "Speed",
    "fleet",
    "knob",
    "packed",
    "policy_named",
    "run",
    "seat",
    "simulate",
]
