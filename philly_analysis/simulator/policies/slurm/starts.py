"""Start jobs on their servers, in place of jobs that they preempt where need be."""

from philly_analysis.simulator.cluster.allocation import Allocation
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.policies.slurm.room import Rooms, place
from philly_analysis.simulator.policies.slurm.state import State
from philly_analysis.simulator.policies.view import Plan


def start(plan: Plan, state: State, job: Job, servers: int) -> bool:
    """Start a job on some servers, if need be in place of preempted jobs."""
    if job in state.never_run:
        return False
    allocation = place(plan.cluster, job.request, servers)
    if allocation is None and state.preempts:
        allocation = _preempting(plan, state, job, servers)
    if allocation is None:
        return False
    plan.assign(job, allocation)
    state.limits.add(job)
    return True


def _preempting(plan: Plan, state: State, job: Job, servers: int) -> Allocation | None:
    """Requeue jobs of least priority that a job's QOS preempts, if the job then fits."""
    rooms = Rooms(plan.cluster, job.request, servers)
    victims: list[tuple[Job, Allocation]] = []
    for victim in state.preemptable(plan.view, job):
        held = plan.allocation_of(victim)
        if held is None or not rooms.add(held):
            continue
        victims.append((victim, held))
        if chosen := rooms.counts():
            break
    else:
        return None
    for victim, held in victims:
        if any(machine in chosen for machine, _ in held.shares):
            plan.release(victim)
            state.limits.add(victim, -1)
    return place(plan.cluster, job.request, servers)
