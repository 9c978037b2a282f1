"""Draws a workload from a model: who submits what, when, how long it runs and how it ends."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import partial
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from philly_analysis.distributions import evenly, runs
from philly_analysis.errors import ModelError, UnknownNameError
from philly_analysis.models.components.gang_size import GangSize
from philly_analysis.models.components.load_dependence import going_with_crowds
from philly_analysis.models.components.synthetic_users import people
from philly_analysis.models.components.users import MAX_DURATION_CORRELATION
from philly_analysis.models.parts import Parts, Servers
from philly_analysis.models.predictive import Wish, by_month
from philly_analysis.study import LAST_END
from philly_analysis.workload import Workload, offered_load

Floats = NDArray[np.float64]
Ints = NDArray[np.int_]

SERVER_GPUS = 8

DAY_S = 86_400

_LOOKS = 4
"""How often jobs are drawn at most to come near to a load."""

_NEAR = 0.02
"""How near it shall be, in natural logarithms, before submissions are stretched."""

VARIATIONS = ("month", "none")
"""Whether each seed is another month that might have been, or the fitted one again."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Jobs as arrays of one length, by ascending submission in s."""

    at_s: Floats
    vc: NDArray[np.str_]
    user: NDArray[np.str_]
    gang: Ints
    status: NDArray[np.str_]
    tries: Ints
    run_s: Floats

    @property
    def span_s(self) -> float:
        """Seconds from the first submission to the last."""
        return float(self.at_s[-1] - self.at_s[0]) if self.at_s.size else 0.0

    @property
    def gpu_s(self) -> float:
        """GPU-seconds that the jobs ask for."""
        return float(self.run_s @ self.gang)

    def later(self, days: float) -> Self:
        """Return the jobs so many days later."""
        return replace(self, at_s=self.at_s + days * DAY_S)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the jobs of all parts."""
        if len(parts) == 1:
            return parts[0]
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))


def drawn(
    model: Parts,
    *,
    jobs: int | None,
    days: float | None,
    load: float,
    gpus: int | None,
    offered: float | None,
    seed: int,
    start: datetime,
    variation: str,
) -> Workload:
    """Draw a workload from a model; see :meth:`WorkloadModel.sample`."""
    if gpus is not None and gpus < 1:
        raise ModelError(f"a cluster of {gpus} GPUs was asked for; it needs at least one")
    if start.weekday() or start.time() != datetime.min.time():
        raise ModelError(f"a sample starts on a Monday 00:00, not at {start}")
    asked = partial(draw, model, jobs=jobs, days=days, gpus=gpus, seed=seed, variation=variation)
    target = gpus or model.gpus or 0
    if offered is None:
        made, rng = asked(load=load)
    else:
        made, rng, load = _offering(
            offered, target, asked, settled=bool(jobs and days) or load != 1
        )
    n, gang, run_s = made.at_s.size, made.gang, made.run_s
    rho = offered_load(made.gpu_s, made.span_s, target)
    notes = (
        f"Sampled from the model {model.name} ({model.fitted_on}) with seed {seed}: {n:,} jobs "
        f"over {made.span_s / 86_400:.1f} days, load factor {load:g}.",
        f"They ask for {made.gpu_s / 3600:,.0f} GPU hours"
        + ("." if rho is None else f", an offered load of {rho:.2f} on {target:,} GPUs."),
        *model.cannot_know,
    )
    if model.variation is not None and variation != "none":
        notes = (*notes[:2], "Each seed is another month that might have been.", *notes[2:])
    job_id = pl.Series("job_id", np.arange(1, n + 1)).cast(pl.String).str.zfill(8)
    submitted = pl.Series(np.datetime64(start, "us") + (made.at_s * 1e6).astype("timedelta64[us]"))
    job_frame = pl.DataFrame(
        {
            "job_id": "job-" + job_id,
            "vc": pl.Series(made.vc).replace("", None),
            "user": pl.Series(
                made.user
                if model.users.named
                else people(
                    made.vc, gang, run_s, clinging=model.users.duration_correlation, seed=seed
                )
            ),
            "gpus": gang,
            "submitted_at": submitted,
            "status": pl.Series(made.status).replace("", None),
        }
    )
    last_share = model.status.last_share if model.status else 1.0
    return Workload(
        name=f"{model.name}-sample",
        jobs=job_frame,
        attempts=_attempts(job_frame, run_s, made.tries, last_share, rng),
        machines=_machines(model, gpus),
        synthetic=True,
        notes=notes,
    )


def draw(
    model: Parts,
    *,
    jobs: int | None = None,
    days: float | None = None,
    load: float = 1.0,
    gpus: int | None = None,
    seed: int = 0,
    variation: str = "month",
) -> tuple[Drawn, np.random.Generator]:
    """Draw jobs as arrays, and return what chance is left; see :meth:`WorkloadModel.sample`."""
    if variation not in VARIATIONS:
        raise UnknownNameError("variation", variation, VARIATIONS)
    rng = np.random.default_rng(seed)
    scale = gpus / model.gpus if gpus and model.gpus and not (jobs and days) else 1.0
    wish = Wish(jobs, days, load * scale)
    if model.variation is None or variation == "none" or not wish.possible:
        return _jobs(model, wish, gpus, rng, crowding=False), rng
    parts = [
        _jobs(month, part, gpus, rng, crowding=True).later(from_d)
        for month, part, from_d in by_month(model, model.variation, wish, seed)
    ]
    return Drawn.joined(parts), rng


def _offering(
    wanted: float,
    gpus: int,
    draw_at: Callable[..., tuple[Drawn, np.random.Generator]],
    *,
    settled: bool,
) -> tuple[Drawn, np.random.Generator, float]:
    """Draw jobs that offer a load, and return the factor on their rate as well.

    The rate of arrivals is what is changed, so that days stay days; what a heavy job or two then
    leave missing is made up by stretching the submissions.
    """
    if settled:
        raise ModelError(
            f"an offered load of {wanted:g} was asked for beside a load factor, or beside both "
            "jobs and days, which settle it: leave one out"
        )
    if wanted <= 0 or not gpus:
        raise ModelError(
            f"an offered load of {wanted:g} of {gpus} GPUs was asked for; give a load above 0, and "
            "the GPUs where the model does not know its cluster"
        )
    factor, found = 1.0, []
    for _ in range(_LOOKS):
        made, rng = draw_at(load=factor)
        now = offered_load(made.gpu_s, made.span_s, gpus)
        if not now:
            raise ModelError(
                f"{made.at_s.size} jobs over {made.span_s:g} s offer no load: ask for more jobs or "
                "days"
            )
        found.append((abs(np.log(now / wanted)), factor, now, made, rng))
        if found[-1][0] < _NEAR:
            break
        factor *= wanted / now
    _, factor, now, made, rng = min(found, key=lambda look: look[0])
    first_s = made.at_s[0]
    at_s = np.rint(first_s + (made.at_s - first_s) * now / wanted)
    return replace(made, at_s=at_s), rng, float(factor)


def _jobs(
    model: Parts, wish: Wish, gpus: int | None, rng: np.random.Generator, *, crowding: bool
) -> Drawn:
    """Draw jobs of one law; with `crowding` run times go with how many jobs come."""
    at_s = model.arrivals.sample(rng, jobs=wish.jobs, days=wish.days, load=wish.load)
    n = at_s.size
    vc, user, who = model.users.sample(at_s, rng)
    score, run = runs(model.users.repeat_gang, rng, who, n)
    gang = _gangs(model.gang_size, score, vc, gpus, rng)
    status, tries = np.full(n, ""), np.ones(n, int)
    if model.status is not None:
        mood, _ = runs(model.users.repeat_status, rng, who, n)
        status = model.status.sample(mood, gang, vc, rng)
        tries = model.status.sample_attempts(gang, status, rng)
    run_s = _run_s(model, run, gang, vc, status, rng, at_s if crowding else None)
    return Drawn(at_s, vc, user, gang, status, tries, run_s)


def _gangs(
    law: GangSize,
    score: Floats,
    vc: NDArray[np.str_],
    largest: int | None,
    rng: np.random.Generator,
) -> Ints:
    """Gang sizes by virtual cluster: whoever has the higher score gets the larger gang."""
    names, index = np.unique(vc, return_inverse=True)
    u = evenly(score, rng, index)
    gang = np.empty(u.size, int)
    for i, name in enumerate(names):
        own = law.of(str(name))
        if largest is not None:
            fits = own.sizes[0] <= largest
            own = (own if fits else law.overall).up_to(largest)
        mine = index == i
        gang[mine] = own.ppf(u[mine])
    return gang


def _run_s(
    model: Parts,
    run: Ints,
    gang: Ints,
    vc: NDArray[np.str_],
    status: NDArray[np.str_],
    rng: np.random.Generator,
    at_s: Floats | None,
) -> Floats:
    """Run times: jobs of one run of a user share a random effect, and `at_s` goes with them."""
    users = model.users
    shared = min(
        users.duration_correlation / max(users.repeat_gang, 1e-9), MAX_DURATION_CORRELATION
    )
    effect = rng.standard_normal(int(run.max()) + 1 if run.size else 0)[run]
    score = np.sqrt(shared) * effect + np.sqrt(1 - shared) * rng.standard_normal(run.size)
    leaf = model.duration.leaf_of(gang, vc, status)

    def with_scores(score: Floats) -> Floats:
        return model.duration.sample(evenly(score, rng, leaf), leaf)

    if at_s is None or not users.crowding or not run.size:
        return with_scores(score)
    return going_with_crowds(at_s, score, users.crowding, with_scores)


def _attempts(
    jobs: pl.DataFrame, run_s: Floats, tries: Ints, last_share: float, rng: np.random.Generator
) -> pl.DataFrame:
    """Lay each job's attempts end to end; all but the last failed."""
    job = np.repeat(np.arange(run_s.size), tries)
    first = np.cumsum(tries) - tries
    attempt = np.arange(job.size) - first[job]
    last = attempt == tries[job] - 1
    # Shares of the run time: the last attempt's own, the others exponential and normalised.
    weight = np.where(last, 0.0, rng.standard_exponential(job.size))
    total = np.bincount(job, weight, run_s.size)
    share = np.where(
        last,
        np.where(tries[job] == 1, 1.0, last_share),
        (1 - last_share) * weight / np.maximum(total[job], 1e-12),
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


def _machines(model: Parts, gpus: int | None) -> pl.DataFrame:
    """Servers of the fitted cluster's sizes, up to the GPUs wanted."""
    servers = model.servers or ((Servers(SERVER_GPUS, 1),) if gpus else ())
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
