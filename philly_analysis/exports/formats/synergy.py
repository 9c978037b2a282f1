"""Synergy's replay trace (OSDI'22): five fields a line, no header."""

from pathlib import Path

import polars as pl

from philly_analysis.exports.format import Dialect, Format, Program, Taken, Written, taken_of
from philly_analysis.exports.layout import COUNT, DECIMAL, POSITIVE, Field, Layout
from philly_analysis.exports.profiles import assign, profiles
from philly_analysis.exports.request import Request

_MEASURED = (4000, 5000)
_ROUND_S = 300
_LAYOUT = Layout(
    (
        Field("job_id", COUNT),
        Field("model", "|".join(profiles("synergy").job_types)),
        Field("arrival_s", DECIMAL),
        Field("num_iterations", POSITIVE),
        Field("gpus", "1|2|4|8|16"),
    ),
    header=False,
    ascending="arrival_s",
    unique="job_id",
)


def _first_id(jobs: int) -> int:
    """Return the number of the first job, so that the simulator measures those in the middle."""
    least, below = _MEASURED
    return max(least - max(jobs - (below - least), 0) // 2, 0)


def _write(request: Request, path: Path) -> Written:
    published = profiles("synergy")
    jobs = request.jobs.with_columns(one=pl.lit(1, pl.Int32))
    table = published.table.with_columns(one=pl.lit(1, pl.Int32))
    first = _first_id(jobs.height)
    lines = assign(jobs, table, "one", request.rng).with_columns(
        job_id=pl.int_range(pl.len()) + first,
        model="job_type",
        arrival_s=pl.col("submit_s").round(3),
        num_iterations=(pl.col("run_s") / pl.col("iteration_s")).round().cast(pl.Int64).clip(1),
    )
    _LAYOUT.write(lines, path)
    return Written(
        jobs=lines.height,
        assumed=(
            "model, and with it CPU and memory demand: drawn by the artifact's task split, unless "
            "the workload names one",
            "run time is that with GPU-proportional CPUs and memory (3 CPUs, 62.5 GB a GPU)",
        ),
        sources=(published.source,),
        not_carried=(
            f"job ids: numbered from {first} by submission, then job id, because the simulator "
            f"measures jobs {_MEASURED[0]} to {_MEASURED[1] - 1}",
        ),
    )


def _taken(request: Request, path: Path) -> Taken:
    rows = _LAYOUT.read(path)
    seconds = profiles("synergy").table.select(model="job_type", iteration_s="iteration_s")
    of_model = rows.join(seconds, on="model", how="left", maintain_order="left")["iteration_s"]
    run_s = rows["num_iterations"].cast(pl.Int64) * of_model
    at_s = rows["arrival_s"].cast(pl.Float64)
    # at a round without a job it stops for good; whoever waits is there longer than this
    first_round_s = (at_s[0] / _ROUND_S).__ceil__() * _ROUND_S
    starts_s = (at_s / _ROUND_S).ceil() * _ROUND_S
    there_until_s = (starts_s + (run_s / _ROUND_S).ceil() * _ROUND_S).cum_max()
    idle = starts_s > there_until_s.shift(1, fill_value=first_round_s)
    return taken_of(request, rows["gpus"], run_s, ~idle.cum_max())


_RUN = """git clone https://github.com/msr-fiddle/synergy && cd synergy/simulator
git checkout 1bb2bed && make -C deployment && touch numa.py && cat > export.ini <<END
[CLUSTER]
racks = 1
servers_per_rack = $nodes
gpus_per_server = $per_node
cpus_per_server = 24
dram_per_server = 500
sspeed_per_server = 500
[SCHEDULER]
policy = FIFO
lease_time = 5
END
python runner.py --replay_trace $$OUT --config_file export.ini --multigpu \\
  --no_use_cache --no_cache_result"""

SYNERGY = Format(
    "synergy",
    (
        Dialect(
            name="replay",
            program=Program(
                "Synergy's simulator, --replay_trace",
                source="msr-fiddle/synergy 1bb2bed",
                needs="Python 3.9, numpy 1.26, pandas 1.5, matplotlib 3.4, cvxpy 1.4, "
                "grpcio-tools, psutil; numa.py stands in for a module that is not used",
                command=_RUN,
                rules="gangs of 1, 2, 4, 8 and 16 GPUs, until a round of 300 s finds no job at "
                "all; it stops when jobs 4000 to 4999 have ended, and reports on these",
            ),
            carries="arrival, gang size, run time as iterations",
            write=_write,
            taken=_taken,
            faults=lambda path, _: _LAYOUT.faults(path),
            not_carried=("users, virtual clusters, status, attempts and placements",),
            gangs=(1, 2, 4, 8, 16),
        ),
    ),
)
