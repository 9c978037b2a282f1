'''Load a user's policy from a Python file.

``philly simulate WORKLOAD largest.py:LargestFirst OUT`` runs the class of that name.

A policy is a frozen dataclass of knobs with one method, ``decide``, which returns the new
allocations. This complete example starts large gangs first, except that no job waits for longer
than ``patience_s``::

    from dataclasses import dataclass

    from philly_analysis.simulator import Bounds, Policy, allocate, knob


    @dataclass(frozen=True)
    class LargestFirst(Policy):
        """Largest gang first; jobs that have waited too long precede all others."""

        name = "largest"
        SOURCE = "my paper"
        fractional = True  # allocates fractions of GPUs; sizes are in GPU units

        patience_s: float = knob(
            3600.0, "wait after which a job goes first", within=Bounds(0, 1e6)
        )

        def key(self, job, now_s):
            """Priority key: the smallest is served first; evaluated before each decision."""
            late = now_s >= job.queued_s + self.patience_s
            return (not late, job.queued_s if late else -job.size)

        def review_s(self, job, now_s):
            """When to decide without an event."""
            return job.queued_s + self.patience_s

        def decide(self, view):
            """Offer GPUs to the waiting jobs, in order; other jobs keep their allocations."""
            plan = view.plan()
            for job in plan.offers():
                plan.assign(job, allocate(plan.cluster, job.request))
            return plan.decision

``docs/own-policy.md`` is the guide. The other methods of a policy (groups of equal requests, order
of running jobs, time of the next decision, speed of jobs) are documented in
:class:`~philly_analysis.simulator.policies.policy.Policy`; the policies of this folder are
examples. To decide from outside, as in reinforcement learning, step through a
:class:`~philly_analysis.simulator.engine.event_loop.Simulation` by its ``advance`` and ``apply``,
or use :class:`~philly_analysis.simulator.environment.SchedulingEnv` with Gymnasium.
'''

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from philly_analysis.errors import SimulationError
from philly_analysis.simulator.policies.policy import Policy


def load(where: str) -> type[Policy]:
    """Return the policy that a file defines: ``file.py:Class``.

    Raises
    ------
    SimulationError
        The file does not exist, raises an exception, or does not define the policy.
    """
    path, _, name = where.rpartition(":")
    file = Path(path)
    spec = spec_from_file_location(f"policy_{file.stem}", file)
    if not file.is_file() or spec is None or spec.loader is None:
        raise SimulationError(f"policy {where}: there is no file {path}.")
    module = sys.modules[spec.name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise SimulationError(
            f"policy {where}: {path} does not run: {type(error).__name__}: {error}."
        ) from error
    policies = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Policy) and value.__module__ == spec.name
    }
    if name not in policies:
        defined = ", ".join(sorted(policies)) or "none"
        raise SimulationError(
            f"policy {where}: {path} defines no Policy of that name. It defines: {defined}."
        )
    if not hasattr(policies[name], "name"):
        raise SimulationError(f"policy {where} has no name; add name = '…'.")
    return policies[name]
