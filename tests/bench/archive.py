"""Generate a raw archive of the public Philly trace's size, or of a fraction of it."""

import argparse
from pathlib import Path
from string import Template

import duckdb

JOBS = 117_325
MACHINES = 420
"""Machines that report in each minute of the public trace."""
MINUTES = 106_900
"""Minutes of its utilisation files; with `MACHINES`, 44.9 million rows in each file."""


def write(out: Path, fraction: float, *, hard: bool = False) -> None:
    """Write the five files of an archive, by ``archive.sql``.

    Parameters
    ----------
    fraction
        Share of the public trace's jobs and minutes; above 1, a longer trace.
    hard
        Whether the archive is as hard to read as the public trace. It then covers all its days on
        a fraction of its machines. Jobs hold as many GPU hours as in the trace, on GPUs that
        other jobs hold too, and retry more often. One row in 16 is missing, different ones in
        each file. Some values are NA; some rows have 16 values, repeat, or are malformed.
    """
    out.mkdir(parents=True)
    jobs = round(JOBS * fraction)
    minutes = MINUTES if hard else round(MINUTES * fraction)
    machines = max(2, round(MACHINES * fraction)) if hard else MACHINES
    sql = Template(Path(__file__).with_suffix(".sql").read_text("utf-8"))
    with duckdb.connect() as con:
        con.execute(
            sql.substitute(out=out, jobs=jobs, minutes=minutes, machines=machines, hard=hard)
        )
    (out / "SYNTHETIC.md").write_text(
        f"Generated for measuring only: {jobs:,} jobs and {minutes:,} minutes of {machines} "
        "machines, as many as the public Philly trace times the fraction "
        f"{fraction:g}. Nothing in it was recorded.\n"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--fraction", type=float, default=1.0)
    parser.add_argument("--hard", action="store_true")
    args = parser.parse_args()
    write(args.out, args.fraction, hard=args.hard)
