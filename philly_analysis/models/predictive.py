"""The model of another month: every part changed as far as months differ."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from philly_analysis.distributions import rounded, tilted
from philly_analysis.models.between_period import MONTH_D, RUN_TIMES_S, Month, Variation
from philly_analysis.models.components.arrivals import Arrivals
from philly_analysis.models.components.duration import ANY, Duration, DurationCell
from philly_analysis.models.components.gang_size import Gangs, GangSize, VcGangs
from philly_analysis.models.components.intrahour import DIGITS
from philly_analysis.models.components.status import Status
from philly_analysis.models.components.users import Users, VirtualCluster
from philly_analysis.models.parts import Parts
from philly_analysis.study import GANGS, gang_class

Floats = NDArray[np.float64]

_AT = np.log(RUN_TIMES_S)
_BETWEEN = np.exp((_AT[1:] + _AT[:-1]) / 2)
_USUAL = (1, 2, 8, 16)
"""The gang that is likeliest of each class."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be drawn: jobs, days or both, and a factor on the rate."""

    jobs: int | None
    days: float | None
    load: float

    @property
    def possible(self) -> bool:
        """Whether arrivals can grant it; they say why not."""
        given = [v for v in (self.jobs, self.days) if v is not None]
        settled = len(given) == 2 and self.load != 1
        return bool(given) and min(*given, self.load) > 0 and not settled


def months(model: Parts, variation: Variation, seed: int) -> Iterator[Parts]:
    """Draw the models of other months, one after the other; see :meth:`Variation.months`."""
    jobs, work = _kinds(model)
    days, unsteadiness = model.arrivals.hours / 24, model.arrivals.unsteadiness
    for month in variation.months(jobs, work, days, unsteadiness, seed):
        yield _of(model, variation, month)


def by_month(
    model: Parts, variation: Variation, wish: Wish, seed: int
) -> Iterator[tuple[Parts, Wish, float]]:
    """Divide what is to be drawn by months.

    Yields
    ------
    tuple
        The month's model, what is to be drawn of it, and the days that came before.
    """
    # samples are drawn of the leaves: other laws need no months
    duration = replace(model.duration, cells=tuple(_whole(model.duration)))
    coming = months(replace(model, duration=duration), variation, seed)
    if wish.days is None:
        left, from_d = wish.jobs or 0, 0.0
        while left > 0:
            month = next(coming)
            expected = month.arrivals.mean_per_h * wish.load * 24 * MONTH_D
            n = min(left, max(round(expected), 1))
            yield (
                month,
                Wish(n, None if n == left else MONTH_D, wish.load if n == left else 1.0),
                from_d,
            )
            left, from_d = left - n, from_d + MONTH_D
        return
    lengths = np.full(int(np.ceil(wish.days / MONTH_D)), float(MONTH_D))
    lengths[-1] = wish.days - MONTH_D * (lengths.size - 1)
    drawn = [next(coming) for _ in lengths]
    share = np.cumsum(lengths * [month.arrivals.n for month in drawn])
    edges = np.rint((wish.jobs or 0) * share / share[-1]).astype(int)
    for i, (month, days) in enumerate(zip(drawn, lengths.tolist(), strict=True)):
        jobs = None if wish.jobs is None else int(edges[i] - (edges[i - 1] if i else 0))
        if jobs != 0:
            yield month, Wish(jobs, days, wish.load if jobs is None else 1.0), i * float(MONTH_D)


def _kinds(model: Parts) -> tuple[Floats, Floats]:
    """Jobs of each gang class by about how long they ran, and GPU seconds of each such kind."""
    overall = model.gang_size.overall
    of = gang_class(overall.sizes)
    share = np.bincount(of, overall.shares, len(GANGS))
    gpus = np.bincount(of, np.multiply(overall.shares, overall.sizes), len(GANGS))
    ran = np.zeros((len(GANGS), _AT.size))
    for cell in _whole(model.duration):
        ran[GANGS.index(cell.gang)] = np.diff(cell.law.cdf(_BETWEEN), prepend=0, append=1)
    return overall.n * share[:, None] * ran, overall.n * gpus[:, None] * ran * RUN_TIMES_S


def _whole(duration: Duration) -> list[DurationCell]:
    return [c for c in duration.cells if c.vc == c.status == ANY]


def _of(model: Parts, variation: Variation, month: Month) -> Parts:
    """Return the model of one month."""
    rng = np.random.default_rng(month.seed)
    duration, growth = _durations(model.duration, month)
    gangs, of_vc = _gang_sizes(model, growth, variation, month, rng)
    shares = {c.vc: c.share for c in model.users.virtual_clusters}
    factor = {
        vc: of_vc.get(vc, 1.0) * _factor(rng, variation.groups.value * month.scale)
        if len(shares) > 1
        else of_vc.get(vc, 1.0)
        for vc in shares
    }
    jobs = sum(shares[vc] * factor[vc] for vc in shares) / sum(shares.values())
    return replace(
        model,
        arrivals=_arrivals(
            model.arrivals,
            jobs,
            jobs ** (variation.swell.value - 1)
            * float(np.exp(month.log_burstiness + variation.settling(model.arrivals.luck))),
        ),
        gang_size=gangs,
        duration=duration,
        users=_users(model.users, factor, variation, month, jobs, rng),
        status=model.status and _status(model.status, variation, month, rng),
    )


def _factor(rng: np.random.Generator, deviation: float) -> float:
    """Draw a log-normal number of mean 1."""
    return float(np.exp(deviation * rng.standard_normal() - deviation**2 / 2))


def _durations(duration: Duration, month: Month) -> tuple[Duration, Floats]:
    """Return the month's laws of run time, and the factor on the jobs of each gang class."""
    growth = np.full(len(GANGS), np.nan)

    def changed(cells: tuple[DurationCell, ...]) -> tuple[DurationCell, ...]:
        made = []
        for cell in cells:
            i = GANGS.index(cell.gang)
            law, mean = tilted(cell.law, partial(_between, month.log_jobs[i]))
            if cell.vc == cell.status == ANY:
                growth[i] = mean
            made.append(replace(cell, law=law))
        return tuple(made)

    changed_to = replace(duration, cells=changed(duration.cells), leaves=changed(duration.leaves))
    whole = np.exp(month.log_jobs.mean(axis=1))
    return changed_to, np.where(np.isnan(growth), whole, growth)


def _between(log_jobs: Floats, log_run_s: Floats) -> Floats:
    return np.asarray(np.interp(log_run_s, _AT, log_jobs))


def _gang_sizes(
    model: Parts, growth: Floats, variation: Variation, month: Month, rng: np.random.Generator
) -> tuple[GangSize, dict[str, float]]:
    """Return the month's gang sizes, and the factor on the jobs of each virtual cluster."""
    law = model.gang_size
    seen = set(gang_class(law.overall.sizes).tolist())
    most = model.gpus or max(_USUAL)
    kinds = variation.of_kinds(model.arrivals.hours / 24, model.arrivals.unsteadiness)
    noise = month.scale * kinds * rng.standard_normal(len(GANGS))
    new = {
        _USUAL[i]: float(variation.unseen.value / max(law.overall.n, 1) * growth[i] * np.exp(e))
        for i, e in enumerate(noise)
        if i not in seen and _USUAL[i] <= most and law.overall.n
    }

    sizes_of, was = gang_class(law.overall.sizes), np.asarray(law.overall.shares)
    among = np.exp(month.scale * variation.sizes.value * rng.standard_normal(was.size))
    # a class has its jobs, whichever size they are of
    then = np.bincount(sizes_of, was * among, len(GANGS))[sizes_of]
    among *= np.bincount(sizes_of, was, len(GANGS))[sizes_of] / np.maximum(then, 1e-300)

    def changed(gangs: Gangs) -> tuple[Gangs, float]:
        sizes = np.array([*gangs.sizes, *new], int)
        weight = np.array([*gangs.shares, *new.values()])
        size = np.searchsorted(law.overall.sizes, gangs.sizes)
        weight[: size.size] *= (among * growth[sizes_of])[size]
        order, total = np.argsort(sizes), float(weight.sum())
        shares = tuple((weight[order] / total).tolist())
        return Gangs(tuple(sizes[order].tolist()), shares, shares, shares, gangs.n), total

    made = {entry.vc: changed(entry.gangs) for entry in law.by_vc}
    by_vc = tuple(VcGangs(vc, gangs) for vc, (gangs, _) in made.items())
    return GangSize(changed(law.overall)[0], by_vc), {vc: total for vc, (_, total) in made.items()}


def _arrivals(arrivals: Arrivals, jobs: float, burstiness: float) -> Arrivals:
    """Return arrivals of so many times the jobs, and their dispersion beyond that."""
    rate, counts = arrivals.mean_per_h * jobs, np.asarray(arrivals.count_quantiles)
    levels = np.asarray(arrivals.count_levels)

    def stretched(power: float) -> tuple[Floats, float]:
        """Return the law of counts with the month's mean, busy hours busier; its dispersion."""
        made = np.maximum(counts, 0.02) ** power
        middle, width = (made[1:] + made[:-1]) / 2, np.diff(levels)
        mean = float((middle * width).sum() / width.sum())
        made, middle = made * rate / mean, middle * rate / mean
        return made, float((middle**2 * width).sum() / width.sum() - rate**2) / rate

    wanted = max(stretched(1.0)[1] * burstiness, 0.5)
    low, high = 0.05, 4.0
    for _ in range(20):
        power = (low + high) / 2
        low, high = (power, high) if stretched(power)[1] < wanted else (low, power)
    made, _ = stretched((low + high) / 2)
    return replace(
        arrivals,
        n=max(round(arrivals.n * jobs), 1),
        rate_per_h=rounded(np.asarray(arrivals.rate_per_h) * jobs, DIGITS),
        count_quantiles=tuple(made.tolist()),
        gaps_s=rounded(np.asarray(arrivals.gaps_s) / jobs, DIGITS),
        dispersion=arrivals.dispersion * jobs * burstiness,
    )


def _users(
    users: Users,
    factor: dict[str, float],
    variation: Variation,
    month: Month,
    growth: float,
    rng: np.random.Generator,
) -> Users:
    """Return the month's users: some left, others came, and each is as active as it happens.

    Who left keeps its place with a share of 0, so that the others keep their names. Who comes is
    like one who may leave, in all of its virtual clusters: those who submit little come and go.
    """
    active = users.by_user
    there = list(active)
    likes: dict[str, list[str]] = {}
    stay = dict.fromkeys(there, True)
    if users.named:
        jobs = np.maximum(np.array(list(active.values())) * users.n, 1.0)
        leaves = np.minimum(variation.leaving.value * jobs**-variation.settled.value, 1.0)
        stay = dict(zip(there, (rng.random(len(there)) >= leaves).tolist(), strict=True))
        crowd = _factor(rng, variation.crowd.value * month.scale)
        crowd *= growth ** (1 - variation.swell.value)
        come = int(rng.poisson(variation.coming.value * leaves.sum() * crowd))
        if not any(stay.values()) and not come:
            stay = dict.fromkeys(there, True)
        for i, like in enumerate(rng.choice(there, come, p=leaves / leaves.sum()).tolist()):
            home = like.rpartition("-u")[0]
            likes.setdefault(like, []).append(f"{home}-u{len(there) + i + 1:03d}")
    made = []
    for cluster in users.virtual_clusters:
        share = np.array(
            [s * stay[name] for name, s in zip(cluster.names, cluster.user_shares, strict=True)]
        )
        names = cluster.names
        if users.named:
            new = [
                (name, s)
                for like, s in zip(cluster.names, cluster.user_shares, strict=True)
                for name in likes.get(like, ())
            ]
            names = (*names, *(name for name, _ in new))
            share = np.concatenate((share, [s for _, s in new]))
            deviation = variation.users.value * month.scale
            share = share**variation.constancy.value
            share *= np.exp(deviation * rng.standard_normal(share.size))
            left = float(share.sum())
            here = left > 0 or len(users.virtual_clusters) == 1
            share = (share if left > 0 else np.asarray(cluster.user_shares)) * (
                cluster.share / (left or cluster.share) * (1.0 if here else 1e-9)
            )
        made.append(VirtualCluster(cluster.vc, tuple((share * factor[cluster.vc]).tolist()), names))
    return replace(users, virtual_clusters=tuple(made))


def _status(status: Status, variation: Variation, month: Month, rng: np.random.Generator) -> Status:
    """Return the month's endings: some ways are more frequent everywhere."""
    n = len(status.cells[0].shares)
    weight = np.exp(variation.endings.value * month.scale * rng.standard_normal(n))
    made = []
    for cell in status.cells:
        shares = np.asarray(cell.shares) * weight
        made.append(replace(cell, shares=tuple((shares / shares.sum()).tolist())))
    return replace(status, cells=tuple(made))
