"""Job log that the simulators of Helios (SC'21) and Lucid (ASPLOS'23) read, and their windows."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl

from philly_analysis.errors import ExportError
from philly_analysis.exports.codec import Accepted, accepted_jobs
from philly_analysis.exports.request import Request
from philly_analysis.study import FAILED, KILLED, PASS
from philly_analysis.workload import SERVER

CLOCK = "%Y-%m-%d %H:%M:%S"
LGB = "lgb.csv"
"""Table of estimated run times."""

_STATES = {PASS: "COMPLETED", FAILED: "FAILED", KILLED: "CANCELLED"}
_QUOTAS = {"vc": pl.String, "quota": pl.Int64}


@dataclass(frozen=True, slots=True)
class Mode:
    """How a simulator reads a log.

    Attributes
    ----------
    counts_from
        Time before which the simulator accepts no submission. The simulator counts time from the
        first line that it accepts.
    opens, closes
        Window of accepted submissions, whose offsets from `counts_from` apply to the first line.
    vc
        Name of the one virtual cluster that has all nodes; empty: each has its own.
    """

    counts_from: datetime
    opens: datetime
    closes: datetime
    vc: str = ""

    @property
    def anchored(self) -> bool:
        """Whether the log needs a first line only to count from."""
        return self.opens > self.counts_from

    def rows(self, request: Request) -> tuple[pl.DataFrame, tuple[str, ...]]:
        """Return the lines of the log, and sentences on what was assumed for them."""
        jobs, first = request.jobs, request.jobs["submitted_at"][0]
        # the shift of submissions moves the first submission inside the window
        shift = self.opens - first if self.anchored else max(self.counts_from - first, timedelta(0))
        assumed = []
        if shift:
            assumed.append(f"submissions moved by {shift}: the reader's window is fixed")
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
            state=state.replace_strict(_STATES) if self.anchored else state,
            submit_time=(pl.col("submitted_at") + shift).dt.strftime(CLOCK),
            duration="duration_s",
            job_type="job_type",
            priority=request.estimated_s().round().cast(pl.Int64),
        )
        if self.anchored:
            # a predictor of run times has no other history than the mean of this line
            anchor = rows.head(1).with_columns(
                job_id=pl.lit("counted-from"),
                jobname=pl.lit("counted-from"),
                submit_time=pl.lit(f"{self.counts_from:{CLOCK}}"),
                duration=pl.lit(round(float(jobs["run_s"].mean() or 0)), pl.Int64).clip(1),  # type: ignore[arg-type]
            )
            rows = pl.concat([anchor, rows], how="vertical_relaxed")
            assumed.append(
                f"a first line of {self.counts_from:%F}, from which the reader counts; it runs "
                "none before its window"
            )
        total = _nodes(request)
        nodes = f"{total:,} nodes of 8 GPUs, {total * SERVER.gpus:,} in all"
        if self.vc:
            assumed.append(f"{nodes}; all virtual clusters are one, {self.vc!r}")
        else:
            assumed.append(f"{nodes}, by virtual cluster: {request.quotas()[1]}")
        return rows, tuple(assumed)

    def nodes(self, request: Request) -> dict[str, int]:
        """Return the nodes of 8 GPUs of each virtual cluster, which add up to the cluster.

        Raises
        ------
        ExportError
            Virtual clusters have nodes of their own, too few for their largest gangs.
        """
        total = _nodes(request)
        if self.vc:
            return {self.vc: total}
        quotas, _ = request.quotas()
        quota_table = pl.DataFrame({"vc": list(quotas), "quota": list(quotas.values())}, _QUOTAS)
        vcs = (
            request.jobs.group_by("vc", "vc_id")
            .agg(least=(pl.col("gpus").max() / SERVER.gpus).ceil().cast(pl.Int64))
            .join(quota_table, on="vc", how="left")
            .sort("vc")
        )
        if (need := int(vcs["least"].sum())) > total:
            raise ExportError(
                f"{vcs.height} virtual clusters need {need} nodes of 8 GPUs for their largest "
                f"gangs, but the cluster has {total}. Give more gpus=, or take the dialect "
                "where all virtual clusters are one."
            )
        weights = vcs["quota"].fill_null(1).to_list()
        nodes = _apportion(total, vcs["least"].to_list(), weights)
        return dict(zip(vcs["vc_id"].to_list(), nodes, strict=True))

    def accepted(self, request: Request, rows: pl.DataFrame) -> Accepted:
        """Count the jobs that are submitted inside the window."""
        at = rows["submit_time"].str.to_datetime(CLOCK)
        since = at - at[0]
        inside = since.is_between(self.opens - self.counts_from, self.closes - self.counts_from)
        if self.anchored:
            rows, inside = rows.slice(1), inside.slice(1)
        return accepted_jobs(request, rows["gpu_num"], rows["duration"], inside)


def _nodes(request: Request) -> int:
    return -(-request.cluster.gpus // SERVER.gpus)


def _apportion(total: int, least: list[int], weights: list[int]) -> list[int]:
    """Apportion a number by weights (D'Hondt's divisors), each share at least its minimum."""
    shares = list(least)
    for _ in range(total - sum(least)):
        i = max(range(len(shares)), key=lambda i: weights[i] / (shares[i] + 1))
        shares[i] += 1
    return shares
