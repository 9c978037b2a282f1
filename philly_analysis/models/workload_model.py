"""A workload model: all parts fitted to one cluster, and sampled together.

The file is long because the model is a public class: two fifths of it are docstrings.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import repeat
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack, cast, overload

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from philly_analysis.errors import ModelError
from philly_analysis.models import model_view, persistence, summary
from philly_analysis.models.between_period import ESTIMATED, PERIOD_D
from philly_analysis.models.components.arrivals import Arrivals
from philly_analysis.models.components.duration import Duration
from philly_analysis.models.components.failures import Failures
from philly_analysis.models.components.gang_size import GangSize
from philly_analysis.models.components.locality import Locality
from philly_analysis.models.components.sessions import job_clusters
from philly_analysis.models.components.status import Status
from philly_analysis.models.components.status_imputation import impute_status
from philly_analysis.models.components.users import Users, with_sample_names
from philly_analysis.models.components.utilisation import Utilisation
from philly_analysis.models.long_jobs import LongJobs
from philly_analysis.models.observations import Observations, open_with_run_policy
from philly_analysis.models.parts import Parts, Servers
from philly_analysis.models.predictive import predictive_models
from philly_analysis.models.sampling import sample_workload
from philly_analysis.models.site_learning import FittedLog, learn
from philly_analysis.models.weekly_jobs import WeeklyJobs
from philly_analysis.results import count
from philly_analysis.study import RunPolicy
from philly_analysis.trace import TraceLike
from philly_analysis.workload import Ensemble, Workload, seeds_of

MONDAY = datetime(2018, 1, 1)


class SampleOptions(TypedDict, total=False):
    """Options of a sample: see :meth:`WorkloadModel.sample`."""

    days: float | None
    load: float
    gpus: int | None
    offered: float | None
    start: datetime | str
    variation: str


@dataclass(frozen=True, slots=True, repr=False)
class WorkloadModel(Parts):
    """The workload of a cluster: arrivals, users, gang sizes, run times and statuses.

    ``model.job_size`` and ``model.duration`` are the distributions of gang sizes and run times,
    with the methods of frozen SciPy distributions. ``model.job_size(vc="…")`` and
    ``model.duration(gpus=8)`` are the distributions of some jobs.
    """

    @property
    def job_size(self) -> GangSize:
        """Distribution of gang sizes, over all jobs or by virtual cluster."""
        return self.gang_size

    @classmethod
    def fit(
        cls,
        data: Observations | TraceLike,
        *,
        family: str | None = None,
        windows: ArrayLike | None = None,
        conditional: bool = True,
        run_policy: RunPolicy | str | None = None,
    ) -> Self:
        """Fit every part for which there are data.

        Parameters
        ----------
        data
            The observations, or a trace to take observations from: see
            :func:`~philly_analysis.fit`.
        windows
            Observed times; None: from the earliest job to the latest. See `Arrivals.fit`.
        family
            Force one family of run times everywhere, e.g. ``lognormal``.
        conditional
            Fit conditional distributions of run time, too: see :meth:`Duration.fit`.
        run_policy
            Definition of a job's run time in a trace; by default the ``sum`` of its attempts,
            however the trace was opened.

        Raises
        ------
        ModelError
            No jobs, one job, all censored, all durations zero, or a run policy beside observations:
            the message says which.
        UnknownNameError
            The run policy is not known.
        """
        if not isinstance(data, Observations):
            with open_with_run_policy(data, run_policy) as trace:
                data = Observations.of_trace(trace)
        elif run_policy not in (None, data.run_policy):
            raise ModelError(
                f"the observations of {data.name} have the run policy {data.run_policy!r}, not "
                f"{run_policy!r}. Give the trace itself to choose another policy."
            )
        jobs = data.jobs
        if len(jobs) < 2:
            why = f" ({'; '.join(data.exclusions)})" if data.exclusions else ""
            raise ModelError(
                f"{data.name} has {count(len(jobs), 'job')} with a known gang size{why}; "
                "a workload model needs many, and at least two"
            )
        timed = with_sample_names(impute_status(jobs))
        span_d = (jobs["submitted_s"].max() - jobs["submitted_s"].min()) / 86_400
        first = datetime(1970, 1, 1) + timedelta(seconds=float(jobs["submitted_s"].min()))
        run_times = timed[timed["run_s"].notna()]
        model = cls(
            name=data.name,
            fitted_on=(
                f"{'synthetic data: ' if data.synthetic else ''}{len(jobs):,} jobs submitted over "
                f"{span_d:.1f} days from {first:%Y-%m-%d}, "
                f"{int(jobs['censored'].sum()):,} of them still running at the end"
            ),
            cannot_know=(*data.unknown(), *data.exclusions),
            sources=(),
            run_policy=data.run_policy,
            arrivals=Arrivals.fit(jobs["submitted_s"], windows),
            gang_size=GangSize.fit(jobs["gpus"], jobs["vc"], job_clusters(jobs)),
            duration=Duration.fit(run_times, family=family, conditional=conditional),
            users=Users.fit(jobs),
            status=Status.fit(timed),
            failures=Failures.fit(data.failures),
            locality=Locality.fit(data.spreads),
            utilisation=Utilisation.fit(data.use),
            servers=tuple(
                Servers(int(gpus), int(machines))
                for gpus, machines in data.machines[["gpus", "machines"]].itertuples(index=False)
            ),
            variation=ESTIMATED,
            long_jobs=LongJobs.fit(run_times, ESTIMATED),
        )
        site = learn(FittedLog.of(model), ESTIMATED, WeeklyJobs.of(jobs, windows))
        return replace(model, site=site)

    @overload
    def sample(
        self,
        jobs: int | None = None,
        *,
        seed: int | np.random.Generator = 0,
        seeds: None = None,
        **options: Unpack[SampleOptions],
    ) -> Workload: ...
    @overload
    def sample(
        self,
        jobs: int | None = None,
        *,
        seeds: int | Iterable[int],
        **options: Unpack[SampleOptions],
    ) -> Ensemble: ...
    def sample(
        self,
        jobs: int | None = None,
        *,
        days: float | None = None,
        load: float = 1.0,
        gpus: int | None = None,
        offered: float | None = None,
        seed: int | np.random.Generator = 0,
        seeds: int | Iterable[int] | None = None,
        start: datetime | str = MONDAY,
        variation: str = "month",
    ) -> Workload | Ensemble:
        """Draw a workload: the trace of an infinite cluster without waits.

        First the effects of another period of 28 days are drawn (:class:`Variation`): active
        users, jobs of each class, dispersion of arrivals. The site's own weeks determine how much
        jobs vary (:class:`SiteVariation`). Then its jobs are drawn, stratified: the
        counts of a sample match the period's distributions to within one. The longest tenth of a
        gang class comes from few sources, so that periods differ in their longest job
        (:class:`LongJobs`). A longer sample has several periods.

        Parameters
        ----------
        jobs, days
            Number of jobs, and length in days. If only one number is given, the other number
            follows. Without both numbers the sample has 28 days.
        load
            Factor on the rate of arrivals. Each hour's jobs are multiplied, so rhythm and bursts
            keep their proportions and the dispersion grows with the load.
        gpus
            Size of the target cluster. Larger gangs are not drawn. The rate is scaled by the ratio
            of the sizes if the size of the fitted cluster is known.
        offered
            Offered load (:func:`~philly_analysis.workload.load.offered_load`) on the target or
            the fitted cluster, by changing the rate. The sample may be a few percent shorter or
            longer than `days`.
        seed
            Seed, or a generator to draw a seed from. A seed always gives the same workload.
        seeds
            Several seeds, or their number (``3``: the seeds 0, 1 and 2): return an
            :class:`Ensemble` with a period for each.
        start
            A Monday 00:00 UTC: ``"2024-01-01"``, or a datetime.
        variation
            ``month``: each seed is another period; ``none``: each seed is the fitted period.

        Raises
        ------
        ModelError
            Numbers are not positive; jobs, days and a load are all given; an offered load stands
            beside these three, or the cluster is unknown; or no gang fits the cluster.
        UnknownNameError
            The variation is not known.
        WorkloadError
            The seeds are not different integers of 0 or more.
        """
        options: dict[str, Any] = {
            "jobs": jobs,
            "days": PERIOD_D if jobs is None and days is None else days,
            "load": load,
            "gpus": gpus,
            "offered": offered,
            "start": datetime.fromisoformat(start) if isinstance(start, str) else start,
            "variation": variation,
        }
        if seeds is not None:
            return Ensemble(self, seeds_of(seeds), tuple(options.items()))
        return sample_workload(self, seed=seed, **options)

    def periods(self, seed: int = 0) -> Iterator[Self]:
        """Draw models of other periods, without end, as samples with the same seed have them.

        A model without variation is repeated.
        """
        if self.variation is None:
            return repeat(self)
        return cast("Iterator[Self]", predictive_models(self, self.variation, seed))

    def to_json(self) -> str:
        """Return the model as JSON, as :meth:`save` writes it."""
        return persistence.to_json(self)

    @classmethod
    def from_json(cls, text: str, where: str | Path = "the text") -> Self:
        """Return the model that :meth:`to_json` returned as text.

        Parameters
        ----------
        where
            Name of the text in errors.

        Raises
        ------
        ModelError
            The text is not a model, or has other gang buckets.
        """
        return persistence.read_model(cls, text, where)

    def save(self, path: str | Path) -> Path:
        """Write the model as JSON.

        Raises
        ------
        ModelError
            The file cannot be written.
        """
        return persistence.save(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model that :meth:`save` wrote.

        Raises
        ------
        ModelError
            The file is missing, holds no model, or has other gang buckets.
        """
        return persistence.load(cls, Path(path))

    def summary(self) -> pd.DataFrame:
        """Return the numbers of the model, with units and intervals.

        Returns
        -------
        pandas.DataFrame
            Columns part, of (which jobs), what, value, low, high (95 %, with users as clusters; of
            variation between periods 90 %; nan: unknown), unit.
        """
        return summary.summary(self)

    def compare(self, other: Parts | TraceLike) -> pd.DataFrame:
        """Compare this model with another, or with one fitted to a trace, part by part.

        Returns
        -------
        pandas.DataFrame
            Columns part, of (which jobs), what, value, other, distance (of distributions: the
            largest gap of their CDFs, of gang sizes the total variation; of numbers the natural
            logarithm of their ratio), chance (95 % quantile of the distance of two samples of one
            distribution; nan: unknown).
        """
        if not isinstance(other, Parts):
            same = self.run_policy if self.run_policy in list(RunPolicy) else None
            other = self.fit(other, run_policy=same)
        return summary.compare(self, other)

    def plot(self) -> Figure:
        """Plot data and model: run times as CDF, QQ and PP, gang sizes, arrivals.

        Bands contain 90 % of drawn periods; bars are 95 % intervals.
        """
        return model_view.plot(self)

    def __repr__(self) -> str:
        parts = [self.fitted_on, self.run_time_meaning]
        if self.site:
            parts.append(self.site.sentence)
        return f"WorkloadModel({self.name!r}: {'; '.join(parts)})"

    def _repr_html_(self) -> str:
        return model_view.html(self)
