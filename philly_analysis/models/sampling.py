"""Draw a workload from a model: arrivals, users, gang sizes, run times and statuses."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from philly_analysis.distributions import Floats, Ints, repeated_scores, stratified_uniforms
from philly_analysis.errors import ModelError, UnknownNameError
from philly_analysis.models.components.arrivals import check_sample_size
from philly_analysis.models.components.duration import Duration
from philly_analysis.models.components.gang_size import GangSize
from philly_analysis.models.components.job_classes import LONG_SHARE
from philly_analysis.models.components.load_dependence import draw_load_dependent
from philly_analysis.models.components.synthetic_users import assign_users
from philly_analysis.models.components.users import MAX_DURATION_CORRELATION
from philly_analysis.models.drawn_tables import attempt_rows, server_rows
from philly_analysis.models.long_jobs import Sources
from philly_analysis.models.parts import Parts
from philly_analysis.models.predictive import SampleSize, by_period
from philly_analysis.workload import Workload, largest_job_note, offered_load

DAY_S = 86_400
MAX_DRAWS = 8
MAX_LOG_LOAD_ERROR = 0.02  # of the drawn load, before submissions are scaled
VARIATIONS = ("month", "none")


@dataclass(frozen=True, slots=True)
class DrawnJobs:
    """Jobs as arrays of one length, by ascending submission in s."""

    at_s: Floats
    vc: NDArray[np.str_]
    user: NDArray[np.str_]
    gang: Ints
    status: NDArray[np.str_]
    attempts: Ints
    run_s: Floats

    @property
    def span_s(self) -> float:
        """Seconds from the earliest submission to the latest."""
        return float(self.at_s[-1] - self.at_s[0]) if self.at_s.size else 0.0

    @property
    def gpu_s(self) -> float:
        """GPU-seconds of demand."""
        return float(self.run_s @ self.gang)


def sample_workload(
    model: Parts, *, seed: int | np.random.Generator, start: datetime, **options: Any
) -> Workload:
    """Draw a workload from a model; see :meth:`WorkloadModel.sample`."""
    if isinstance(seed, np.random.Generator):
        seed = int(seed.integers(2**32))
    drawn = _sample(model, seed, start, **options)
    return drawn.redrawn_by(_Redraw(model, seed, start, tuple(options.items())))


@dataclass(frozen=True, slots=True)
class _Redraw:
    """Draws the workload of a seed again, at another offered load: the rate changes."""

    model: Parts
    seed: int
    start: datetime
    options: tuple[tuple[str, Any], ...]

    def __call__(self, offered: float, gpus: int) -> Workload:
        changed = {**dict(self.options), "offered": offered, "gpus": gpus, "load": 1.0}
        if changed["days"]:
            changed["jobs"] = None  # the load determines their number
        return sample_workload(self.model, seed=self.seed, start=self.start, **changed)


def _sample(
    model: Parts,
    seed: int,
    start: datetime,
    *,
    load: float,
    offered: float | None,
    gpus: int | None,
    **size: Any,
) -> Workload:
    """Draw the workload of a seed."""
    if gpus is not None and gpus < 1:
        raise ModelError(f"a cluster needs at least one GPU, not {gpus}")
    if start.weekday() or start.time() != datetime.min.time():
        raise ModelError(f"a sample starts on a Monday 00:00, not at {start}")
    at_rate = partial(draw_jobs, model, gpus=gpus, seed=seed, **size)
    target = gpus or model.cluster_gpus or 0
    if offered is None:
        made, rng = at_rate(load=load)
    else:
        if (size["jobs"] and size["days"]) or load != 1:
            raise ModelError(
                f"an offered load of {offered:g} contradicts a load factor, or jobs and days "
                "together, which determine the load: leave one out"
            )
        made, rng, load = _draw_at_load(offered, target, at_rate)
    rho = offered_load(made.gpu_s, made.span_s, target)
    varied = model.variation is not None and size["variation"] != "none"
    job_frame = _job_frame(model, made, seed, start)
    last_share = model.status.last_share if model.status else 1.0
    return Workload(
        name=f"{model.name}-sample",
        jobs=job_frame,
        attempts=attempt_rows(job_frame, made.run_s, made.attempts, last_share, rng),
        machines=server_rows(model, gpus),
        synthetic=True,
        notes=(
            f"Sampled from the model {model.name} ({model.fitted_on}) with seed {seed}: "
            f"{made.at_s.size:,} jobs over {made.span_s / DAY_S:.1f} days, load factor {load:g}.",
            f"They demand {made.gpu_s / 3600:,.0f} GPU hours"
            + ("." if rho is None else f", an offered load of {rho:.2f} on {target:,} GPUs."),
            *largest_job_note(made.run_s * made.gang),
            *("Each seed draws another period from the predictive distribution.",) * varied,
            *model.cannot_know,
        ),
    )


def _job_frame(model: Parts, made: DrawnJobs, seed: int, start: datetime) -> pl.DataFrame:
    """Return drawn jobs as the table ``jobs``."""
    user = made.user
    if not model.users.named:
        correlation = model.users.duration_correlation
        user = assign_users(made.vc, made.gang, made.run_s, correlation=correlation, seed=seed)
    job_id = pl.Series(np.arange(1, made.at_s.size + 1)).cast(pl.String).str.zfill(8)
    since_start = (made.at_s * 1e6).astype("timedelta64[us]")
    return pl.DataFrame(
        {
            "job_id": "job-" + job_id,
            "vc": pl.Series(made.vc).replace("", None),
            "user": user,
            "gpus": made.gang,
            "submitted_at": np.datetime64(start, "us") + since_start,
            "status": pl.Series(made.status).replace("", None),
        }
    )


def draw_jobs(
    model: Parts,
    *,
    jobs: int | None = None,
    days: float | None = None,
    load: float = 1.0,
    gpus: int | None = None,
    seed: int = 0,
    variation: str = "month",
) -> tuple[DrawnJobs, np.random.Generator]:
    """Draw jobs as arrays, and return the generator; see :meth:`WorkloadModel.sample`."""
    if variation not in VARIATIONS:
        raise UnknownNameError("variation", variation, VARIATIONS)
    rng = np.random.default_rng(seed)
    scale = (
        gpus / model.cluster_gpus if gpus and model.cluster_gpus and not (jobs and days) else 1.0
    )
    size = SampleSize(jobs, days, load * scale)
    check_sample_size(jobs, days, load * scale)
    if model.variation is None or variation == "none":
        return _draw_period(model, size, gpus, rng), rng
    parts = []
    periods = by_period(model, model.variation, size, seed)
    for number, (period, part, from_d) in enumerate(periods):
        drawn = _draw_period(period, part, gpus, rng, (seed, number))
        parts.append(replace(drawn, at_s=drawn.at_s + from_d * DAY_S))
    names = [field.name for field in fields(DrawnJobs)]
    return DrawnJobs(*(np.concatenate([getattr(p, n) for p in parts]) for n in names)), rng


def _draw_at_load(
    target: float, gpus: int, at_rate: Callable[..., tuple[DrawnJobs, np.random.Generator]]
) -> tuple[DrawnJobs, np.random.Generator, float]:
    """Draw jobs with an offered load, and return the factor on their rate as well.

    Repeated draws change the rate of arrivals, so that days stay days. Submissions of the nearest
    draw are then scaled by its error. The error is at most 2 % unless a few jobs are most of the
    load.
    """
    if target <= 0 or not gpus:
        raise ModelError(
            f"an offered load of {target:g} on {gpus} GPUs is impossible; give a load above 0, and "
            "the GPUs if the model does not know its cluster"
        )
    factor, draws = 1.0, []
    for _ in range(MAX_DRAWS):
        made, rng = at_rate(load=factor)
        load = offered_load(made.gpu_s, made.span_s, gpus)
        if not load:
            raise ModelError(
                f"{made.at_s.size} jobs over {made.span_s:g} s have no load: give more jobs or days"
            )
        draws.append((abs(np.log(load / target)), factor, load, made, rng))
        if draws[-1][0] < MAX_LOG_LOAD_ERROR:
            break
        factor *= target / load
    _, factor, load, made, rng = min(draws, key=lambda draw: draw[0])
    first_s = made.at_s[0]
    at_s = np.rint(first_s + (made.at_s - first_s) * load / target)
    return replace(made, at_s=at_s), rng, float(factor)


def _draw_period(
    model: Parts,
    size: SampleSize,
    gpus: int | None,
    rng: np.random.Generator,
    seed: tuple[int, int] | None = None,
) -> DrawnJobs:
    """Draw the jobs of one period; of another period than the fitted one, with a seed."""
    at_s = model.arrivals.sample(rng, jobs=size.jobs, days=size.days, load=size.load)
    n = at_s.size
    vc, user, user_index = model.users.sample(at_s, rng)
    score, run = repeated_scores(model.users.repeat_gang, rng, user_index, n)
    gang = _gang_sizes(model.gang_size, vc, gpus, score, rng)
    status, attempts = np.full(n, ""), np.ones(n, int)
    if model.status is not None:
        status_score, _ = repeated_scores(model.users.repeat_status, rng, user_index, n)
        status = model.status.sample(status_score, gang, vc, rng)
        attempts = model.status.sample_attempts(gang, status, rng)
    leaf = model.duration.leaf_of(gang, vc, status)
    run_s = _run_times(model, run, leaf, rng, at_s, seed)
    return DrawnJobs(at_s, vc, user, gang, status, attempts, run_s)


def _gang_sizes(
    model: GangSize, vc: NDArray[Any], largest: int | None, score: Floats, rng: np.random.Generator
) -> Ints:
    """Draw gang sizes by virtual cluster, ascending with the score."""
    names, index = np.unique(vc, return_inverse=True)
    u = stratified_uniforms(score, rng, index)
    gang = np.empty(u.size, int)
    for i, name in enumerate(names):
        sizes = model(vc=str(name))
        if largest is not None:
            sizes = (sizes if sizes.sizes[0] <= largest else model.overall).up_to(largest)
        mine = index == i
        gang[mine] = sizes.ppf(u[mine])
    return gang


def _run_times(
    model: Parts,
    run: Ints,
    leaf: Ints,
    rng: np.random.Generator,
    at_s: Floats,
    seed: tuple[int, int] | None,
) -> Floats:
    """Draw run times: jobs of one run share a random effect.

    With a seed the run times depend on load, and long jobs come from few sources: the same ones at
    each rate of arrivals.
    """
    users = model.users
    shared = users.duration_correlation / max(users.repeat_gang, 1e-9)
    shared = min(shared, MAX_DURATION_CORRELATION)
    effect = rng.standard_normal(int(run.max()) + 1 if run.size else 0)[run]
    score = np.sqrt(shared) * effect + np.sqrt(1 - shared) * rng.standard_normal(run.size)
    by_score = partial(_by_score, model.duration, leaf, rng)
    if seed and model.long_jobs and model.variation and run.size:
        sources = model.long_jobs.sources(float(np.ptp(at_s)) / DAY_S, model.variation)
        by_score = partial(by_score, sources=sources, seed=seed)
    if not seed or not users.load_correlation or not run.size:
        return by_score(score)
    return draw_load_dependent(at_s, score, users.load_correlation, by_score)


def _by_score(
    duration: Duration,
    leaf: Ints,
    rng: np.random.Generator,
    score: Floats,
    *,
    sources: Sources | None = None,
    seed: tuple[int, int] = (0, 0),
) -> Floats:
    """Draw run times in the order of scores, long ones from sources that the seed determines."""
    u = stratified_uniforms(score, rng, leaf)
    if sources is None:
        return duration.sample(u, leaf)
    of_sources = np.random.default_rng(seed)
    level, factor = sources.redraw(u, leaf, duration.shares_of(LONG_SHARE), of_sources)
    run_s = duration.sample(level, leaf)
    longest = np.maximum(run_s, sources.log_s)
    return np.minimum(
        np.rint(run_s * factor / duration.resolution_s) * duration.resolution_s, longest
    )
