"""Predictive distribution of models: the fitted parts with the effects of another period."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from philly_analysis.distributions import Floats, round_significant, tilt
from philly_analysis.models.between_period import PERIOD_D, PeriodEffects, Variation
from philly_analysis.models.components.arrivals import Arrivals
from philly_analysis.models.components.duration import ANY, Duration, DurationCell
from philly_analysis.models.components.gang_size import GangSize, GangSizeDistribution, VcGangSizes
from philly_analysis.models.components.intrahour import DIGITS
from philly_analysis.models.components.status import Status
from philly_analysis.models.components.users import Users, VirtualCluster
from philly_analysis.models.parts import Parts
from philly_analysis.models.weekly_jobs import EDGES_S, LOG_RUN_S, RUN_TIMES_S
from philly_analysis.study import GANGS, gang_class

_TYPICAL_GANGS = (1, 2, 8, 16)  # the likeliest gang size of each class


@dataclass(frozen=True, slots=True)
class SampleSize:
    """Size of a sample: jobs, days or both, and a factor on the rate."""

    jobs: int | None
    days: float | None
    load: float


def predictive_models(
    model: Parts, variation: Variation, seed: int, length_d: float = PERIOD_D
) -> Iterator[Parts]:
    """Draw the models of successive periods of a length; see :meth:`Variation.periods`."""
    jobs, gpu_s = jobs_and_gpu_s(model)
    days, daily_change = model.arrivals.hours / 24, model.arrivals.daily_change
    for effects in variation.periods(
        jobs, gpu_s, days, daily_change, seed, length_d=length_d, site=model.site
    ):
        yield _apply(model, variation, effects)


def next_periods(model: Parts, draws: int) -> list[Parts]:
    """Draw independent models of the next period, as samples with seeds from 0 have them.

    Successive periods of one seed share the deviation of the fitted period. A model without
    variation has none.
    """
    if model.variation is None:
        return []
    return [next(predictive_models(model, model.variation, seed)) for seed in range(draws)]


def by_period(
    model: Parts, variation: Variation, size: SampleSize, seed: int
) -> Iterator[tuple[Parts, SampleSize, float]]:
    """Divide a sample into periods.

    Yields
    ------
    tuple
        The period's model, the size of its sample, and the day on which it starts.
    """
    # samples use the leaves only: periods need no other conditional distributions
    duration = replace(model.duration, cells=model.duration.by_gang)
    rate = 24 * model.arrivals.rate * size.load
    length_d = min(size.days or (size.jobs or 1) / rate, PERIOD_D)
    models = predictive_models(replace(model, duration=duration), variation, seed, length_d)
    if size.days is None:
        jobs_to_draw, from_d = size.jobs or 0, 0.0
        while jobs_to_draw > 0:
            period = next(models)
            expected = period.arrivals.rate * size.load * 24 * PERIOD_D
            n = min(jobs_to_draw, max(round(expected), 1))
            last = n == jobs_to_draw
            yield period, SampleSize(n, *((None, size.load) if last else (PERIOD_D, 1.0))), from_d
            jobs_to_draw, from_d = jobs_to_draw - n, from_d + PERIOD_D
        return
    lengths = np.full(int(np.ceil(size.days / PERIOD_D)), float(PERIOD_D))
    lengths[-1] = size.days - PERIOD_D * (lengths.size - 1)
    drawn = [next(models) for _ in lengths]
    share = np.cumsum(lengths * [period.arrivals.n for period in drawn])
    edges = np.rint((size.jobs or 0) * share / share[-1]).astype(int)
    counts = np.diff(edges, prepend=0).tolist()
    for i, (period, days) in enumerate(zip(drawn, lengths.tolist(), strict=True)):
        if size.jobs is None:
            yield period, SampleSize(None, days, size.load), i * float(PERIOD_D)
        elif counts[i]:
            yield period, SampleSize(counts[i], days, 1.0), i * float(PERIOD_D)


def jobs_and_gpu_s(model: Parts) -> tuple[Floats, Floats]:
    """Return the jobs, and the GPU seconds, of each gang class (rows) and run time (columns)."""
    overall = model.gang_size.overall
    index = gang_class(overall.sizes)
    share = np.bincount(index, overall.shares, len(GANGS))
    gpus = np.bincount(index, np.multiply(overall.shares, overall.sizes), len(GANGS))
    ran = np.zeros((len(GANGS), len(RUN_TIMES_S)))
    for cell in model.duration.by_gang:
        at_most = cell.distribution.cdf(EDGES_S)
        ran[GANGS.index(cell.gang)] = np.diff(at_most, prepend=0, append=1)
    n = max(overall.n, 1)  # 0: of a generator, which was fitted to none
    return n * share[:, None] * ran, n * gpus[:, None] * ran * RUN_TIMES_S


def _apply(model: Parts, variation: Variation, effects: PeriodEffects) -> Parts:
    """Return the model of one period."""
    rng = np.random.default_rng(effects.seed)
    duration, growth = _durations(model.duration, effects)
    gangs, vc_growth = _gang_sizes(model, growth, variation, effects, rng)
    shares = {c.vc: c.share for c in model.users.virtual_clusters}
    factor = {vc: vc_growth.get(vc, 1.0) for vc in shares}
    jobs = float(np.exp(effects.log_total))
    if len(shares) > 1:
        weight = np.array([shares[vc] * f for vc, f in factor.items()])
        normal = rng.standard_normal(weight.size)
        log_sd = variation.vc_sd.value * np.array([effects.class_scale, effects.jobs_scale])
        by_vc, of_jobs = np.exp(log_sd[:, None] * normal - log_sd[:, None] ** 2 / 2)
        jobs *= float(weight @ of_jobs / weight.sum())
        factor = {vc: f * of_vc for (vc, f), of_vc in zip(factor.items(), by_vc, strict=True)}
    total = sum(shares[vc] * factor[vc] for vc in shares) / sum(shares.values())
    factor = {vc: float(f * jobs / total) for vc, f in factor.items()}
    correction = variation.log_dispersion_correction(model.arrivals.log_dispersion_se)
    dispersion = float(np.exp(effects.log_dispersion + correction))
    dispersion *= jobs ** (variation.dispersion_power.value - 1)
    return replace(
        model,
        arrivals=_arrivals(model.arrivals, jobs, dispersion),
        gang_size=gangs,
        duration=duration,
        users=_users(model.users, factor, variation, effects, jobs, rng),
        status=model.status and _status(model.status, variation, effects, rng),
    )


def _lognormal_factor(rng: np.random.Generator, deviation: float) -> float:
    """Draw a log-normal number of mean 1."""
    return float(np.exp(deviation * rng.standard_normal() - deviation**2 / 2))


def _durations(duration: Duration, effects: PeriodEffects) -> tuple[Duration, Floats]:
    """Return the period's run times, and the factor on the jobs of each gang class."""
    growth = np.exp(effects.log_jobs.mean(axis=1))

    def tilted(cells: tuple[DurationCell, ...]) -> tuple[DurationCell, ...]:
        made = []
        for cell in cells:
            i = GANGS.index(cell.gang)
            log_jobs = partial(np.interp, xp=LOG_RUN_S, fp=effects.log_jobs[i])
            distribution, mean = tilt(cell.distribution, log_jobs)  # type: ignore[arg-type]
            if cell.vc == cell.status == ANY:
                growth[i] = mean
            made.append(replace(cell, distribution=distribution))
        return tuple(made)

    return replace(duration, cells=tilted(duration.cells), leaves=tilted(duration.leaves)), growth


def _gang_sizes(
    model: Parts,
    growth: Floats,
    variation: Variation,
    effects: PeriodEffects,
    rng: np.random.Generator,
) -> tuple[GangSize, dict[str, float]]:
    """Return the period's gang sizes, and the factor on the jobs of each virtual cluster."""
    overall = model.gang_size.overall
    classes, shares = gang_class(overall.sizes), np.asarray(overall.shares)
    largest = model.cluster_gpus or max(_TYPICAL_GANGS)
    class_sd = variation.class_deviation(model.arrivals.daily_change)
    noise = effects.class_scale * class_sd * rng.standard_normal(len(GANGS))
    share_of_new = variation.unseen_class_jobs.value / max(overall.n, 1) * growth * np.exp(noise)
    unseen = {
        gang: float(share_of_new[i])
        for i, gang in enumerate(_TYPICAL_GANGS)
        if i not in classes and gang <= largest and overall.n
    }
    factor = np.exp(
        effects.class_scale * variation.size_sd.value * rng.standard_normal(shares.size)
    )
    # the jobs of a class stay the same, whatever their sizes
    before, after = (np.bincount(classes, w, len(GANGS)) for w in (shares, shares * factor))
    factor *= before[classes] / np.maximum(after[classes], 1e-300)

    def changed(gangs: GangSizeDistribution) -> tuple[GangSizeDistribution, float]:
        sizes = np.array([*gangs.sizes, *unseen], int)
        weight = np.array([*gangs.shares, *unseen.values()])
        index = np.searchsorted(overall.sizes, gangs.sizes)
        weight[: index.size] *= (factor * growth[classes])[index]
        order, total = np.argsort(sizes), float(weight.sum())
        shares = tuple((weight[order] / total).tolist())
        ascending = tuple(sizes[order].tolist())
        return GangSizeDistribution(ascending, shares, shares, shares, gangs.n), total

    made = {entry.vc: changed(entry.gangs) for entry in model.gang_size.by_vc}
    by_vc = tuple(VcGangSizes(vc, gangs) for vc, (gangs, _) in made.items())
    return GangSize(changed(overall)[0], by_vc), {vc: total for vc, (_, total) in made.items()}


def _arrivals(arrivals: Arrivals, jobs: float, dispersion: float) -> Arrivals:
    """Return arrivals with a factor on the jobs, and one on the dispersion per job."""
    rate, counts = arrivals.rate * jobs, np.asarray(arrivals.count_quantiles)
    levels = np.asarray(arrivals.count_levels)

    def stretched(power: float) -> tuple[Floats, float]:
        """Return powers of the counts with the period's mean, and their dispersion."""
        made = np.maximum(counts, 0.02) ** power
        middle, width = (made[1:] + made[:-1]) / 2, np.diff(levels)
        mean = float((middle * width).sum() / width.sum())
        made, middle = made * rate / mean, middle * rate / mean
        return made, float((middle**2 * width).sum() / width.sum() - rate**2) / rate

    wanted = max(stretched(1.0)[1] * dispersion, 0.5)
    low, high = 0.05, 4.0
    for _ in range(20):
        power = (low + high) / 2
        low, high = (power, high) if stretched(power)[1] < wanted else (low, power)
    made, _ = stretched((low + high) / 2)
    return replace(
        arrivals,
        n=max(round(arrivals.n * jobs), 1),
        rate_per_h=round_significant(np.asarray(arrivals.rate_per_h) * jobs, DIGITS),
        count_quantiles=tuple(made.tolist()),
        gaps_s=round_significant(np.asarray(arrivals.gaps_s) / jobs, DIGITS),
        dispersion=arrivals.dispersion * jobs * dispersion,
    )


def _users(
    users: Users,
    factor: dict[str, float],
    variation: Variation,
    effects: PeriodEffects,
    growth: float,
    rng: np.random.Generator,
) -> Users:
    """Return the period's users: some left, some are new, and activities changed.

    Users who left keep a share of 0, so that the names of the other users stay. A new user
    resembles a user drawn by the probability of leaving, in all virtual clusters of that user.
    """
    if not users.named:
        scaled = (
            replace(c, user_shares=tuple((np.array(c.user_shares) * factor[c.vc]).tolist()))
            for c in users.virtual_clusters
        )
        return replace(users, virtual_clusters=tuple(scaled))
    names, activity = zip(*users.by_user.items(), strict=True)
    jobs = np.maximum(np.array(activity) * users.n, 1.0)
    leaves = variation.leave_probability.value * jobs**-variation.leave_power.value
    leaves = np.minimum(leaves, 1.0)
    stays = rng.random(len(names)) >= leaves
    crowd = _lognormal_factor(rng, variation.new_user_sd.value * effects.scale)
    crowd *= growth ** (1 - variation.dispersion_power.value)
    new = int(rng.poisson(variation.new_user_ratio.value * leaves.sum() * crowd))
    if not stays.any() and not new:
        stays[:] = True
    stay = dict(zip(names, stays.tolist(), strict=True))
    similar: dict[str, list[str]] = {}
    for i, like in enumerate(rng.choice(names, new, p=leaves / leaves.sum()).tolist()):
        home = like.rpartition("-u")[0]
        similar.setdefault(like, []).append(f"{home}-u{len(names) + i + 1:03d}")
    deviation = variation.user_sd.value * effects.scale
    made = []
    for cluster in users.virtual_clusters:
        by_name = list(zip(cluster.names, cluster.user_shares, strict=True))
        by_name += [(name, s) for like, s in by_name for name in similar.get(like, ())]
        share = np.array([s * stay.get(name, True) for name, s in by_name])
        share = share**variation.user_persistence.value
        share *= np.exp(deviation * rng.standard_normal(share.size))
        total = float(share.sum())
        # without users left, a virtual cluster keeps its shares, of next to no jobs
        active = total > 0 or len(users.virtual_clusters) == 1
        share = (share if total > 0 else np.asarray(cluster.user_shares)) * (
            cluster.share / (total or cluster.share) * (1.0 if active else 1e-9)
        )
        shares = tuple((share * factor[cluster.vc]).tolist())
        made.append(VirtualCluster(cluster.vc, shares, tuple(name for name, _ in by_name)))
    return replace(users, virtual_clusters=tuple(made))


def _status(
    status: Status, variation: Variation, effects: PeriodEffects, rng: np.random.Generator
) -> Status:
    """Return the period's final statuses: a factor on each, the same in all cells."""
    n = len(status.cells[0].shares)
    weight = np.exp(variation.status_sd.value * effects.class_scale * rng.standard_normal(n))
    made = []
    for cell in status.cells:
        shares = np.asarray(cell.shares) * weight
        made.append(replace(cell, shares=tuple((shares / shares.sum()).tolist())))
    return replace(status, cells=tuple(made))
