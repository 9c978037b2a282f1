"""Pool distributions of several groups into one, weighted by their numbers of values."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from philly_analysis.distributions.arrays import Floats
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
    """

    def __init__(self, parts: Mapping[str, Distribution], weights: Mapping[str, float]) -> None:
        total = sum(weights[name] for name in parts)
        self.parts = dict(parts)
        self.weights = {name: weights[name] / total for name in parts}
        components = list(self.parts.values())

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
        return type(self), (self.parts, self.weights)

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
