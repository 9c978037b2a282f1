"""Compare the completion times of groups of jobs: by gang size, virtual cluster and user."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from philly_analysis.results import UNNAMED, Paired, change_text, duration, mean_change, time_blocks
from philly_analysis.study import GANGS, gang_class

KEY = ["job_id", "submitted_at"]
"""Columns that identify a job in several traces: two clusters may use an id twice."""

COLUMNS = ["trace", "by", "group", "measure", "percentile", "value", "unit"]
"""Columns of a comparison's table."""

_UNITS = {"jobs": "jobs", "mean_jct_s": "s", "blocks": "blocks"}
_MOST_VCS = 8
_USERS = 5
"""Users shown that gain most, and that lose most."""


class GroupChange(NamedTuple):
    """A group's mean completion times under the first trace and another, and its change."""

    trace: str
    by: str
    group: str
    jobs: int
    before_s: float
    after_s: float
    change: Paired


_CHANGE = ("change_pct", "change_low_pct", "change_high_pct", "blocks")
"""Measures of a group: the fields of its change."""


def with_groups(ended: pd.DataFrame) -> pd.DataFrame:
    """Add the gang bucket, the block of time and names for unknown users and clusters."""
    return ended.assign(
        gang=np.array(GANGS)[gang_class(ended["gpus"].to_numpy())] if len(ended) else "",
        vc=ended["vc"].fillna(UNNAMED),
        user=ended["user"].fillna(UNNAMED),
        block=time_blocks(ended["submitted_at"].astype("datetime64[us]").astype("int64") / 1e6),
    )


def change_of(before: pd.DataFrame, after: pd.DataFrame, measure: str, *, same: bool) -> Paired:
    """Return the percent change of a mean, for equal jobs in equal order or for different jobs."""
    return mean_change(
        after[measure], before[measure], after["block"], None if same else before["block"]
    )


def group_changes(
    name: str, before: pd.DataFrame, after: pd.DataFrame, *, same: bool
) -> Iterator[GroupChange]:
    """Yield the change of each gang bucket; for equal jobs also of large clusters and users."""
    for by in ("gang", "vc", "user") if same else ("gang",):
        groups = GANGS if by == "gang" else _largest(before, by)
        if by == "user":
            groups = _moved_most(before, after)
        elif len(groups) < 2:
            continue
        for group in groups:
            changed, others = (
                rows[before[by] == group] if same else rows[rows[by] == group]
                for rows in (before, after)
            )
            if len(changed) and len(others):
                change = change_of(changed, others, "jct_s", same=same)
                before_s, after_s = (float(rows["jct_s"].mean()) for rows in (changed, others))
                yield GroupChange(name, by, str(group), len(changed), before_s, after_s, change)


def group_table(changes: Iterable[GroupChange], baseline: str) -> pd.DataFrame:
    """Return changes as rows of a comparison's table: a row per number."""
    rows = []
    for c in changes:
        change = (c.change.effect, c.change.low, c.change.high, c.change.pairs)
        numbers = dict(zip(_CHANGE, change, strict=True))
        for name, of in (
            (baseline, {"jobs": c.jobs, "mean_jct_s": c.before_s}),
            (c.trace, {"mean_jct_s": c.after_s, **numbers}),
        ):
            rows += [(name, c.by, c.group, m, None, v, _UNITS.get(m, "%")) for m, v in of.items()]
    return pd.DataFrame(rows, columns=COLUMNS).drop_duplicates(COLUMNS[:4], ignore_index=True)


def changes_in(table: pd.DataFrame) -> list[GroupChange]:
    """Return the changes of groups in a comparison's table, in its order."""
    rows = table[table["by"].isin(("gang", "vc", "user"))]
    wide: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows.to_dict("records"):
        wide.setdefault((row["trace"], row["by"], row["group"]), {})[row["measure"]] = row["value"]
    changes = []
    for (trace, by, group), measures in wide.items():
        base = wide[table["trace"].iloc[0], by, group]
        if measures is not base:
            *ends, blocks = (measures[measure] for measure in _CHANGE)
            means = (base["mean_jct_s"], measures["mean_jct_s"])
            change = Paired(ends[0], ends[1], ends[2], int(blocks))
            changes.append(GroupChange(trace, by, group, int(base["jobs"]), *means, change))
    return changes


def user_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return the users who gain and lose most, as text."""
    baseline = table["trace"].iloc[0]
    rows = [
        (
            *(c.group, c.trace, f"{c.jobs:,}", duration(c.before_s), duration(c.after_s)),
            change_text(c.change),
        )
        for c in changes_in(table)
        if c.by == "user"
    ]
    columns = ["user", "trace", "jobs", f"mean under {baseline}", "mean", "change"]
    return pd.DataFrame(rows, columns=columns)


def user_count(before: pd.DataFrame, after: pd.DataFrame) -> tuple[int, int]:
    """Return the number of users whose mean completion time is longer, and of all users.

    The jobs are the same.
    """
    longer = (after["jct_s"] - before["jct_s"]).groupby(before["user"]).sum() > 0
    return int(longer.sum()), len(longer)


def _largest(jobs: pd.DataFrame, by: str) -> Sequence[str]:
    return list(jobs[by].value_counts().index[:_MOST_VCS])


def _moved_most(before: pd.DataFrame, after: pd.DataFrame) -> Sequence[str]:
    """Return the users who gain and lose the most hours in all, the largest gain first."""
    moved = (after["jct_s"] - before["jct_s"]).groupby(before["user"]).sum().sort_values()
    moved = moved[moved != 0]
    return list(dict.fromkeys([*moved.index[:_USERS], *moved.index[-_USERS:]]))
