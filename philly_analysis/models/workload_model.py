"""A workload model: every part fitted to one cluster, and sampled together."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import repeat
from pathlib import Path
from typing import Any, Self, cast, overload

import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from philly_analysis.atomic import atomic_write
from philly_analysis.errors import ModelError
from philly_analysis.models import model_view, summary
from philly_analysis.models.between_period import LEARNED, MONTH_D
from philly_analysis.models.components.arrivals import Arrivals
from philly_analysis.models.components.duration import Duration
from philly_analysis.models.components.endings import with_endings
from philly_analysis.models.components.failures import Failures
from philly_analysis.models.components.gang_size import GangSize
from philly_analysis.models.components.locality import Locality
from philly_analysis.models.components.sessions import whose
from philly_analysis.models.components.status import Status
from philly_analysis.models.components.users import Users, labelled
from philly_analysis.models.components.utilisation import Utilisation
from philly_analysis.models.observations import Observations
from philly_analysis.models.parts import Parts, Servers
from philly_analysis.models.persistence import from_json, to_json
from philly_analysis.models.predictive import months
from philly_analysis.models.sampling import drawn
from philly_analysis.study import GANGS
from philly_analysis.workload import Ensemble, Workload

MONDAY = datetime(2018, 1, 1)


@dataclass(frozen=True, slots=True, repr=False)
class WorkloadModel(Parts):
    """What arrives at a cluster: when, from whom, how large, how long, and how it ends."""

    @classmethod
    def fit(
        cls,
        data: Observations,
        *,
        family: str | None = None,
        windows: ArrayLike | None = None,
        narrowed: bool = True,
    ) -> Self:
        """Fit every part for which there are data.

        Parameters
        ----------
        data
            What was observed.
        windows
            When arrivals were observed, if not from the first to the last: see `Arrivals.fit`.
        family
            Force one family of run times everywhere, e.g. ``lognormal``.
        narrowed
            Fit laws of run time to ask for as well: see :meth:`Duration.fit`.

        Raises
        ------
        ModelError
            No jobs, one job, all censored, all durations zero: the message says which.
        """
        jobs = data.jobs
        if len(jobs) < 2:
            why = f" ({'; '.join(data.left_out)})" if data.left_out else ""
            raise ModelError(
                f"{data.name} has {len(jobs)} jobs with a known gang size{why}; "
                "a workload model needs many, and at least two"
            )
        ended = labelled(with_endings(jobs))
        span_d = (jobs["submitted_s"].max() - jobs["submitted_s"].min()) / 86_400
        first = datetime(1970, 1, 1) + timedelta(seconds=float(jobs["submitted_s"].min()))
        return cls(
            name=data.name,
            fitted_on=(
                f"{'synthetic data: ' if data.synthetic else ''}{len(jobs):,} jobs submitted over "
                f"{span_d:.1f} days from {first:%Y-%m-%d}, "
                f"{int(jobs['censored'].sum()):,} of them still running at the end"
            ),
            cannot_know=(*_gaps(data), *data.left_out),
            sources=(),
            run_policy=data.run_policy,
            arrivals=Arrivals.fit(jobs["submitted_s"], windows),
            gang_size=GangSize.fit(jobs["gpus"], jobs["vc"], whose(jobs)),
            duration=Duration.fit(ended[ended["run_s"].notna()], family=family, narrowed=narrowed),
            users=Users.fit(jobs),
            status=Status.fit(ended),
            failures=Failures.fit(data.failures),
            locality=Locality.fit(data.spreads),
            utilisation=Utilisation.fit(data.use),
            servers=tuple(
                Servers(int(g), int(m))
                for g, m in zip(data.machines["gpus"], data.machines["machines"], strict=True)
            ),
            variation=LEARNED,
        )

    @overload
    def sample(
        self,
        *,
        jobs: int | None = None,
        days: float | None = None,
        load: float = 1.0,
        gpus: int | None = None,
        offered: float | None = None,
        seed: int = 0,
        seeds: None = None,
        start: datetime = MONDAY,
        variation: str = "month",
    ) -> Workload: ...
    @overload
    def sample(self, *, seeds: Iterable[int], **asked: Any) -> Ensemble: ...
    def sample(  # type: ignore[misc] # an ensemble's is asked for what a month's is
        self,
        *,
        jobs: int | None = None,
        days: float | None = None,
        load: float = 1.0,
        gpus: int | None = None,
        offered: float | None = None,
        seed: int = 0,
        seeds: Iterable[int] | None = None,
        start: datetime = MONDAY,
        variation: str = "month",
    ) -> Workload | Ensemble:
        """Draw a workload: the trace of an infinite cluster where nobody waits.

        First another month is drawn, as far from the fitted one as months are from each other
        (:class:`Variation`): who is active, how many jobs of which kind come, how they cluster.
        Then its jobs, evenly (stratified): a sample of n jobs has the month's laws up to one job
        each, and chance moves which job gets what, when. Of a long sample each four weeks are a
        month of their own.

        Parameters
        ----------
        jobs, days
            How many jobs, over how long; one follows from the other, or both are given.
        load
            Factor on the rate of arrivals: 1 is as fitted. Each hour's jobs are multiplied, so
            the rhythm and the bursts keep their proportions and the dispersion grows as the load.
        gpus
            Size of the target cluster: larger gangs are not drawn, and the rate is scaled with
            the size where the fitted cluster's is known.
        offered
            Load that the jobs shall offer that cluster, or the fitted one, by the one definition
            there is (:func:`~philly_analysis.workload.load.offered_load`): it conditions the rate
            of arrivals. Of `days` it may take a few percent more or less.
        seed
            The same seed gives the same workload.
        seeds
            Several: the answer is an :class:`Ensemble`, a month for each, of 28 days unless jobs
            or days are given. What-ifs and experiments take it whole.
        start
            A Monday 00:00 UTC.
        variation
            ``month``: each seed is another month that might have been; ``none``: each is the
            fitted one again.

        Raises
        ------
        ModelError
            Neither jobs nor days, numbers that are not positive, jobs and days and a load, an
            offered load beside these or of no known cluster, or no gang that fits the cluster.
        UnknownNameError
            No such variation.
        WorkloadError
            No seeds, or one of them twice.
        """
        asked: dict[str, Any] = {
            "jobs": jobs,
            "days": days,
            "load": load,
            "gpus": gpus,
            "offered": offered,
            "start": start,
            "variation": variation,
        }
        if seeds is not None:
            if jobs is None and days is None:
                asked["days"] = MONTH_D
            return Ensemble(self, tuple(seeds), tuple(asked.items()))
        return drawn(self, seed=seed, **asked)

    def months(self, seed: int = 0) -> Iterator[Self]:
        """Draw the models of other months, without end: those of samples with that seed.

        A model that does not vary is its own month.
        """
        if self.variation is None:
            return repeat(self)
        return cast("Iterator[Self]", months(self, self.variation, seed))

    def save(self, path: str | Path) -> Path:
        """Write the model as JSON.

        Raises
        ------
        ModelError
            The file cannot be written.
        """
        try:
            Path(path).parent.stat()  # no folder is made for it
            with atomic_write(Path(path)) as partial:
                partial.write_text(to_json(self), "utf-8")
        except OSError as error:
            raise ModelError(f"the model cannot be written to {path}: {error}") from None
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model that :meth:`save` wrote.

        Raises
        ------
        ModelError
            The file is missing, is not such a model, or speaks of other gang buckets.
        """
        try:
            text = Path(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ModelError(f"no workload model can be read from {path}: {error}") from None
        model = from_json(cls, text, path)
        if not _of_these_gangs(model):
            raise ModelError(
                f"{path} was fitted with other gang buckets than there are here "
                f"({', '.join(GANGS)}). Fit it again, or put GANG_BUCKETS back."
            )
        return model

    def summary(self) -> pd.DataFrame:
        """Return the model in numbers, with units and intervals.

        Returns
        -------
        pandas.DataFrame
            Columns part, of (which jobs), what, value, low, high (95 %, that a user's jobs are
            alike allowed for; of what was learned across clusters 90 %; nan: none is known), unit.
        """
        return summary.summary(self)

    def compare(self, other: Parts) -> pd.DataFrame:
        """Set this model beside another, part by part.

        Returns
        -------
        pandas.DataFrame
            Columns part, of (which jobs), what, value, other, distance (of laws: the largest gap
            of their CDFs, of gang sizes half the sum of all gaps; of numbers the natural logarithm
            of their ratio), chance (what a distance of laws stays below in 95 % of cases if both
            have seen the same law; nan: not known).
        """
        return summary.compare(self, other)

    def plot(self) -> Figure:
        """Draw data against model: run times as CDF, QQ and PP, gang sizes, arrivals.

        Bands hold 90 % of the months that might have been; bars are 95 % intervals.
        """
        return model_view.plot(self)

    def __repr__(self) -> str:
        return f"WorkloadModel({self.name!r}: {self.fitted_on})"

    def _repr_html_(self) -> str:
        return model_view.html(self)


def _of_these_gangs(model: WorkloadModel) -> bool:
    """Tell whether all parts of a model speak of the gang buckets that there are."""
    gangs = {cell.gang for cell in (*model.duration.cells, *model.duration.leaves)}
    if model.status:
        gangs |= {c.gang for c in model.status.cells} | {c.gang for c in model.status.attempts}
    weighed = {len(reason.weights) for reason in model.failures.reasons} if model.failures else ()
    return gangs <= set(GANGS) and set(weighed) <= {len(GANGS)}


def _gaps(data: Observations) -> tuple[str, ...]:
    """Say what the data have nothing on."""
    jobs = data.jobs
    lacking = {
        "who submitted a job: users repeat as their virtual cluster does": jobs["user"]
        .isna()
        .all(),
        "virtual clusters": (jobs["vc"] == "").all(),
        "how jobs ended, and their retries": jobs["status"].isna().all(),
        "why attempts failed": data.failures.empty,
        "on how many servers gangs ran": data.spreads.empty,
        "how busy GPUs were": data.use.empty,
        "the size of the cluster": data.machines.empty,
    }
    return tuple(f"Not known: {what}." for what, yes in lacking.items() if yes)
