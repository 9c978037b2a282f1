"""The log of jobs that the simulators of Helios (SC'21) and Lucid (ASPLOS'23) read, and when."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl

from philly_analysis.errors import ExportError
from philly_analysis.exports.format import Taken, taken_of
from philly_analysis.exports.layout import COUNT, NAME, POSITIVE, TIMESTAMP, Field, Layout, broken
from philly_analysis.exports.request import Request
from philly_analysis.study import FAILED, KILLED, PASS, Estimates
from philly_analysis.workload import SERVER

CLOCK = "%Y-%m-%d %H:%M:%S"
APRIL = datetime(2020, 4, 1)
"""From when both count in logs of their own kind."""

STATES = {PASS: "COMPLETED", FAILED: "FAILED", KILLED: "CANCELLED"}
"""What such logs call statuses."""

LGB = "lgb.csv"
KINDS = (Estimates.HISTORY, Estimates.EXACT, Estimates.NOISY, Estimates.ROUNDED)
"""Estimated run times that both have a place for, in `LGB`."""

NOT_CARRIED = ("attempts, placements and waits", "fractions of a second")

_QUOTAS = {"vc": pl.String, "quota": pl.Int64}


@dataclass(frozen=True, slots=True)
class Window:
    """Which submissions a mode takes.

    Attributes
    ----------
    counts_from
        It takes none before, and counts from the first line that it takes.
    opens, closes
        What it takes: jobs submitted as long after that line as these are after `counts_from`.
    """

    counts_from: datetime
    opens: datetime
    closes: datetime

    @property
    def anchored(self) -> bool:
        """Whether there must be a line that is only counted from."""
        return self.opens > self.counts_from

    @property
    def length_s(self) -> float:
        """Seconds from the first job to the last that it takes."""
        return (self.closes - self.opens).total_seconds()

    def moved(self, first: datetime) -> timedelta:
        """Return by how much submissions have to move so that the first is inside."""
        if self.anchored:
            return self.opens - first
        return max(self.counts_from - first, timedelta(0))


def shared(states: tuple[str, ...]) -> tuple[Field, ...]:
    """Return the fields that all logs have, given what they call statuses."""
    return (
        Field("user", NAME),
        Field("vc", NAME),
        Field("gpu_num", POSITIVE),
        Field("state", "|".join(states)),
        Field("submit_time", TIMESTAMP),
        Field("duration", POSITIVE),
    )


NAMED = (Field("job_id", NAME), Field("jobname", NAME), Field("cpu_num", COUNT))


def layout(*fields: Field, key: str) -> Layout:
    """Return the layout of a log: by submission, each job once by its key."""
    return Layout(fields, ascending="submit_time", unique=key)


def estimates(key: str) -> Layout:
    """Return the layout of a table of estimated run times."""
    return Layout((Field(key, NAME), Field("priority", COUNT)), unique=key)


@dataclass(frozen=True, slots=True)
class Mode:
    """How a simulator is asked to read a log: its window, and whose virtual clusters there are.

    Attributes
    ----------
    vc
        What the one virtual cluster that has all nodes is called; empty: each has its own.
    """

    log: Layout
    window: Window
    vc: str

    def rows(self, request: Request) -> tuple[pl.DataFrame, tuple[str, ...]]:
        """Return the lines of the log but for profiles, and what was assumed for them."""
        jobs, window = request.jobs, self.window
        moved = window.moved(jobs["submitted_at"][0])
        assumed = []
        if moved:
            assumed.append(f"submissions moved by {moved}: the reader's window is fixed")
        if unknown := jobs["status"].null_count():
            assumed.append(f"status of {unknown:,} jobs: {PASS}")
        state = pl.col("status").fill_null(PASS)
        rows = jobs.select(
            job_id="id",
            jobname="id",
            user="user_id",
            vc=pl.lit(self.vc) if self.vc else pl.col("vc_id"),
            gpu_num="gpus",
            cpu_num=pl.col("cpus_due").round().cast(pl.Int64),
            state=state.replace_strict(STATES) if window.anchored else state,
            submit_time=(pl.col("submitted_at") + moved).dt.strftime(CLOCK),
            duration="duration_s",
            job_type="job_type",
            priority=request.estimated_s().round().cast(pl.Int64),
        )
        if window.anchored:
            # its mean run time is all that a predictor knows of the past
            anchor = rows.head(1).with_columns(
                job_id=pl.lit("counted-from"),
                jobname=pl.lit("counted-from"),
                submit_time=pl.lit(f"{window.counts_from:{CLOCK}}"),
                duration=pl.lit(round(float(jobs["run_s"].mean() or 0)), pl.Int64).clip(1),  # type: ignore[arg-type]
            )
            rows = pl.concat([anchor, rows], how="vertical_relaxed")
            assumed.append(
                f"a first line of {window.counts_from:%F}, from which the reader counts; it runs "
                "none before its window"
            )
        return rows, tuple(assumed)

    def nodes(self, request: Request) -> pl.DataFrame:
        """Return virtual clusters (vc) and their nodes of 8 GPUs, which add up to the cluster.

        Raises
        ------
        ExportError
            They are to have nodes of their own, and there are too few for their largest gangs.
        """
        total = -(-request.cluster.gpus // SERVER.gpus)
        if self.vc:
            return pl.DataFrame({"vc": [self.vc], "nodes": [total]})
        quotas, _ = request.quotas()
        known = pl.DataFrame({"vc": list(quotas), "quota": list(quotas.values())}, _QUOTAS)
        vcs = (
            request.jobs.group_by("vc", "vc_id")
            .agg(least=(pl.col("gpus").max() / SERVER.gpus).ceil().cast(pl.Int64))
            .join(known, on="vc", how="left")
            .sort("vc")
        )
        if (need := int(vcs["least"].sum())) > total:
            raise ExportError(
                f"{vcs.height} virtual clusters need {need} nodes of 8 GPUs for their largest "
                f"gangs, but the cluster has {total}: give more gpus=, or take the dialect "
                "where all virtual clusters are one."
            )
        return pl.DataFrame(
            {
                "vc": vcs["vc_id"],
                "nodes": _apportioned(
                    total, vcs["least"].to_list(), vcs["quota"].fill_null(1).to_list()
                ),
            }
        )

    def nodes_said(self, request: Request) -> tuple[str, ...]:
        """Say what the nodes are."""
        total = -(-request.cluster.gpus // SERVER.gpus)
        said = f"{total:,} nodes of 8 GPUs, {total * SERVER.gpus:,} in all"
        if self.vc:
            said += f"; all virtual clusters are one, {self.vc!r}"
        else:
            said += f", by virtual cluster: {request.quotas()[1]}"
        return (said,)

    def taken(self, request: Request, path: Path) -> Taken:
        """Count what is submitted inside the window."""
        rows = self.log.read(path)
        at = rows["submit_time"].str.to_datetime(CLOCK)
        since_s = (at - at[0]).dt.total_seconds()
        opens_s = (self.window.opens - self.window.counts_from).total_seconds()
        closes_s = (self.window.closes - self.window.counts_from).total_seconds()
        inside = since_s.is_between(opens_s, closes_s)
        if self.window.anchored:
            rows, inside = rows.slice(1), inside.slice(1)
        return taken_of(request, rows["gpu_num"], rows["duration"].cast(pl.Int64), inside)

    @property
    def rules(self) -> str:
        """Which jobs it takes."""
        days = self.window.length_s / 86_400
        return f"jobs submitted within {days:.4g} days of the first, times in whole seconds"


def _apportioned(total: int, least: list[int], weights: list[int]) -> list[int]:
    """Share out a number by weights, no share below its least: the neediest gets the next one."""
    shares = list(least)
    for _ in range(total - sum(least)):
        i = max(range(len(shares)), key=lambda i: weights[i] / (shares[i] + 1))
        shares[i] += 1
    return shares


def early(path: Path, rows: pl.DataFrame, window: Window) -> list[str]:
    """Say which lines stand before the reader's first moment."""
    wrong = rows["submit_time"].str.to_datetime(CLOCK, strict=False) < window.counts_from
    return broken(path, rows["submit_time"], wrong, f"submission before {window.counts_from:%F}")


def simulate(arguments: str) -> str:
    """Return shell lines that run either program.

    Both sort jobs by submission in a way that may swap those of the same second, and then wait in
    another order than they came: pandas is told to keep it.
    """
    return (
        f"TZ=UTC python - {arguments} <<'END'\n"
        "import functools, runpy, pandas\n"
        "pandas.DataFrame.sort_values = functools.partialmethod(\n"
        '    pandas.DataFrame.sort_values, kind="stable")\n'
        'runpy.run_path("simulator.py", run_name="__main__")\n'
        "END"
    )
