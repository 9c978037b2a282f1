"""Plain CSV: a line per job, with seconds since the first submission."""

from philly_analysis.exports.codec import Content, Notes, accepted_jobs, delimited, read_format
from philly_analysis.exports.dialect import FILE
from philly_analysis.exports.request import Request


def _content(request: Request) -> Content:
    rows = request.jobs.select(
        "job_id",
        "user",
        "vc",
        "gpus",
        "gpu_frac",
        "submit_s",
        "run_s",
        "wait_s",
        "status",
        "cpus",
        "mem_gb",
        "time_limit_s",
        "job_type",
        estimate_s=request.estimated_s(),
    ).with_columns(job_id=request.jobs["id"])
    accepted = accepted_jobs(request, rows["gpus"], rows["run_s"])
    [started] = request.jobs["submitted_at"].sort().head(1).dt.to_string("%F %T")
    return Content({FILE: rows}, accepted, Notes(assumed=(f"second 0 is {started} UTC",)))


CSV = read_format("csv", csv=delimited(_content))
