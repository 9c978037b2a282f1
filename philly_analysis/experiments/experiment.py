"""Run an experiment: arms of a system over settings, loads and seeds, compared by seed."""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.experiments.effects import ARM, Pairs, draws_sentence
from philly_analysis.experiments.job_sources import DrawJobs
from philly_analysis.parallel import InlineExecutor, map_ordered
from philly_analysis.results import Comparison, Fact, Result
from philly_analysis.workload import JobSpec, at_load

USUAL = "as assumed"
"""Name of the setting from which all others differ in one assumption."""

Row = tuple[object, ...]
"""One trial: its key :data:`ARM`, and its measures."""

Arms = Mapping[str, Callable[[Sequence[JobSpec]], tuple[float, ...]]]
"""By name, functions that simulate jobs under an arm and return its measures."""

CAVEATS: dict[str, tuple[str, ...]] = {
    name: tuple(sentences)
    for name, sentences in tomllib.loads(
        (Path(__file__).parent / "caveats.toml").read_text("utf-8")
    ).items()
}
"""By experiment, sentences: what is modelled, assumed and not modelled."""


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
    """Facts, sentences and comparisons with published numbers."""

    facts: Sequence[Fact]
    sentences: Sequence[str]
    comparisons: Sequence[Comparison] = ()


@dataclass(frozen=True, slots=True)
class Experiment:
    """A system of the literature, simulated again.

    Attributes
    ----------
    question
        Its question, as the page's heading.
    sweep
        What is varied by default.
    measures
        Columns of its table of trials, after the key.
    rows
        Yields the trials of a seed, from a source of jobs, its name, a sweep and the seed.
    summarize
        Returns the summary of a table of trials.
    shown
        By measure, the arms that its page compares.
    plot
        Draws its figure.
    """

    name: str
    question: str
    sweep: Sweep
    measures: Sequence[str]
    rows: Callable[[DrawJobs, str, Any, int], Iterator[Row]]
    summarize: Callable[[pd.DataFrame, Any], Summary]
    shown: Mapping[str, Pairs]
    plot: Callable[[Result], Figure]
    at_load: bool = True

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
            The source of jobs and its name.
        sweep
            None: the default.
        executor
            Runs the seeds; None: this process. Results are equal.

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
        load = sweep.at if self.at_load else None
        return Result(
            name=f"{self.name}_{source}",
            table=table,
            facts=tuple(summary.facts),
            sentences=(*summary.sentences, draws_sentence(source, load, sweep.seeds)),
            caveats=CAVEATS[self.name],
            comparisons=tuple(summary.comparisons),
            synthetic=True,
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
        None: this process.
    """
    rows = map_ordered(executor or InlineExecutor(), of_seed, seeds, ahead=len(seeds))
    return pd.DataFrame(list(chain.from_iterable(rows)), columns=[*ARM, *measures])


def trial_rows(
    drawn: Sequence[JobSpec],
    sweep: Sweep,
    seed: int,
    *,
    gpus: int,
    prepare: Callable[[Sequence[JobSpec], str], Sequence[JobSpec]],
    arms: Callable[[str], Arms],
) -> Iterator[Row]:
    """Yield the trials of a draw of jobs: settings, loads, arms.

    Parameters
    ----------
    gpus
        GPUs of the cluster.
    prepare
        Adds to jobs what a setting assumes of them.
    arms
        Returns the arms of a setting.
    """
    for setting in sweep.settings:
        prepared = prepare(drawn, setting)
        for load in sweep.loads if setting == USUAL else (sweep.at,):
            specs = at_load(prepared, load, gpus)
            for arm, simulate in arms(setting).items():
                yield (setting, load, arm, seed, *simulate(specs))
