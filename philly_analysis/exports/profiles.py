"""Published profiles of jobs, and the seeded draw that assigns one to each job."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

from philly_analysis.errors import ExportError

_FOLDER = Path(__file__).parent / "profiles"
_SOURCE = "# source: "


@dataclass(frozen=True, slots=True)
class Profiles:
    """A small table of published measurements.

    Attributes
    ----------
    table
        One row per profile. Column ``job_type`` is its name; ``weight``, where present, is
        proportional to how often it is drawn.
    source
        Where the numbers come from.
    """

    table: pl.DataFrame
    source: str


@cache
def read_profiles(name: str) -> Profiles:
    """Read one of the tables in ``profiles/``: a CSV whose first line is its source."""
    text = (_FOLDER / f"{name}.csv").read_text("utf-8")
    source = text.partition("\n")[0].removeprefix(_SOURCE)
    return Profiles(pl.read_csv(text.encode(), comment_prefix="#"), source)


def assign(
    jobs: pl.DataFrame, table: pl.DataFrame, rng: np.random.Generator, by: str | None = None
) -> pl.DataFrame:
    """Assign each job one profile of its class.

    A job whose own ``job_type`` names a profile of its class gets a row of that profile; other jobs
    draw a profile.

    Parameters
    ----------
    jobs
        Jobs with the columns `by` and ``job_type``; the order of jobs is kept.
    table
        Profiles, with the column `by`; every class of `jobs` must occur in it.
    by
        Column of the classes; None: all jobs are one class.

    Returns
    -------
    DataFrame
        `jobs` with the columns of `table`.
    """
    if by is None:
        by, one = "class", pl.lit(0).alias("class")
        return assign(jobs.with_columns(one), table.with_columns(one), rng, by).drop(by)
    table = table.with_row_index("profile")
    names = table.select(by, "job_type", known=pl.lit(True)).unique()
    marked = jobs.join(names, on=[by, "job_type"], how="left", maintain_order="left")
    wanted = marked.select(by, job_type=pl.when("known").then(pl.col("job_type")))
    chosen = np.zeros(jobs.height, dtype=np.int64)
    classes = (
        wanted.with_row_index("job")
        .group_by(by, "job_type")
        .agg("job")
        .sort(by, "job_type", nulls_last=True)
    )
    for group, job_type, members in classes.iter_rows():
        rows = table.filter(pl.col(by) == group)
        if job_type is not None:
            rows = rows.filter(pl.col("job_type") == job_type)
        weight = rows["weight"].to_numpy() if "weight" in rows.columns else np.ones(rows.height)
        chosen[members] = rng.choice(
            rows["profile"].to_numpy(), size=len(members), p=weight / weight.sum()
        )
    drawn = table[chosen].drop("profile", by, "weight", strict=False)
    return jobs.drop(drawn.columns, strict=False).hstack(drawn)


def check_gangs(jobs: pl.DataFrame, table: pl.DataFrame, source: Path) -> None:
    """Check that a table of measured speeds has every gang size of the jobs.

    Raises
    ------
    ExportError
        The table lacks a gang size.
    """
    if lacking := set(jobs["gpus"].unique()) - set(table["gpus"].unique()):
        raise ExportError(f"{source} has no speed for gangs of {sorted(lacking)} GPUs.")
