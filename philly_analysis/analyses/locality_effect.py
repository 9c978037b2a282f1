"""What spreading a gang over more servers than it needs does to its GPUs' utilisation.

No experiment: the scheduler chose whom to spread, and what made it choose (a full cluster) may
lower use as well. Few strata have both spread and packed attempts, so that intervals are wide.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from philly_analysis.results import Fact, Result, count, figures
from philly_analysis.trace import Trace

QUESTION = "Does spreading a gang over more servers than it needs leave its GPUs less busy?"
NEEDS = ("jobs", "attempts", "placements", "machines", "gpu_samples")

RESAMPLES = 2_000
SEED = 20190710
"""Of the resampling, so that a trace has one answer."""

FEWEST_USERS = 5
"""Users with fewer than this on either side make no interval."""

_AMONG = {
    "all": "of any tenancy",
    "alone": "alone on their servers",
    "with co-tenants": "with others on their servers",
}
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Effect:
    """How much busier or less busy spread gangs are than packed ones of the same kind.

    Attributes
    ----------
    packed_pct, spread_pct
        Mean utilisation, strata weighted by the GPU-minutes of their spread gangs.
    effect_pct
        Their difference, spread less packed, in points; NaN where nothing compares.
    low_pct, high_pct
        95 % interval of it; NaN with too few users.
    strata
        Combinations of gang size and status that have both kinds.
    """

    packed_pct: float
    spread_pct: float
    effect_pct: float
    low_pct: float
    high_pct: float
    strata: int


def compute(trace: Trace) -> Result:
    """Estimate the effect over strata of gang size and status, with and without co-tenants."""
    cells = trace.answer("locality_effect").df()
    rng = np.random.default_rng(SEED)
    tenancy = {
        "all": cells,
        "alone": cells[~cells["co_tenants"].astype(bool)],
        "with co-tenants": cells[cells["co_tenants"].astype(bool)],
    }
    rows = []
    for among, some in tenancy.items():
        for gpus in (None, *sorted(some["gpus"].unique())):
            part = some if gpus is None else some[some["gpus"] == gpus]
            part = compared(part)
            if part.empty:
                continue
            effect = effect_of_spread(part, rng)
            arms = part.groupby("spread")[["attempts", "minutes"]].sum()
            users = part.groupby("spread")["user"].nunique()
            rows.append(
                {
                    "among": among,
                    "gpus": gpus,
                    "strata": effect.strata,
                    "packed_attempts": int(arms["attempts"][False]),
                    "spread_attempts": int(arms["attempts"][True]),
                    "packed_users": int(users[False]),
                    "spread_users": int(users[True]),
                    "packed_pct": effect.packed_pct,
                    "spread_pct": effect.spread_pct,
                    "effect_pct": effect.effect_pct,
                    "low_pct": effect.low_pct,
                    "high_pct": effect.high_pct,
                }
            )
    table = pd.DataFrame(rows, columns=_COLUMNS).astype({"gpus": "Int64"})
    whole = {str(row["among"]): row for _, row in table[table["gpus"].isna()].iterrows()}
    facts = [
        Fact(f"{name}_{among.replace(' ', '_').replace('-', '_')}_pct", row[column], meaning)
        for among, row in whole.items()
        for name, column, meaning in (
            ("effect", "effect_pct", f"points, spread less packed gangs {_AMONG[among]}"),
            ("effect_low", "low_pct", "lower end of its 95 % interval"),
            ("effect_high", "high_pct", "upper end of its 95 % interval"),
        )
    ]
    return Result(
        name="locality_effect",
        table=table,
        facts=tuple(facts),
        sentences=tuple(_say(among, row) for among, row in whole.items())
        or ("No gang size and status has both spread and packed attempts: nothing compares.",),
        caveats=(
            "Spread: on more servers than the fewest that hold the gang. Compared within the same "
            "exact gang size and status, each pair weighted by the GPU-minutes of its spread "
            "attempts; pairs without both kinds are left out.",
            f"Intervals: {RESAMPLES:,} resamplings of whole users, since a user's attempts are "
            "alike. Not an experiment: schedulers choose whom to spread.",
        ),
    )


_COLUMNS = [
    "among",
    "gpus",
    "strata",
    "packed_attempts",
    "spread_attempts",
    "packed_users",
    "spread_users",
    "packed_pct",
    "spread_pct",
    "effect_pct",
    "low_pct",
    "high_pct",
]


def _say(among: str, row: pd.Series) -> str:
    n = f"{row['spread_attempts']:,} spread, {row['packed_attempts']:,} packed attempts"
    if not np.isfinite(row["low_pct"]):
        return (
            f"Among gangs {_AMONG[among]}, too few users have spread or packed attempts to say "
            f"({n})."
        )
    interval = f"95 % interval {row['low_pct']:+.1f} to {row['high_pct']:+.1f} points; {n}"
    if row["high_pct"] < 0:
        said = f"keep their GPUs {-row['effect_pct']:.1f} points less busy than packed ones"
    elif row["low_pct"] > 0:
        said = f"keep their GPUs {row['effect_pct']:.1f} points busier than packed ones"
    else:
        said = "are neither clearly busier nor clearly less busy than packed ones"
    return f"Among gangs {_AMONG[among]}, spread ones {said} ({interval})."


def compared(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the strata, gang size and status, that have both kinds of gang."""
    both = cells.groupby(["gpus", "status"])["spread"].transform("nunique") == 2
    return cells[both]


def effect_of_spread(cells: pd.DataFrame, rng: np.random.Generator) -> Effect:
    """Estimate the effect and resample users for its interval.

    The effect is the mean over strata ``s`` of ``spread_s - packed_s``, both means over
    GPU-minutes, weighted by the GPU-minutes of the spread gangs of ``s``: what spread gangs lose
    against packed ones of their own size and status. The interval is the percentile bootstrap
    over clusters (Davison and Hinkley, Bootstrap Methods and their Application, 1997, 3.8).

    Parameters
    ----------
    cells
        ``user``, ``gpus``, ``status``, ``spread``, ``minutes``, ``sum_pct``; every stratum has
        both kinds.
    rng
        Draws the users.

    Returns
    -------
    Effect
        In percentage points.
    """
    users, user = np.unique(cells["user"].to_numpy(str), return_inverse=True)
    stratum = cells.groupby(["gpus", "status"]).ngroup().to_numpy()
    strata = int(stratum.max()) + 1
    spread = cells["spread"].to_numpy(bool).astype(int)
    # totals by user, spread or packed, and stratum: minutes, and utilisation times minutes
    totals = np.zeros((2, len(users), 2, strata))
    for i, column in enumerate(("minutes", "sum_pct")):
        np.add.at(totals[i], (user, spread, stratum), cells[column].to_numpy(float))
    packed_pct, spread_pct = _standardised(totals.sum(axis=1)[:, None])
    low = high = np.nan
    if min(len(np.unique(user[spread == kind])) for kind in (0, 1)) >= FEWEST_USERS:
        draws = rng.multinomial(len(users), np.full(len(users), 1 / len(users)), size=RESAMPLES)
        resampled = np.einsum("ru,iuks->irks", draws, totals)
        packed, spread_ = _standardised(resampled)
        low, high = np.nanpercentile(spread_ - packed, [2.5, 97.5])
    return Effect(
        packed_pct=float(packed_pct[0]),
        spread_pct=float(spread_pct[0]),
        effect_pct=float(spread_pct[0] - packed_pct[0]),
        low_pct=float(low),
        high_pct=float(high),
        strata=strata,
    )


def _standardised(totals: Floats) -> tuple[Floats, Floats]:
    """Means of packed and of spread gangs over strata, both weighted by the spread minutes.

    Parameters
    ----------
    totals
        Minutes and sums, by resampling, kind (packed, spread) and stratum: shape (2, r, 2, s).
    """
    minutes, sums = totals
    both = (minutes > 0).all(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(both, sums / minutes, 0.0)
        weights = np.where(both[:, 0], minutes[:, 1], 0.0)
        weights = weights / weights.sum(axis=1, keepdims=True)
    packed, spread = np.einsum("rks,rs->kr", means, weights)
    return packed, spread


def plot(result: Result) -> Figure:
    """Draw the effect and its interval, for all gang sizes and for each."""
    table = result.table[np.isfinite(result.table["low_pct"].astype(float))]
    fig, [ax] = figures.canvas(height=3.6)
    if table.empty:
        return figures.empty(fig, "too few users have spread and packed attempts to compare")
    sizes = [None, *sorted(int(g) for g in table["gpus"].dropna().unique())]
    for i, among in enumerate(_AMONG):
        rows = table[table["among"] == among]
        if rows.empty:
            continue
        place = [sizes.index(None if pd.isna(g) else int(g)) + (i - 1) * 0.22 for g in rows["gpus"]]
        effect = rows["effect_pct"].to_numpy(float)
        error = np.abs(rows[["low_pct", "high_pct"]].to_numpy(float).T - effect)
        n = int(rows.loc[rows["gpus"].isna(), "spread_attempts"].sum())
        ax.errorbar(
            place,
            effect,
            yerr=error,
            fmt="o",
            markersize=4,
            linewidth=1.2,
            color=(figures.ACCENT, *figures.CYCLE[1:])[i],
            label=f"{among}  n={n:,}",
        )
    ax.axhline(0, color=figures.MUTED, linewidth=0.8)
    ax.set_xticks(
        range(len(sizes)),
        ["all sizes" if s is None else count(s, "GPU") for s in sizes],
        rotation=45 if len(sizes) > 7 else 0,
    )
    ax.set_ylabel("utilisation, spread less packed, points")
    ax.set_xlabel("gang; bars: 95 % intervals; sizes with too few users left out")
    figures.legend(ax, "tenancy, spread attempts", loc="lower left")
    return fig
