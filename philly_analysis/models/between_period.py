"""How much another month differs from the one that was fitted, as learned across clusters."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from philly_analysis.study import GANGS

Floats = NDArray[np.float64]

MONTH_D = 28
"""Days that are alike: a longer sample is several months."""

RUN_TIMES_S = (60.0, 300.0, 1_500.0, 7_200.0, 36_000.0, 216_000.0)
"""Run times at which changes are drawn; between them they are interpolated."""

FARTHEST = 5.0
"""Nothing grows or shrinks beyond e^5, 150 times."""

FARTHEST_LUCK = 1.5
"""No dispersion rests on less."""

STEADIEST, UNSTEADIEST = 0.1, 5.0
"""No days are taken to change less, or more."""

_HOUR = np.log(3_600.0)


@dataclass(frozen=True, slots=True)
class Learned:
    """A number, and where it lies with 90 % when other clusters are learned from (a bootstrap)."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Month:
    """One month that might have been.

    Attributes
    ----------
    log_jobs
        Shape (gang classes, run times): natural logarithm of the factor on the jobs of a gang
        class that run as long as `RUN_TIMES_S` says.
    log_burstiness
        Of the factor on the dispersion of hourly arrivals, beyond what more jobs bring.
    scale
        How eventful the month is: factor on every standard deviation.
    seed
        Of what is drawn of users and endings.
    """

    log_jobs: Floats
    log_burstiness: float
    scale: float
    seed: int


@dataclass(frozen=True, slots=True)
class Variation:
    """What changes from one month to another, level by level.

    A period changes how many jobs there are of each *kind*: of a gang class and about a run time.
    The logarithms of these factors are normal, given how eventful the period is. Standard
    deviations are of natural logarithms.

    Attributes
    ----------
    activity
        Standard deviation of the number of jobs, of all kinds alike.
    kinds
        Of the jobs of one gang class and about one run time, from one period of `MONTH_D` to
        another, where days change by a factor e; gang classes change apart.
    trade
        Of the GPU time that some kinds gain or lose, the share that all kinds lose or gain, as the
        cluster has no more GPUs: 0 is nothing, 1 leaves GPU time to `activity` alone.
    reach
        Natural logarithm of the factor between run times at which 37 % of the correlation is left.
    fall
        By how much a factor e of run time changes the logarithm of these deviations; they are as
        given at an hour.
    swell
        Power with which the dispersion of hourly arrivals grows with the jobs: 0 where more jobs
        are more bursts, 1 where they are larger ones.
    burstiness
        Standard deviation of that dispersion beyond what more jobs bring, from one period of
        `MONTH_D` to another; from fewer days it is more, as much of theirs was luck.
    usual, settles
        Standard error of a window's dispersion (`Arrivals.luck`) at which the next is as
        dispersed, and by how much it is less by each 1 above: what rests on a few days was luck.
    freedom
        Degrees of freedom: how eventful periods are is that of a t law.
    groups
        Standard deviation of the activity of a virtual cluster.
    constancy
        Power of a user's activity that is left the next time: 0 is none, 1 all.
    users
        Standard deviation of what is new in a user's activity.
    leaving, settled
        Probability that a user of one job submits nothing any more, and the power of its jobs by
        which it is less for others.
    coming
        New users, over those expected to leave.
    crowd
        Standard deviation of how many users come.
    endings
        Standard deviation of how often jobs end one way.
    unseen
        Jobs expected of a gang class of which none was seen.
    learned_on
        From what, in a sentence.
    unsteady
        Power of how much days change (`Arrivals.unsteadiness`) with which kinds change more.
    sizes
        Standard deviation of the jobs of one gang size among those of its class.
    brief
        Power of how many times shorter than `MONTH_D` a period is with which kinds change more.
    centre
        What of half its variance the logarithm of the jobs of a kind falls: at 0 the fitted jobs
        are the median of those drawn, at 1 their mean. Models that were saved before know none of
        these four: 0.
    """

    activity: Learned
    kinds: Learned
    trade: Learned
    reach: Learned
    fall: Learned
    swell: Learned
    burstiness: Learned
    usual: Learned
    settles: Learned
    freedom: Learned
    groups: Learned
    constancy: Learned
    users: Learned
    leaving: Learned
    settled: Learned
    coming: Learned
    crowd: Learned
    endings: Learned
    unseen: Learned
    learned_on: str
    unsteady: Learned = Learned(0.0, 0.0, 0.0)
    sizes: Learned = Learned(0.0, 0.0, 0.0)
    brief: Learned = Learned(0.0, 0.0, 0.0)
    centre: Learned = Learned(0.0, 0.0, 0.0)

    def but(self, **values: float) -> Self:
        """Return the same with other values of some parameters."""
        changed: dict[str, Any] = {name: Learned(v, v, v) for name, v in values.items()}
        return replace(self, **changed)

    def settling(self, luck: float) -> float:
        """Return the logarithm of the factor on dispersion that undoes what was luck."""
        luck = min(luck, FARTHEST_LUCK)
        return self.settles.value * (self.usual.value - luck)

    def of_kinds(self, days: float, unsteadiness: float) -> float:
        """Return the standard deviation of kinds, given how many days there were and how alike."""
        change = float(np.clip(unsteadiness, STEADIEST, UNSTEADIEST))
        by_day = float(np.power(change, self.unsteady.value))
        return self.kinds.value * by_day * float(np.power(_shorter(days), self.brief.value))

    def unevenness(self, days: float) -> float:
        """Return the standard deviation of burstiness from so many days to the next month."""
        return self.burstiness.value * float(np.sqrt((1 + _shorter(days)) / 2))

    def months(
        self, jobs: Floats, work: Floats, days: float, unsteadiness: float, seed: int
    ) -> Iterator[Month]:
        """Draw months, one after the other.

        Half of what is unlike the fitted month is so in all of them: it was the fitted one that
        was unusual.

        Parameters
        ----------
        jobs
            Shape (gang classes, run times): jobs of each kind that were fitted to. Few of them
            say little of how many there are.
        work
            Of the same shape: GPU time that they took, in any unit.
        days, unsteadiness
            How long the fitted month was, and how much its days changed
            (`Arrivals.unsteadiness`).
        seed
            The same seed gives the same months.
        """
        rng = np.random.default_rng((seed, MONTH_D))
        at = np.log(RUN_TIMES_S)
        near = np.exp(-np.abs(at[:, None] - at) / self.reach.value)
        alike = np.linalg.cholesky(near)
        deviation = np.exp(self.fall.value * (at - _HOUR))
        freedom = self.freedom.value
        scale = float(np.sqrt(freedom / rng.chisquare(freedom)))
        own = np.sqrt(2 / (jobs + 0.5))
        share = work / max(float(work.sum()), 1e-9)
        unevenness, kinds = self.unevenness(days), self.of_kinds(days, unsteadiness)
        always = self._effects(rng)
        while True:
            now = self._effects(rng)
            every, by_kind, count, burst = (
                np.sqrt(0.5) * (a + b) for a, b in zip(always, now, strict=True)
            )
            spread = scale * deviation * kinds
            mix = spread * (by_kind @ alike.T) + own * count - self.centre.value / 2 * spread**2
            gained = np.log(max(float((share * np.exp(mix)).sum()), 1e-9)) if share.any() else 0.0
            log_jobs = scale * self.activity.value * every + mix - self.trade.value * gained
            yield Month(
                np.clip(log_jobs, -FARTHEST, FARTHEST),
                float(np.clip(scale * unevenness * burst[0], -FARTHEST, FARTHEST)),
                scale,
                int(rng.integers(2**62)),
            )

    @staticmethod
    def _effects(rng: np.random.Generator) -> tuple[Floats, ...]:
        kinds = (len(GANGS), len(RUN_TIMES_S))
        return tuple(rng.standard_normal(shape) for shape in ((1,), kinds, kinds, (1,)))


def _shorter(days: float) -> float:
    """Return how many times shorter than a month so many days are: 1 at least."""
    return MONTH_D / min(days, MONTH_D)


LEARNED = Variation(
    activity=Learned(0.27, 0.26, 0.34),
    kinds=Learned(0.8, 0.71, 0.9),
    trade=Learned(0.5, 0.44, 0.56),
    reach=Learned(0.88, 0.83, 1.1),
    fall=Learned(-0.088, -0.12, -0.074),
    swell=Learned(0.5, 0.46, 0.9),
    burstiness=Learned(0.4, 0.2, 0.4),
    usual=Learned(0.3, 0.24, 0.6),
    settles=Learned(0.5, 0.25, 0.71),
    freedom=Learned(12.0, 11.0, 13.0),
    groups=Learned(0.5, 0.25, 1),
    constancy=Learned(0.7, 0.63, 0.75),
    users=Learned(1.3, 1.2, 1.3),
    leaving=Learned(0.4, 0.33, 0.48),
    settled=Learned(0.23, 0.17, 0.28),
    coming=Learned(1.4, 1.3, 1.6),
    crowd=Learned(0.33, 0.19, 0.33),
    endings=Learned(0.4, 0.2, 0.8),
    unseen=Learned(0.33, 0.25, 0.33),
    learned_on="consecutive windows of 21 lists of jobs of 14 sites: six with GPUs (Philly, ITP, "
    "openb, the MIT SuperCloud, Helios and ThetaGPU) and eight supercomputers of the Parallel "
    "Workloads Archive",
    unsteady=Learned(0.47, 0.37, 0.53),
    sizes=Learned(0.35, 0.31, 0.42),
    brief=Learned(0.26, 0.21, 0.29),
    centre=Learned(0.32, 0.25, 0.51),
)
"""What was learned across clusters.

The numbers were chosen by the interval scores of consecutive windows of those lists, those of
dispersion by the likelihood of its changes. Six other lists judge (`data/coverage.py`), all of
sites that were learned from; no number was chosen by them. `data/left_out.py` learns the numbers
without each site, from a start that no list chose.

What run times, gang sizes and the load depend on (activity, kinds, unsteady, brief, centre, sizes,
trade, reach, fall, freedom) was learned all together, by `data/reweighted.py`, on pairs of windows
of 5 to 28 days; the ranges are of bootstraps of whole lists. What is best on the lists learned on
is less than what another cluster needs: kinds are scaled by the factor that covers what is
promised of each site under the law of the others, sites alike. An effect of a run time on all gang
classes, or of a class on all its run times, scored worse than none; so did heavier tails: a scale
for each gang class, or each kind. Kinds trade GPU time, and not jobs: GPU time changes less than
the number of jobs (0.49 and 0.84, root mean squares of logarithms, on the lists of GPU clusters).

Short windows change more than long ones. With `brief` the mean squares of the normal scores of
windows' run times, 1 where intervals are as wide as they should be, are 1.2, 1.1, 1.0 and 1.0 at 5,
7, 14 and 28 days, and without it 1.6, 1.4, 1.0 and 0.8; of gang sizes 1.0, 1.2, 1.0 and 0.9, and
1.4, 1.4, 1.0 and 0.7 (27 lists, on months that are reweighted; kinds alike at two weeks). Without
`centre` drawn months have too many short jobs: 45 % of them have fewer than the next window, and
with it 48 %, where half should.

How far a window's halves are apart tells little of how far the next will be, but how much its days
change tells something of its kinds: laws with `unsteady` that were learned without a site cover
more of it and score better. Of some twenty forms that were tried so, this is the simplest of the
best. As good are the days' evenness as a whole, n days of jobs being worth (sum)^2 / sum of
squares, and the days that each kind by itself is worth, in place of its jobs; users' days, hours
and sessions told less, and so did the dispersion's luck (`Arrivals.luck`). Both together were no
better, nor was a number of jobs that come as one.

Of users (constancy, users, leaving, settled, coming, crowd) the numbers and ranges are of the
likelihood of each user's next window (`data/turnover.py`, bootstraps of the twelve lists that name
users); crowd stands at the end of its range: with 0.28 the number of users was covered in 84 % on
these lists. Of swell, burstiness, usual, settles, groups, endings and unseen the ranges are what
one run of `data/learn_variation.py` printed, which tries no more than half and twice of what stood;
what stood outside of its range was moved into it.

Most lists of GPUs are of a few sites and years: intervals from bootstraps of lists are narrower
than those of clusters elsewhere.
"""
