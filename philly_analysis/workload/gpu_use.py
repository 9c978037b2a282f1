"""How much of their GPUs the jobs of a workload used, where its trace has readings of them."""

from collections.abc import Iterable
from dataclasses import replace

from philly_analysis.trace import Trace
from philly_analysis.workload.job import JobSpec
from philly_analysis.workload.workload import Workload


def with_use(workload: Workload, specs: Iterable[JobSpec]) -> list[JobSpec]:
    """Return jobs with the utilisation and GPU memory that samples, else summaries, show of them.

    Parameters
    ----------
    workload
        Where they come from; without a trace behind it, nothing is known of them.
    """
    specs = list(specs)
    if workload.trace is None:
        return specs
    with Trace(workload.trace) as trace:
        util: dict[str, float] = {}
        mem: dict[str, float] = {}
        if trace.has("job_use_told"):
            for job_id, util_frac, mem_frac in trace.sql(
                "select job_id, util_frac, gpu_mem_frac from job_use_told"
            ).fetchall():
                if util_frac is not None:
                    util[job_id] = util_frac
                if mem_frac is not None:
                    mem[job_id] = mem_frac
        if trace.has("job_use"):
            util |= dict(trace.sql("select job_id, util_frac from job_use").fetchall())
    return [replace(s, util_frac=util.get(s.job_id), gpu_mem_frac=mem.get(s.job_id)) for s in specs]
