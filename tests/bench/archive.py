"""Generate a raw archive of the public Philly trace's size, or of a fraction of it."""

import argparse
from pathlib import Path

import duckdb

JOBS = 117_325
MACHINES = 420
"""Machines that report in each minute of the public trace."""
MINUTES = 106_900
"""Minutes of its utilisation files; with `MACHINES`, 44.9 million rows in each file."""

_START = "timestamp '2017-10-03 07:00:00'"


def write(
    out: Path,
    fraction: float,
    seed: int = 1,
    *,
    hard: bool = False,
    jobs: int | None = None,
    machines: int | None = None,
    every: int = 1,
) -> None:
    """Write the five files of an archive.

    Parameters
    ----------
    fraction
        Share of the public trace's jobs and minutes; above 1, a longer trace.
    hard
        Whether the archive is as hard to read as the public trace. It then covers all its days on
        a fraction of its machines. Jobs hold as many GPU hours as in the trace, on GPUs that
        other jobs hold too, and retry more often. One row in 16 is missing, different ones in
        each file. Some values are NA; some rows have 16 values, repeat, or are malformed.
    jobs, machines
        Their numbers; default: from the fraction.
    every
        Keep one random sample row of this many, for measurements that depend on the jobs alone.
    """
    out.mkdir(parents=True)
    jobs = jobs or round(JOBS * fraction)
    minutes = MINUTES if hard else round(MINUTES * fraction)
    machines = machines or (max(2, round(MACHINES * fraction)) if hard else MACHINES)
    with duckdb.connect() as con:
        con.execute("set memory_limit = '2GB'")
        con.execute("set preserve_insertion_order = false")
        con.execute(f"select setseed({seed / 1000})")
        # half of the machines have 8 GPUs, the others 2, which the file records twice
        con.execute(
            "create table machines as select 'm' || i as machine_id, "
            f"case when i % 2 = 0 then 8 else 2 end as gpus from range({machines}) r(i)"
        )
        _job_log(con, out, jobs, minutes, machines, hard=hard)
        con.execute(
            "copy (select machine_id, gpus, case gpus when 8 then ' 24GB' else ' 12GB' end "
            f"from machines) to '{out}/list' (header false)"
        )
        _samples(con, out, minutes, machines, hard=hard, every=every)
    (out / "cluster_machine_list").write_text(
        "machineId, number of GPUs, single GPU mem\n" + (out / "list").read_text()
    )
    (out / "list").unlink()
    (out / "SYNTHETIC.md").write_text(
        f"Generated for measuring only: {jobs:,} jobs and {minutes:,} minutes of {machines} "
        "machines, as many as the public Philly trace times the fraction "
        f"{fraction:g}. Nothing in it was recorded.\n"
    )


def _job_log(
    con: duckdb.DuckDBPyConnection, out: Path, jobs: int, minutes: int, machines: int, *, hard: bool
) -> None:
    """Write jobs with roughly the gang sizes and retries of the public trace.

    Placements may overlap.
    """
    # run time in seconds: log-normal, median about exp(7), mean 1.9 h (hard: 10 h)
    spread = 2.65 if hard else 1.9
    retries = "(random() < 0.2)::int" + (" * (1 - 4 * ln(1 - random()))::int" if hard else "")
    con.execute(
        "create table jobs as select i, "
        "case when r < 0.866 then 1 when r < 0.90 then 2 when r < 0.938 then 4 when r < 0.99 "
        "then 8 when r < 0.998 then 16 else 32 end as gpus, "
        f"1 + {retries} + (random() < 0.1)::int as attempts, "
        f"{_START} + to_seconds((i::double / {jobs} * {minutes} * 60)::bigint) as submitted_at, "
        "(random() * 14)::int as vc, (random() * 300)::int as u, "
        f"floor(random() * {machines // 2})::int as first, "
        "random() as s, least(30 * 86400, "
        f"exp(7 + {spread} * sqrt(-2 * ln(1 - random())) * cos(6.28 * random()))) as run_s "
        f"from (select i, random() as r from range({jobs}) t(i))"
    )
    stamp = "'%Y-%m-%d %H:%M:%S'"
    con.execute(
        "copy (select case when s < 0.69 then 'Pass' when s < 0.82 then 'Killed' else 'Failed' end "
        "as status, format('vc{:02}', vc) as vc, format('application_1506638472019_{}', i) as "
        "jobid, list_transform(range(attempts), lambda k: {"
        "'start_time': strftime(submitted_at + to_seconds((120 + k * (run_s + 60))::bigint), "
        f"{stamp}), "
        "'end_time': strftime(submitted_at + to_seconds((120 + k * (run_s + 60) + run_s)::bigint), "
        f"{stamp}), "
        "'detail': list_transform(range((gpus + 7) // 8), lambda c: {"
        f"'ip': 'm' || ((first + c) % {machines // 2} * 2), "
        "'gpus': list_transform(range(least(gpus, 8)), "
        "lambda g: 'gpu' || ((g + case when gpus < 8 then i else 0 end) % 8))})}) as attempts, "
        f"strftime(submitted_at, {stamp}) as submitted_time, format('u{{:04}}', u) as user "
        f"from jobs) to '{out}/cluster_job_log' (format json, array true)"
    )


def _samples(
    con: duckdb.DuckDBPyConnection,
    out: Path,
    minutes: int,
    machines: int,
    *,
    hard: bool,
    every: int,
) -> None:
    """Write one row per machine and minute to each file, ordered by time."""
    rows = f"range({minutes} * {machines} // {every}) r(i)"
    if every > 1:
        rows = f"(select i * {every} + floor(random() * {every})::bigint as i from {rows})"
    randoms = ", ".join(f"random() as r{i}" for i in range(8))
    con.execute(
        f"create view readings as select *, {randoms}, strftime(t - case when pdt "
        "then interval 7 hour else interval 8 hour end, '%Y-%m-%d %H:%M:%S') "
        "|| case when pdt then ' PDT' else ' PST' end as time "
        f"from (select i % {machines} as m, {_START} + to_minutes(i // {machines}) as t, "
        f"t < timestamp '2017-11-05 09:00:00' as pdt from {rows})"
    )
    # nearly a third of the readings are zero; some of the others have nine decimals
    value = (
        "case when r{i} < 0.32 then '0.0' when r{i} < 0.4 then '100.0' when r{i} < 0.7 "
        "then (r{i} * 100)::decimal(12, 1)::varchar else (r{i} * 100)::decimal(12, 9)::varchar end"
    )
    if hard:
        value = f"case when r{{i}} > 0.9995 then 'NA' else {value} end"
    v = [value.format(i=i) for i in range(8)]
    doubled = ", ".join(f"{x}, {x}" for x in v)
    gpus = (
        (f"case when m % 200 = 0 then concat_ws(',', {doubled}) || ',' " if hard else "case ")
        + f"when m % 2 = 0 then concat_ws(',', {', '.join(v)}) || ',' "
        f"else concat_ws(',', {v[0]}, {v[0]}, {v[1]}, {v[1]}) || ',,,,,' end"
    )
    files = {
        "cluster_gpu_util": (
            "time,machineId," + ",".join(f"gpu{i}_util" for i in range(8)),
            gpus,
        ),
        "cluster_cpu_util": ("time,machine_id,cpu_util", "(r0 * 100)::decimal(12, 9)::varchar"),
        "cluster_mem_util": (
            "time,machine_id,mem_total,mem_free",
            "'528272752.0,' || (r0 * 528272752)::bigint || '.0'",
        ),
    }
    rows = "readings"
    if hard:
        rows = (
            "(select * from readings where random() > 0.06 "
            "union all from readings where random() < 1e-5)"
        )
    for name, (header, cells) in files.items():
        row = f"concat_ws(',', time, 'm' || m, {cells})"
        if hard:
            row = (
                f"case when random() > 1e-5 then {row} when r1 < 0.3 then 'm' || m when r1 < 0.6 "
                f"then concat_ws(',', time, 'm' || m, 'x', 'y', 'z') else {row} || ',,' end"
            )
        con.execute(
            f'copy (select {row} as "{header}" from {rows}) '
            f"to '{out}/{name}' (format csv, header true, quote '', escape '', delim '\x01')"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--fraction", type=float, default=1.0)
    parser.add_argument("--hard", action="store_true")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--machines", type=int)
    parser.add_argument("--every", type=int, default=1, help="keep one sample row of this many")
    args = parser.parse_args()
    write(
        args.out,
        args.fraction,
        hard=args.hard,
        jobs=args.jobs,
        machines=args.machines,
        every=args.every,
    )
