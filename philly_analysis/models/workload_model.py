"""A workload model: every part fitted to one cluster, and sampled together."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from philly_analysis.errors import ModelError
from philly_analysis.laws.balance import evenly, runs
from philly_analysis.models import model_view
from philly_analysis.models.arrivals import Arrivals
from philly_analysis.models.duration import Duration
from philly_analysis.models.failures import Failures
from philly_analysis.models.gang_size import GangSize
from philly_analysis.models.locality import Locality
from philly_analysis.models.observations import Observations
from philly_analysis.models.persistence import from_json, to_json
from philly_analysis.models.status import Status
from philly_analysis.models.users import MAX_DURATION_CORRELATION, Users
from philly_analysis.models.utilisation import Utilisation
from philly_analysis.study import LAST_END, RunPolicy
from philly_analysis.trace import Trace
from philly_analysis.workload import Workload

Floats = NDArray[np.float64]
Ints = NDArray[np.int_]

MONDAY = datetime(2018, 1, 1)
SERVER_GPUS = 8


@dataclass(frozen=True, slots=True)
class Servers:
    """Servers of one size in the cluster."""

    gpus: int
    machines: int


@dataclass(frozen=True, slots=True)
class WorkloadModel:
    """What arrives at a cluster: when, from whom, how large, how long, and how it ends.

    Attributes
    ----------
    name
        What it models.
    fitted_on
        The data, in a sentence.
    cannot_know
        What the data do not say, and what was therefore left out or assumed.
    sources
        Where the data are from and under what licence.
    run_policy
        How attempts became a job's run time.
    status, failures, locality, utilisation
        None where the data have nothing on it.
    servers
        The cluster's servers by size; may be empty.
    """

    name: str
    fitted_on: str
    cannot_know: tuple[str, ...]
    sources: tuple[str, ...]
    run_policy: str
    arrivals: Arrivals
    gang_size: GangSize
    duration: Duration
    users: Users
    status: Status | None = None
    failures: Failures | None = None
    locality: Locality | None = None
    utilisation: Utilisation | None = None
    servers: tuple[Servers, ...] = ()

    @classmethod
    def fit(
        cls, data: Observations, *, family: str | None = None, windows: ArrayLike | None = None
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
            gang_size=GangSize.fit(jobs["gpus"], jobs["vc"]),
            duration=Duration.fit(data.timed, family=family),
            users=Users.fit(jobs),
            status=Status.fit(jobs),
            failures=Failures.fit(data.failures),
            locality=Locality.fit(data.spreads),
            utilisation=Utilisation.fit(data.use),
            servers=tuple(
                Servers(int(g), int(m))
                for g, m in zip(data.machines["gpus"], data.machines["machines"], strict=True)
            ),
        )

    @property
    def gpus(self) -> int | None:
        """GPUs of the cluster; None when its servers are not known."""
        return sum(s.gpus * s.machines for s in self.servers) or None

    def sample(
        self,
        *,
        jobs: int | None = None,
        days: float | None = None,
        load: float = 1.0,
        gpus: int | None = None,
        seed: int = 0,
        start: datetime = MONDAY,
    ) -> Workload:
        """Draw a workload: the trace of an infinite cluster where nobody waits.

        Marginals are drawn evenly (stratified): a sample of n jobs has the fitted laws up to one
        job each, and chance moves which job gets what, when.

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
        seed
            The same seed gives the same workload.
        start
            A Monday 00:00 UTC.

        Raises
        ------
        ModelError
            Neither jobs nor days, numbers that are not positive, jobs and days and a load, or no
            gang that fits the cluster.
        """
        if gpus is not None and gpus < 1:
            raise ModelError(f"a cluster of {gpus} GPUs was asked for; it needs at least one")
        if start.weekday() or start.time() != datetime.min.time():
            raise ModelError(f"a sample starts on a Monday 00:00, not at {start}")
        rng = np.random.default_rng(seed)
        scale = gpus / self.gpus if gpus and self.gpus and not (jobs and days) else 1.0
        at_s = self.arrivals.sample(rng, jobs=jobs, days=days, load=load * scale)
        n = at_s.size
        vc, user, who = self.users.sample(at_s, rng)
        score, run = runs(self.users.repeat_gang, rng, who, n)
        gang = self._gangs(score, vc, gpus, rng)
        status = np.full(n, "")
        tries = np.ones(n, int)
        if self.status is not None:
            mood, _ = runs(self.users.repeat_status, rng, who, n)
            status = self.status.sample(mood, gang, vc, rng)
            tries = self.status.sample_attempts(gang, status, rng)
        run_s = self._run_s(run, gang, vc, status, rng)
        horizon_s = max(float(at_s[-1]), 1.0) if n else 1.0
        busy = float(run_s @ gang) / horizon_s
        target = gpus or self.gpus
        notes = (
            f"Sampled from the model {self.name} ({self.fitted_on}) with seed {seed}: {n:,} jobs "
            f"over {horizon_s / 86_400:.1f} days, load factor {load:g}.",
            f"They keep {busy:,.0f} GPUs busy on average"
            + (f", {busy / target:.2f} of the {target:,} there are." if target else "."),
            *self.cannot_know,
        )
        job_id = pl.Series("job_id", np.arange(1, n + 1)).cast(pl.String).str.zfill(8)
        submitted = pl.Series(np.datetime64(start, "us") + (at_s * 1e6).astype("timedelta64[us]"))
        job_frame = pl.DataFrame(
            {
                "job_id": "job-" + job_id,
                "vc": pl.Series(vc).replace("", None),
                "user": pl.Series(user),
                "gpus": gang,
                "submitted_at": submitted,
                "status": pl.Series(status).replace("", None),
            }
        )
        return Workload(
            name=f"{self.name}-sample",
            jobs=job_frame,
            attempts=self._attempts(job_frame, run_s, tries, rng),
            machines=self._machines(gpus),
            synthetic=True,
            notes=notes,
        )

    def _gangs(
        self, score: Floats, vc: NDArray[np.str_], largest: int | None, rng: np.random.Generator
    ) -> Ints:
        names, index = np.unique(vc, return_inverse=True)
        u = evenly(score, rng, index)
        gang = np.empty(u.size, int)
        for i, name in enumerate(names):
            law = self.gang_size.of(str(name))
            if largest is not None:
                fits = law.sizes[0] <= largest
                law = (law if fits else self.gang_size.overall).up_to(largest)
            mine = index == i
            gang[mine] = law.ppf(u[mine])
        return gang

    def _run_s(
        self,
        run: Ints,
        gang: Ints,
        vc: NDArray[np.str_],
        status: NDArray[np.str_],
        rng: np.random.Generator,
    ) -> Floats:
        """Run times: jobs of one run of a user share a random effect."""
        users = self.users
        shared = min(
            users.duration_correlation / max(users.repeat_gang, 1e-9), MAX_DURATION_CORRELATION
        )
        effect = rng.standard_normal(int(run.max()) + 1 if run.size else 0)[run]
        score = np.sqrt(shared) * effect + np.sqrt(1 - shared) * rng.standard_normal(run.size)
        leaf = self.duration.leaf_of(gang, vc, status)
        return self.duration.sample(evenly(score, rng, leaf), leaf)

    def _attempts(
        self, jobs: pl.DataFrame, run_s: Floats, tries: Ints, rng: np.random.Generator
    ) -> pl.DataFrame:
        """Lay each job's attempts end to end; all but the last failed."""
        job = np.repeat(np.arange(run_s.size), tries)
        first = np.cumsum(tries) - tries
        attempt = np.arange(job.size) - first[job]
        last = attempt == tries[job] - 1
        # Shares of the run time: the last attempt's own, the others exponential and normalised.
        weight = np.where(last, 0.0, rng.standard_exponential(job.size))
        total = np.bincount(job, weight, run_s.size)
        kept = self.status.last_share if self.status else 1.0
        share = np.where(
            last,
            np.where(tries[job] == 1, 1.0, kept),
            (1 - kept) * weight / np.maximum(total[job], 1e-12),
        )
        ends = np.cumsum(share)
        base = ends[first] - share[first]
        until_s = np.floor((ends - base[job]) * run_s[job])
        until_s[last] = run_s
        from_s = np.where(attempt == 0, 0.0, np.roll(until_s, 1))
        submitted = jobs["submitted_at"].gather(job)
        ended = jobs["status"].replace_strict(LAST_END, default=None).gather(job)
        return pl.DataFrame(
            {
                "job_id": jobs["job_id"].gather(job),
                "attempt": attempt + 1,
                "started_at": submitted + pl.Series((from_s * 1e6).astype("timedelta64[us]")),
                "ended_at": submitted + pl.Series((until_s * 1e6).astype("timedelta64[us]")),
                "gpus": jobs["gpus"].gather(job),
                "end_reason": pl.select(
                    pl.when(pl.Series(last)).then(ended).otherwise(pl.lit("failed"))
                ).to_series(),
            }
        )

    def _machines(self, gpus: int | None) -> pl.DataFrame:
        """Servers of the fitted cluster's sizes, up to the GPUs wanted."""
        servers = self.servers or ((Servers(SERVER_GPUS, 1),) if gpus else ())
        total = sum(s.gpus * s.machines for s in servers)
        sizes: list[int] = []
        for size in sorted(servers, key=lambda s: -s.gpus):
            sizes += [size.gpus] * int(size.machines * (gpus / total if gpus else 1))
        while gpus and sum(sizes) < gpus:
            sizes.append(min(servers[-1].gpus, gpus - sum(sizes)))
        return pl.DataFrame(
            {
                "machine_id": [f"machine-{i + 1:05d}" for i in range(len(sizes))],
                "gpus": pl.Series(sizes, dtype=pl.Int64),
            }
        )

    def save(self, path: str | Path) -> Path:
        """Write the model as JSON.

        Raises
        ------
        ModelError
            The file cannot be written.
        """
        try:
            Path(path).write_text(to_json(self), "utf-8")
        except OSError as error:
            raise ModelError(f"the model cannot be written to {path}: {error}") from None
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model that :meth:`save` wrote.

        Raises
        ------
        ModelError
            The file is missing or is not such a model.
        """
        try:
            text = Path(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ModelError(f"no workload model can be read from {path}: {error}") from None
        return from_json(cls, text, path)

    def plot(self) -> Figure:
        """Draw data against model: run times as CDF and QQ, gang sizes, arrivals."""
        return model_view.plot(self)

    def __repr__(self) -> str:
        return f"WorkloadModel({self.name!r}: {self.fitted_on})"

    def _repr_html_(self) -> str:
        return model_view.html(self)


def fit(trace: Trace | str | Path, *, family: str | None = None) -> WorkloadModel:
    """Fit a workload model to a trace.

    Parameters
    ----------
    trace
        An open trace, whose run policy then says what a run time is; or the folder of one, which
        is read with a job's run time as the sum of its attempts: the service that it needs.
    family
        Force one family of run times everywhere, e.g. ``lognormal``.

    Raises
    ------
    ModelError
        Too little to fit: the message names what is missing.
    """
    if isinstance(trace, Trace):
        return WorkloadModel.fit(Observations.of_trace(trace), family=family)
    with Trace(trace, run_policy=RunPolicy.SUM) as opened:
        return fit(opened, family=family)


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
