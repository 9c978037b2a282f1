"""Gavel's job trace (OSDI'20) and its dialect of Shockwave (NSDI'23): tab-separated lines."""

import ast
import json
from pathlib import Path

import polars as pl

from philly_analysis.errors import ExportError
from philly_analysis.exports.format import Dialect, Format, Program, Taken, Written, taken_of
from philly_analysis.exports.layout import DECIMAL, POSITIVE, Field, Layout, broken
from philly_analysis.exports.profiles import assign, profiles
from philly_analysis.exports.request import Request

_WORKER = "v100"
_GANGS = (1, 2, 4, 8)
_ROUND_S = 1921

_HEAD = (
    Field("job_type", r"[^\t\"]+"),
    Field("command", r"[^\t\"]+"),
    Field("working_directory", r"[^\t\" ]+"),
    Field("num_steps_arg", r"--?[a-z_-]+"),
    Field("needs_data_dir", "[01]"),
    Field("total_steps", POSITIVE),
    Field("scale_factor", "[1248]"),
)
_TAIL = (Field("priority_weight", DECIMAL), Field("slo", r"-1\.000000|" + DECIMAL))
_ARRIVAL = Field("arrival_time", DECIMAL)
_GAVEL = Layout((*_HEAD, *_TAIL, _ARRIVAL), "\t", header=False, ascending="arrival_time")
_SHOCKWAVE = Layout(
    (*_HEAD, Field("mode", "static|accordion|gns"), *_TAIL, Field("duration", POSITIVE), _ARRIVAL),
    "\t",
    header=False,
    ascending="arrival_time",
)


def speeds(path: Path) -> pl.DataFrame:
    """Read a throughput file: job_type, gpus and steps_per_s on a V100, alone.

    Raises
    ------
    ExportError
        The file is missing or is not laid out like Gavel's ``simulation_throughputs.json``.
    """
    try:
        table = json.loads(path.read_text("utf-8"))[_WORKER]
        rows = [(*ast.literal_eval(key), float(entry["null"])) for key, entry in table.items()]
    except OSError as error:
        raise ExportError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, SyntaxError) as error:
        raise ExportError(
            f"{path} is not a throughput file of Gavel's kind ({error!r}): it should map "
            f'{_WORKER!r} to "(\'ResNet-50 (batch size 64)\', 1)" to {{"null": steps per s}}.'
        ) from None
    schema = {"job_type": pl.String, "gpus": pl.Int32, "steps_per_s": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row").filter(pl.col("steps_per_s") > 0)


def _write(request: Request, path: Path, layout: Layout) -> Written:
    published = profiles("gavel")
    wanted = "shockwave" if layout is _SHOCKWAVE else "gavel"
    table = published.table.filter(pl.col(wanted) == 1).join(speeds(request.measured), "job_type")
    jobs = request.jobs
    if unknown := set(jobs["gpus"].unique()) - set(table["gpus"].unique()):
        raise ExportError(
            f"{request.measured} has no speed for gangs of {sorted(unknown)} GPUs on {_WORKER}."
        )
    lines = assign(jobs, table, "gpus", request.rng).with_columns(
        total_steps=(pl.col("run_s") * pl.col("steps_per_s")).round().cast(pl.Int64).clip(1),
        scale_factor="gpus",
        mode=pl.lit("static"),
        priority_weight=pl.lit("1"),
        slo=pl.lit("-1.000000"),
        duration=pl.col("run_s").round().cast(pl.Int64).clip(1),
        arrival_time=pl.col("submit_s").round_sig_figs(15),
    )
    layout.write(lines, path)
    return Written(
        jobs=lines.height,
        assumed=(
            "job type (model and batch size): drawn uniformly among those with a speed at the "
            "job's gang size, unless the workload names one of them",
            f"steps: run time x the {_WORKER} speed of {request.measured.name}",
            "priority 1 and no SLO for every job; commands are not fit for a real cluster",
        ),
        sources=(published.source, f"speeds: {request.measured.name}, as given"),
    )


def _faults(path: Path, throughputs: Path | None, layout: Layout) -> list[str]:
    found = layout.faults(path)
    if found:
        return found
    rows = layout.read(path)
    needs_data = (rows["needs_data_dir"] == "1") & ~rows["command"].str.contains("%s", literal=True)
    found += broken(path, rows["command"], needs_data, "command without %s for its data")
    if throughputs is not None:
        legal = speeds(throughputs).select(
            "job_type", scale_factor=pl.col("gpus").cast(pl.String), legal=pl.lit(True)
        )
        known = rows.join(legal, on=["job_type", "scale_factor"], how="left", maintain_order="left")
        found += broken(
            path,
            rows["job_type"],
            known["legal"].is_null(),
            "job type without a speed at its scale",
        )
    return found


def _taken(request: Request, path: Path, layout: Layout) -> Taken:
    rows = layout.read(path)
    fast = speeds(request.measured).with_columns(pl.col("gpus").cast(pl.String))
    of_type = rows.select("job_type", gpus="scale_factor").join(
        fast, on=["job_type", "gpus"], how="left", maintain_order="left"
    )
    run_s = rows["total_steps"].cast(pl.Int64) / of_type["steps_per_s"]
    stops = _first_idle(rows["arrival_time"].cast(pl.Float64), run_s)
    kept = pl.int_range(rows.height, eager=True) < (stops if layout is _SHOCKWAVE else rows.height)
    return taken_of(request, rows["scale_factor"], run_s, kept)


def _first_idle(at_s: pl.Series, run_s: pl.Series) -> int:
    """Return how many jobs come before Shockwave finds none at the end of a round, and stops.

    As if nobody waited; whoever waits is there longer.
    """
    now_s, come, left_s = float(at_s[0]), 0, list[float]()
    while come < at_s.len():
        below = int(at_s.search_sorted(now_s, "right"))
        left_s += run_s[come:below].to_list()
        come = below
        if not left_s:
            break
        lasts_s = min(max(left_s), _ROUND_S)
        now_s += lasts_s
        left_s = [s - lasts_s for s in left_s if s > lasts_s]
    return come


_NOT_CARRIED = ("names of jobs, users and virtual clusters, status, attempts and placements",)
_NEEDS = (
    "Python 3.9, numpy 1.26, cvxpy 1.4 with ECOS, scikit-learn, matrix_completion, preconditions, "
    "filelock, psutil, grpcio-tools"
)
_RULES = "gangs of 1, 2, 4 and 8 GPUs; a job runs in rounds, for its steps / speed"
_RUN = """git clone https://github.com/stanford-futuredata/gavel && cd gavel/scheduler
git checkout c4fa400 && make
python scripts/drivers/simulate_scheduler_with_trace.py -t $$OUT -p fifo_perf \\
  --throughputs_file simulation_throughputs.json -c $gpus:0:0 \\
  --num_gpus_per_server $per_node:$per_node:$per_node --seed 0 --solver ECOS \\
  --time_per_iteration 1921"""
_SHOCKWAVE_RUN = """git clone https://github.com/uw-mad-dash/shockwave && cd shockwave/scheduler
git checkout 8a44f4a && make && touch numa.py && cp $$OUT traces/export.trace
python scripts/drivers/simulate_scheduler_with_trace.py -t traces/export.trace -p fifo_perf \\
  --throughputs_file tacc_throughputs.json -c $gpus:0:0 \\
  --num_gpus_per_server $per_node:$per_node:$per_node --seed 0 --solver ECOS \\
  --time_per_iteration 1921"""

GAVEL = Format(
    "gavel",
    (
        Dialect(
            name="gavel",
            program=Program(
                "Gavel's simulator",
                source="stanford-futuredata/gavel c4fa400",
                needs=_NEEDS,
                command=_RUN,
                rules=_RULES,
            ),
            carries="arrival, gang size, run time as steps",
            write=lambda request, path: _write(request, path, _GAVEL),
            taken=lambda request, path: _taken(request, path, _GAVEL),
            faults=lambda path, speeds: _faults(path, speeds, _GAVEL),
            not_carried=_NOT_CARRIED,
            gangs=_GANGS,
            throughputs="the consumer's throughput file (such as Gavel's "
            "simulation_throughputs.json)",
        ),
        Dialect(
            name="shockwave",
            program=Program(
                "Shockwave's simulator",
                source="uw-mad-dash/shockwave 8a44f4a",
                needs=f"{_NEEDS}, pandas 2.0, matplotlib, gurobipy and mosek (imported; policies "
                "other than shockwave need no licence); numa.py stands in for a module not used",
                command=_SHOCKWAVE_RUN,
                rules=f"{_RULES}, until a round ends and no job is there",
            ),
            carries="arrival, gang size, run time as steps and seconds",
            write=lambda request, path: _write(request, path, _SHOCKWAVE),
            taken=lambda request, path: _taken(request, path, _SHOCKWAVE),
            faults=lambda path, speeds: _faults(path, speeds, _SHOCKWAVE),
            not_carried=(
                *_NOT_CARRIED,
                "batch sizes that change while a job runs: every job is static",
            ),
            gangs=_GANGS,
            throughputs="the consumer's throughput file (Shockwave's tacc_throughputs.json)",
        ),
    ),
)
