'''A policy of the user's own, from a file.

``philly simulate WORKLOAD largest.py:LargestFirst OUT`` runs the class of that name.

A policy is a frozen dataclass of knobs that says who should hold what now. This is a whole one; it
starts large gangs first, except that nobody waits for longer than ``patience_s``::

    from dataclasses import dataclass

    from philly_analysis.simulator import Bounds, Policy, knob, seat


    @dataclass(frozen=True)
    class LargestFirst(Policy):
        """Largest gang first; whoever has waited for long goes before all."""

        name = "largest"
        SOURCE = "my paper"
        parts = True  # who asks for a share of a GPU holds no more; sizes are in parts of GPUs

        patience_s: float = knob(
            3600.0, "wait after which a job goes first", unit="s", within=Bounds(0, 1e6)
        )

        def key(self, job, now_s):
            """Jobs are served by this, smallest first; it is kept until the job is looked at."""
            late = now_s >= job.queued_s + self.patience_s
            return (not late, job.queued_s if late else -job.size)

        def review_s(self, job, now_s):
            """When to look at a job again though nothing happened to it: its key changes then."""
            return job.queued_s + self.patience_s

        def decide(self, view):
            """Offer GPUs to the waiting jobs, in order; who is not named stays as it is."""
            plan = view.plan()
            plan.offer(lambda job: plan.grant(job, seat(plan.cluster, job.size)))
            return plan.wish

What else a policy may say (groups that wait for the same, running jobs' order, when to decide
again, how fast jobs run) is in :class:`~philly_analysis.simulator.policies.policy.Policy`; the
policies of this folder are meant to be read. To decide from outside, as a learner does, go through
a :class:`~philly_analysis.simulator.engine.engine.Simulation` by its ``advance`` and ``apply``, or
take :class:`~philly_analysis.simulator.environment.SchedulingEnv`, which does so for Gymnasium.
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
        There is no such file, it does not run, or has no such policy.
    """
    path, _, name = where.rpartition(":")
    file = Path(path)
    spec = spec_from_file_location(f"policy_{file.stem}", file)
    if not file.is_file() or spec is None or spec.loader is None:
        raise SimulationError(f"policy {where} was asked for; there is no file {path}.")
    module = sys.modules[spec.name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        raise SimulationError(
            f"policy {where} was asked for; {path} does not run: {said}."
        ) from error
    found = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Policy) and value.__module__ == spec.name
    }
    if name not in found:
        there_are = ", ".join(sorted(found)) or "none"
        raise SimulationError(
            f"policy {where} was asked for; {path} defines no Policy of that name. There are: "
            f"{there_are}."
        )
    if not hasattr(found[name], "name"):
        raise SimulationError(f"policy {where} does not say its name: give it name = '…'.")
    return found[name]
