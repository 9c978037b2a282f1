"""Run an experiment: arms of a system over settings, loads and seeds, compared by seed."""

import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.experiments import increments
from philly_analysis.experiments.effects import ARM, USUAL, Pairs
from philly_analysis.experiments.increments import Increment
from philly_analysis.experiments.job_sources import DrawJobs
from philly_analysis.parallel import InlineExecutor, map_ordered
from philly_analysis.results import Comparison, Fact, Result, count
from philly_analysis.workload import JobSpec, stretch_to_load

Row = tuple[object, ...]
"""One trial: the key :data:`ARM`, and the measures."""

Arms = Mapping[str, tuple[Any, ...]]
"""By name, arguments of the function that simulates jobs and returns measures."""


def read_table(name: str) -> dict[str, Any]:
    """Read a TOML file of this package."""
    return tomllib.loads((Path(__file__).parent / name).read_text("utf-8"))


def changed_settings(experiment: str, usual: Any) -> dict[str, Any]:
    """Return the settings of ``settings.toml`` by name: the usual one with some fields changed."""

    def changed(old: Any, new: Any) -> Any:
        if isinstance(new, dict):
            return replace(old, **{name: changed(None, value) for name, value in new.items()})
        return tuple(new) if isinstance(new, list) else new

    return {
        name: usual._replace(**{k: changed(getattr(usual, k), v) for k, v in fields.items()})
        for name, fields in read_table("settings.toml")[experiment].items()
    }


CAVEATS = {name: tuple(sentences) for name, sentences in read_table("caveats.toml").items()}
"""Sentences on the modelled, the assumed and the omitted, by experiment."""

PUBLISHED = {
    name: tuple(Comparison(measured=None, **row) for row in rows)
    for name, rows in read_table("published.toml").items()
}
"""By experiment, published numbers."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """What an experiment varies.

    Attributes
    ----------
    loads, at
        Offered loads of the usual setting, and the one of all other settings.
    settings
        Names of settings.
    jobs
        Jobs per draw.
    seeds
        One per draw of jobs.
    """

    loads: tuple[float, ...]
    at: float
    settings: tuple[str, ...]
    jobs: int
    seeds: tuple[int, ...] = tuple(range(1, 11))


@dataclass(frozen=True, slots=True)
class Summary:
    """Facts, sentences, and comparisons if any published number is measured."""

    facts: Sequence[Fact]
    sentences: Sequence[str]
    comparisons: Sequence[Comparison] | None = None


@dataclass(frozen=True, slots=True)
class Experiment:
    """A system of the literature, simulated again.

    Attributes
    ----------
    question
        Question of the experiment, as the page's heading.
    sweep
        What is varied by default.
    measures
        Columns of the table of trials, after the key.
    rows
        Yields the trials of a seed, given a source of jobs, the source's name, a sweep and a seed.
    summarize
        Returns the summary of a table of trials.
    increments
        What the system's mechanisms add; the first increment is the headline.
    choices
        Settings that change a choice which the system's publication leaves open.
    shown
        Arms that the experiment's page contrasts, by measure.
    plot
        Draws the contrasts and their sensitivity.
    usual
        Name of the setting from which all others differ in one assumption.
    """

    name: str
    question: str
    sweep: Sweep
    measures: Sequence[str]
    rows: Callable[[DrawJobs, str, Any, int], Iterator[Row]]
    summarize: Callable[[pd.DataFrame, Any], Summary]
    increments: Sequence[Increment]
    choices: Sequence[str]
    shown: Mapping[str, Pairs]
    plot: Callable[[Result], Figure]
    usual: str = USUAL

    def compute(
        self,
        jobs: DrawJobs,
        source: str,
        sweep: Sweep | None = None,
        *,
        executor: Executor | None = None,
    ) -> Result:
        """Simulate all trials.

        Parameters
        ----------
        jobs, source
            The source of jobs, and the name of the source.
        sweep
            Sweep to simulate; None: the default.
        executor
            Executor that runs the seeds; None: this process. Results are equal.

        Returns
        -------
        Result
            Table: setting, load, arm, seed, and :attr:`measures`.
        """
        sweep = sweep or self.sweep
        of_seed = partial(self._rows, jobs, source, sweep)
        return self.result(trials(of_seed, sweep.seeds, self.measures, executor), source, sweep)

    def _rows(self, jobs: DrawJobs, source: str, sweep: Sweep, seed: int) -> list[Row]:
        return list(self.rows(jobs, source, sweep, seed))

    def result(self, table: pd.DataFrame, source: str, sweep: Sweep) -> Result:
        """Return a table of trials with its facts and sentences."""
        summary = self.summarize(table, sweep)
        draws = f"On {count(len(sweep.seeds), 'draw')} of jobs from “{source}”."
        published = PUBLISHED.get(self.name, ())
        of = (self.increments, table, self.usual)
        return Result(
            name=f"{self.name}_{source}",
            table=table,
            facts=(*increments.facts(*of), *summary.facts),
            sentences=(*increments.sentences(*of, sweep.at), *summary.sentences, draws),
            caveats=CAVEATS[self.name],
            comparisons=published if summary.comparisons is None else tuple(summary.comparisons),
            synthetic=True,
            question=self.question,
            draw=partial(increments.draw, self.increments, self.usual),
        )


def trials(
    of_seed: Callable[[int], list[Row]],
    seeds: Sequence[int],
    measures: Sequence[str],
    executor: Executor | None = None,
) -> pd.DataFrame:
    """Return the table of all trials; the executor runs one seed per task.

    Parameters
    ----------
    of_seed
        Returns the rows of a seed: key and measures.
    executor
        Executor that runs the seeds; None: this process.
    """
    rows = map_ordered(executor or InlineExecutor(), of_seed, seeds, ahead=len(seeds))
    return pd.DataFrame(list(chain.from_iterable(rows)), columns=[*ARM, *measures])


def trial_rows(
    drawn: Sequence[JobSpec],
    sweep: Sweep,
    seed: int,
    *,
    gpus: int,
    arms: Callable[[str], Arms],
    outcome: Callable[..., tuple[float, ...]],
    prepare: Callable[[Sequence[JobSpec], str], Sequence[JobSpec]] = lambda specs, _: specs,
) -> Iterator[Row]:
    """Yield the trials of a draw of jobs: settings, loads, arms.

    Parameters
    ----------
    gpus
        GPUs of the cluster.
    arms
        Returns the arms of a setting.
    outcome
        Simulates jobs under an arm, given the jobs and the arm's arguments.
    prepare
        Adds to jobs what a setting assumes of them.
    """
    for setting in sweep.settings:
        prepared = prepare(drawn, setting)
        for load in sweep.loads if setting == USUAL else (sweep.at,):
            specs = stretch_to_load(prepared, load, gpus)
            for arm, arguments in arms(setting).items():
                yield (setting, load, arm, seed, *outcome(specs, *arguments))


def system_rows(
    settings: Mapping[str, Any],
    policies: Callable[..., Arms],
    compared: Callable[[str], Collection[str]],
    outcome: Callable[..., tuple[float, ...]],
    jobs: DrawJobs,
    _: str,
    sweep: Sweep,
    seed: int,
) -> Iterator[Row]:
    """Yield the trials of a system on 64 GPUs.

    Parameters
    ----------
    settings
        Settings by name: tuples with the field ``speed``, the speed of jobs.
    policies
        Returns the policy and speed of each arm, given the fields of a setting.
    compared
        Returns the arms to simulate in a setting other than the usual one.
    outcome
        Simulates jobs under a policy and a speed.
    """

    def prepare(drawn: Sequence[JobSpec], setting: str) -> Sequence[JobSpec]:
        rng = np.random.default_rng(seed)
        completed: Sequence[JobSpec] = settings[setting].speed.complete(drawn, rng)
        return completed

    def arms(setting: str) -> Arms:
        every = policies(*settings[setting])
        return every if setting == USUAL else {arm: every[arm] for arm in compared(setting)}

    drawn = jobs(sweep.jobs, 64, seed)
    return trial_rows(drawn, sweep, seed, gpus=64, arms=arms, outcome=outcome, prepare=prepare)
