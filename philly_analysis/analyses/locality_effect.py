"""Estimate the effect of spreading a gang over more servers than needed on its utilisation.

The estimate is observational: the scheduler chose which gangs to spread, and its reason (a full
cluster) may lower utilisation too. Few strata have both spread and packed attempts, so intervals
are wide.
"""

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from philly_analysis.analyses.shared.texts import CAVEATS
from philly_analysis.results import Result, count, figures, interval_facts
from philly_analysis.trace import Analysis, Trace

RESAMPLES = 2_000
SEED = 20190710
"""Seed of the bootstrap, for reproducible intervals."""

FEWEST_USERS = 5
"""Fewest users with spread, and with packed gangs, for an interval."""

_AMONG = {
    "all": "of any tenancy",
    "alone": "alone on their servers",
    "with co-tenants": "with others on their servers",
}
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Effect:
    """Difference in utilisation between spread and packed gangs of the same strata.

    Attributes
    ----------
    packed_pct, spread_pct
        Mean utilisation, strata weighted by the GPU-minutes of their spread gangs.
    effect_pct
        Mean utilisation of spread minus packed gangs, in percentage points.
    low_pct, high_pct
        95 % interval of `effect_pct`; NaN with too few users.
    strata
        Combinations of gang size and status with spread and packed gangs.
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
    shared = cells["co_tenants"].astype(bool)
    tenancy = {"all": cells, "alone": cells[~shared], "with co-tenants": cells[shared]}
    rows = []
    for among, some in tenancy.items():
        for gpus in (None, *sorted(some["gpus"].unique())):
            part = compared(some if gpus is None else some[some["gpus"] == gpus])
            if part.empty:
                continue
            effect = effect_of_spread(part, rng)
            kinds = part.groupby("spread")
            attempts, users = kinds["attempts"].sum(), kinds["user"].nunique()
            counts = {
                f"{name}_{what}": int(n[spread])
                for what, n in (("attempts", attempts), ("users", users))
                for spread, name in ((False, "packed"), (True, "spread"))
            }
            rows.append({"among": among, "gpus": gpus} | counts | asdict(effect))
    table = pd.DataFrame(rows, columns=_COLUMNS).astype({"gpus": "Int64"})
    overall = {str(row["among"]): row for _, row in table[table["gpus"].isna()].iterrows()}
    facts = [
        fact
        for among, row in overall.items()
        for fact in interval_facts(
            f"effect{{}}_{among.replace(' ', '_').replace('-', '_')}_pct",
            (row["effect_pct"], row["low_pct"], row["high_pct"]),
            f"percentage points, spread minus packed gangs {_AMONG[among]}",
        )
    ]
    return Result(
        "locality_effect",
        table,
        facts,
        [_sentence(among, row) for among, row in overall.items()]
        or ["No gang size and status has both spread and packed attempts."],
        (
            *CAVEATS["locality_effect"],
            f"Intervals: {RESAMPLES:,} bootstrap samples of users, whose attempts are correlated. "
            "Not an experiment: schedulers choose which gangs to spread.",
        ),
    )


_COLUMNS = [
    *("among", "gpus", "strata"),
    *("packed_attempts", "spread_attempts", "packed_users", "spread_users"),
    *("packed_pct", "spread_pct", "effect_pct", "low_pct", "high_pct"),
]


def _sentence(among: str, row: pd.Series) -> str:
    n = f"{row['spread_attempts']:,} spread, {row['packed_attempts']:,} packed attempts"
    gangs = f"gangs {_AMONG[among]}"
    if not np.isfinite(row["low_pct"]):
        return f"Too few users have spread or packed {gangs} for an estimate ({n})."
    verdict = "does not differ clearly from"
    if row["high_pct"] < 0:
        verdict = f"is {-row['effect_pct']:.1f} percentage points lower than"
    elif row["low_pct"] > 0:
        verdict = f"is {row['effect_pct']:.1f} percentage points higher than"
    return (
        f"The utilisation of spread {gangs} {verdict} the utilisation of packed gangs (95 % "
        f"interval {row['low_pct']:+.1f} to {row['high_pct']:+.1f} points; {n})."
    )


def compared(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of strata (gang size and status) with both kinds of gangs."""
    both = cells.groupby(["gpus", "status"])["spread"].transform("nunique") == 2
    return cells[both]


def effect_of_spread(cells: pd.DataFrame, rng: np.random.Generator) -> Effect:
    """Estimate the effect with a cluster bootstrap over users.

    The effect is the mean over strata ``s`` of ``spread_s - packed_s``, both means over
    GPU-minutes. Strata are weighted by the GPU-minutes of their spread gangs. The interval is the
    percentile bootstrap over clusters (Davison and Hinkley, Bootstrap Methods and their
    Application, 1997, 3.8).

    Parameters
    ----------
    cells
        ``user``, ``gpus``, ``status``, ``spread``, ``minutes``, ``sum_pct``; every stratum has
        both kinds.
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
    """Return the means of packed and of spread gangs, weighted by the minutes of spread gangs.

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
    """Draw the effect and its interval, for all gang sizes together and for each."""
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
    ax.set_ylabel("utilisation, points,\nspread minus packed")
    ax.set_xlabel("gang; bars: 95 % intervals; sizes with too few users excluded")
    figures.legend(ax, "tenancy, spread attempts", loc="lower left")
    return fig


ANALYSIS = Analysis(
    name="locality_effect",
    question="Does spreading a gang over more servers than it needs lower its utilisation?",
    needs=("jobs", "attempts", "placements", "machines", "gpu_samples"),
    compute=compute,
    plot=plot,
    sample_counts="gpu_use_bins",
    all_jobs=True,
)
