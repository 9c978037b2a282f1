"""Prepare a workload's jobs for a simulation: apply changes, and draw unknown fields."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from philly_analysis.simulator.assumptions import drawn_notes
from philly_analysis.simulator.jobs.run_failures import reason_notes, with_reasons, without_retries
from philly_analysis.simulator.policies import Policy
from philly_analysis.simulator.speed.recorded import mark_guests, normalise_run_times
from philly_analysis.simulator.speed.speed import Speed
from philly_analysis.workload import (
    JobSpec,
    Workload,
    as_single_runs,
    demand_of,
    with_failure_reasons,
    with_gpu_use,
)


@dataclass(frozen=True, slots=True)
class PreparedJobs:
    """Jobs that the engine runs, and sentences on how they differ from the recorded jobs.

    Attributes
    ----------
    specs
        The jobs, by submission.
    placement_notes
        Sentences on the slowdown of recorded placements.
    change_notes
        Sentences on changes of the jobs.
    drawn_notes
        Sentences on estimates and on drawn fields.
    """

    specs: Sequence[JobSpec]
    placement_notes: tuple[str, ...]
    change_notes: tuple[str, ...]
    drawn_notes: tuple[str, ...]


def prepare_jobs(
    workload: Workload,
    policy: Policy,
    speed: Speed,
    *,
    with_use: bool,
    seed: int,
    rng: np.random.Generator,
) -> PreparedJobs:
    """Return a workload's jobs with changes, and with the fields that the run needs.

    Parameters
    ----------
    with_use
        Whether samples of GPU utilisation are written.
    seed
        Seed of the estimates of run times.
    rng
        Draws unknown fields of jobs, then unknown reasons of failures.
    """
    changes = workload.changes
    recorded = list(workload.specs(stays=speed.by_place or policy.replays))
    if changes.run_policy is not None:
        recorded = as_single_runs(recorded, demand_of(workload, changes.run_policy))
    if speed.by_use or with_use:
        recorded = with_gpu_use(workload, recorded)
    if policy.replays:
        recorded = mark_guests(recorded)
    placement_notes: tuple[str, ...] = ()
    if speed.by_place:
        recorded, placement_notes = normalise_run_times(workload, recorded, speed)
    specs = speed.complete(recorded, rng)
    change_notes: tuple[str, ...] = ()
    if changes.run_policy is not None:
        change_notes += (f"Jobs are one run each: {changes.run_policy.meaning}.",)
    if changes.dedicated:
        change_notes += ("Gangs have their servers to themselves.",)
    if changes.prerun or not changes.user_retries:
        with_recorded_reasons = with_failure_reasons(workload, specs)
        specs = with_reasons(with_recorded_reasons, rng)
        change_notes += reason_notes(with_recorded_reasons, specs)
    if not changes.user_retries:
        specs, retry_notes = without_retries(specs)
        change_notes += retry_notes
    if changes.prerun:
        change_notes += (changes.prerun.note,)
    estimates = changes.estimates
    if not estimates.exact:
        specs = estimates.apply(specs, np.random.default_rng([seed, *b"estimates"]))
    drawn = (*estimates.notes(specs), *drawn_notes(recorded, specs))
    return PreparedJobs(specs, placement_notes, change_notes, drawn)
