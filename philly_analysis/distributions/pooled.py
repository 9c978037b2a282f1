"""Pool distributions of several groups into one, weighted by their numbers of values."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from philly_analysis.distributions.arrays import Floats
from philly_analysis.distributions.confidence import mean_interval, quantile_interval
from philly_analysis.distributions.distribution import OBSERVED_LEVELS, Distribution
from philly_analysis.distributions.fitted import FittedDistribution
from philly_analysis.distributions.mixture import Components, Mixture

if TYPE_CHECKING:
    import pandas as pd

_NEGLIGIBLE = 1e-12


class PooledDistribution(FittedDistribution):
    """The mixture of the distributions of groups, with the methods of a frozen SciPy one.

    Attributes
    ----------
    parts
        The distribution of each group, by its name.
    weights
        Weight of each group, by name; the weights sum to 1.
    effective_n
        Effective sample size of all groups together; None if a group was not fitted to values.
    """

    def __init__(
        self,
        parts: Mapping[str, Distribution],
        weights: Mapping[str, float],
        effective_n: float | None = None,
    ) -> None:
        """Pool distributions.

        Parameters
        ----------
        parts
            The distribution of each group, by its name.
        weights
            Weight of each group, by name.
        effective_n
            Effective sample size; None: the groups' design effects, averaged by weight.
        """
        total = sum(weights[name] for name in parts)
        self.parts = dict(parts)
        self.weights = {name: weights[name] / total for name in parts}
        components = list(self.parts.values())
        self.effective_n = effective_n or self._average_effective_n()

        def of_each(method: str, x: Any) -> Floats:
            return np.concatenate([np.asarray(getattr(d, method)(x)) for d in components], axis=-1)

        self._mixture = Mixture(
            np.asarray([*self.weights.values()]),
            Components(
                lambda x: of_each("pdf", x),
                lambda x: of_each("cdf", x),
                lambda x: of_each("sf", x),
                lambda order: np.asarray([d.moment(order) for d in components]),
                float(min(d.ppf(_NEGLIGIBLE) for d in components)),
                float(max(d.isf(_NEGLIGIBLE) for d in components)),
            ),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.parts, self.weights, self.effective_n)

    def _average_effective_n(self) -> float | None:
        """Return the number of values over the average design effect of the groups."""
        effects = [d.n / d.effective_n if d.effective_n else np.nan for d in self.parts.values()]
        effect = float(np.dot([*self.weights.values()], effects))
        return self.n / effect if effect > 0 else None

    def quantile_interval(self, q: ArrayLike, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """Return confidence intervals: see :meth:`Distribution.quantile_interval`."""
        correlation = max(d.correlation for d in self.parts.values())
        return quantile_interval(self.ppf, q, confidence, self.n, self.effective_n, correlation)

    def mean_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return a confidence interval: see :meth:`Distribution.mean_interval`."""
        return mean_interval(self.mean(), self.std(), confidence, self.effective_n)

    @property
    def n(self) -> int:
        """Number of values fitted to."""
        return sum(d.n for d in self.parts.values())

    @property
    def observed(self) -> Floats:
        """Quantiles of the values at `OBSERVED_LEVELS`, from the quantiles of each group."""
        values = np.concatenate([d.observed for d in self.parts.values()])
        shares = np.concatenate(
            [np.full(len(d.observed), self.weights[g] / 100) for g, d in self.parts.items()]
        )
        order = np.argsort(values, kind="stable")
        below = np.cumsum(shares[order])
        levels = np.asarray(OBSERVED_LEVELS)
        at = np.searchsorted(below, levels[levels <= below[-1] + 1e-9] - 1e-9)
        return np.asarray(values[order][at])

    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Return values with a probability of their own: see :meth:`Distribution.atoms`."""
        masses: dict[float, float] = {}
        for name, distribution in self.parts.items():
            for value, mass in distribution.atoms():
                masses[value] = masses.get(value, 0.0) + self.weights[name] * mass
        return tuple(sorted(masses.items()))

    def frozen(self) -> Mixture:
        """Return the mixture that the methods call."""
        return self._mixture

    def fit_summary(self) -> "pd.DataFrame":
        """Return the fit of each group: see :meth:`Distribution.fit_summary`."""
        import pandas as pd

        frames = [
            d.fit_summary().assign(group=name, weight=self.weights[name])
            for name, d in self.parts.items()
        ]
        table = pd.concat(frames, ignore_index=True)
        return table[["group", "weight", *[c for c in table if c not in ("group", "weight")]]]

    def to_json(self) -> str:
        """Return all fitted numbers as JSON: weights, and the distribution of each group."""
        parts = {name: asdict(d) for name, d in self.parts.items()}
        return json.dumps({"weights": self.weights, "parts": parts})

    def __repr__(self) -> str:
        groups = ", ".join(f"{name} {100 * w:.0f} %" for name, w in self.weights.items())
        return f"PooledDistribution({groups}; n={self.n:,})"

    def _repr_html_(self) -> str:
        return str(self.fit_summary().to_html(index=False, border=0, na_rep=""))
