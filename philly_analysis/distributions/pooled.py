"""Pool distributions of several groups into one, weighted by their numbers of values."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from philly_analysis.distributions.arrays import Floats
from philly_analysis.distributions.distribution import OBSERVED_LEVELS, Distribution
from philly_analysis.distributions.frozen import PositiveDistribution, probabilities
from philly_analysis.distributions.mixture import Components, Mixture
from philly_analysis.errors import SuggestsNames

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NEGLIGIBLE = 1e-12


class PooledDistribution(PositiveDistribution, SuggestsNames):
    """The mixture of the distributions of groups, with the methods of a frozen SciPy one.

    Attributes
    ----------
    parts
        The distribution of each group, by its name.
    weights
        Weight of each, by name; their sum is 1.
    """

    def __init__(self, parts: Mapping[str, Distribution], weights: Mapping[str, float]) -> None:
        total = sum(weights[name] for name in parts)
        self.parts = dict(parts)
        self.weights = {name: weights[name] / total for name in parts}
        each = list(self.parts.values())

        def of_each(method: str, x: Any) -> Floats:
            return np.concatenate([np.asarray(getattr(d, method)(x)) for d in each], axis=-1)

        self._mixture = Mixture(
            np.asarray([*self.weights.values()]),
            Components(
                lambda x: of_each("pdf", x),
                lambda x: of_each("cdf", x),
                lambda x: of_each("sf", x),
                lambda order: np.asarray([d.moment(order) for d in each]),
                float(min(d.ppf(_NEGLIGIBLE) for d in each)),
                float(max(d.isf(_NEGLIGIBLE) for d in each)),
            ),
        )

    @property
    def n(self) -> int:
        """Number of values fitted to."""
        return sum(d.n for d in self.parts.values())

    @property
    def observed(self) -> Floats:
        """Quantiles of the values at `OBSERVED_LEVELS`, from those of the groups."""
        values = np.concatenate([d.observed for d in self.parts.values()])
        shares = np.concatenate(
            [np.full(len(d.observed), self.weights[g] / 100) for g, d in self.parts.items()]
        )
        order = np.argsort(values, kind="stable")
        below = np.cumsum(shares[order])
        levels = np.asarray(OBSERVED_LEVELS)
        at = np.searchsorted(below, levels[levels <= below[-1] + 1e-9] - 1e-9)
        return np.asarray(values[order][at])

    def pdf(self, x: ArrayLike) -> Floats:
        """Return the density at `x`."""
        return self._mixture.pdf(x)

    def cdf(self, x: ArrayLike) -> Floats:
        """Return the probability of at most `x`."""
        return self._mixture.cdf(x)

    def sf(self, x: ArrayLike) -> Floats:
        """Return the probability of more than `x`."""
        return self._mixture.sf(x)

    def ppf(self, q: ArrayLike) -> Floats:
        """Return the quantiles at probabilities `q`; a ModelError outside of 0 to 1."""
        return self._mixture.ppf(probabilities(q))

    def isf(self, q: ArrayLike) -> Floats:
        """Return the quantiles at probabilities 1 - `q`, exact for the smallest `q`."""
        return self._mixture.isf(probabilities(q))

    def moment(self, order: int) -> float:
        """Return a raw moment, infinite if a tail is too heavy."""
        return self._mixture.moment(order)

    def entropy(self) -> float:
        """Return the differential entropy in nats."""
        return self._mixture.entropy()

    def support(self) -> tuple[float, float]:
        """Return the smallest and the largest possible value."""
        return self._mixture.support()

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

    def plot(self, ax: "Axes | None" = None, **line: Any) -> "Figure":
        """Plot the CDF and the data: see :meth:`Distribution.plot`."""
        from philly_analysis.distributions.plotting import plot_cdf

        return plot_cdf(self, ax, **line)

    def __repr__(self) -> str:
        groups = ", ".join(f"{name} {100 * w:.0f} %" for name, w in self.weights.items())
        return f"PooledDistribution({groups}; n={self.n:,})"

    def _repr_html_(self) -> str:
        return str(self.fit_summary().to_html(index=False, border=0, na_rep=""))
