"""Published profiles of jobs, and the seeded draw that gives each job one of them."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

_FOLDER = Path(__file__).parent / "profiles"
_SOURCE = "# source: "


@dataclass(frozen=True, slots=True)
class Profiles:
    """A small table of published measurements.

    Attributes
    ----------
    table
        One row per profile. A column ``job_type`` names it; ``weight``, where there is one, is
        how often it is drawn.
    source
        Where the numbers come from.
    """

    table: pl.DataFrame
    source: str

    @property
    def job_types(self) -> list[str]:
        """Names of the job types, in the order of the table."""
        return self.table["job_type"].unique(maintain_order=True).to_list()


@cache
def profiles(name: str) -> Profiles:
    """Read one of the tables in ``profiles/``: a CSV whose first line is its source."""
    text = (_FOLDER / f"{name}.csv").read_text("utf-8")
    source = text.partition("\n")[0].removeprefix(_SOURCE)
    return Profiles(pl.read_csv(text.encode(), comment_prefix="#"), source)


def assign(
    jobs: pl.DataFrame, table: pl.DataFrame, by: str, rng: np.random.Generator
) -> pl.DataFrame:
    """Give each job one profile among those of its class.

    A job whose own ``job_type`` names a profile of its class gets (one of) that; the others draw.

    Parameters
    ----------
    jobs
        Has the columns `by` and ``job_type``, and keeps its order.
    table
        Profiles, with the column `by`; every class of `jobs` must occur in it.

    Returns
    -------
    DataFrame
        `jobs` with the columns of `table`.
    """
    table = table.with_row_index("profile")
    known = table.select(pl.col(by), job_type=pl.col("job_type"), known=pl.lit(True)).unique()
    marked = jobs.join(known, on=[by, "job_type"], how="left", maintain_order="left")
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
