"""Read from the causes of waiting which cause dominates, and which limits bind."""

import tomllib
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from philly_analysis.analyses.shared.completeness import preferred
from philly_analysis.analyses.shared.wait_cause import named_causes
from philly_analysis.experiments.advice.gains import MONTH_D
from philly_analysis.results import whole_percent
from philly_analysis.simulator.policies import Limit
from philly_analysis.trace import Trace

_COLLECT = tomllib.loads(Path(__file__).with_name("collect.toml").read_text("utf-8"))
"""What to collect where a cause dominates."""

_LEAST_FRAC = 0.05
"""Share of the waiting from which a limit is named (convention)."""

COLUMNS = ("cause", "name", "jobs", "wait_h", "share")


def waiting(trace: Trace, days: float) -> tuple[pd.DataFrame, str]:
    """Return the waiting by cause, and the method by which quotas are known.

    Parameters
    ----------
    days
        Length of the log.

    Returns
    -------
    pandas.DataFrame
        One row per cause and name of what held the jobs, the longest waiting first: cause, name,
        jobs, wait_h (GPU hours of waiting a month), share (of all GPU hours of waiting). Empty
        where the causes are not known.
    """
    if not trace.has("wait_causes"):
        return pd.DataFrame(columns=list(COLUMNS)), "none"
    methods = trace.sql("select distinct method from wait_causes").fetchall()
    method = preferred(name for (name,) in methods)
    table = trace.sql(
        "select cause, name, count(distinct job_id) as jobs, "
        "sum(wait_s * jobs.gpus) / 3600 * $month / $days as wait_h "
        "from wait_causes inner join jobs using (job_id) where method = $method "
        "group by cause, name having wait_h > 0 order by wait_h desc, cause, name",
        method=method,
        month=MONTH_D,
        days=days,
    ).df()
    return table.assign(share=table["wait_h"] / table["wait_h"].sum()), method


def dominating(causes: pd.DataFrame, method: str) -> str:
    """Return the cause of most waiting and what to collect, as sentences; empty: not known."""
    if causes.empty:
        return ""
    shares = causes.groupby("cause")["share"].sum()
    cause = str(shares.idxmax())
    return (
        f"Most waiting has the cause: {named_causes(method)[cause].label} "
        f"({whole_percent(float(shares.max()))}). {_COLLECT[cause]}"
    )


def binding_names(limits: Iterable[Limit], bound: pd.DataFrame) -> frozenset[str]:
    """Return the names of the limits that keep jobs waiting.

    The causes name a limit for each user or account that a limit is counted for.
    """
    names = [str(name) for name in bound["name"].dropna()]
    return frozenset(
        limit.name
        for limit in limits
        if any(name == limit.name or name.startswith(f"{limit.name}, ") for name in names)
    )


def binding(trace: Trace, causes: pd.DataFrame) -> pd.DataFrame:
    """Return the limits that keep jobs waiting for 5 % of all waiting or more.

    Returns
    -------
    pandas.DataFrame
        One row per limit: the columns of :func:`waiting`, and scope, owner, resource and amount of
        the limit, which are null where the log does not have them.
    """
    limits = causes[(causes["cause"] == "limit") & (causes["share"] >= _LEAST_FRAC)]
    if limits.empty or not trace.has("limit_members"):
        return limits.assign(scope=None, owner=None, resource=None, amount=float("nan"))
    members = trace.sql(
        "select distinct limit_name as name, scope, owner, resource, amount from limit_members"
    ).df()
    return limits.merge(members, "left", "name")
