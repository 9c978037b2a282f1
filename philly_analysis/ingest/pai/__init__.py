"""Read Alibaba's cluster trace gpu-v2020 (PAI): tables of jobs, tasks, sensors and machines."""

import tomllib
from pathlib import Path

from philly_analysis.errors import InputError
from philly_analysis.ingest.source import RawFiles, Source
from philly_analysis.ingest.table.rows import store
from philly_analysis.ingest.table.table_map import Field, Layout
from philly_analysis.ingest.trace_builder import TraceBuilder

COLUMNS = tomllib.loads(Path(__file__).with_name("columns.toml").read_text("utf-8"))
"""Columns by table."""


def prepare(builder: TraceBuilder, raw: Path) -> RawFiles:
    """Open the folder of the tables; the tables of sensors and machines may be missing.

    Raises
    ------
    InputError
        The table of jobs or of tasks is missing, or a file cannot be read.
    """
    files = {name: sorted(raw.glob(f"pai_{name}.csv*")) for name in COLUMNS}
    if missing := [name for name in ("job_table", "task_table") if not files[name]]:
        raise InputError(f"{raw} has no pai_{missing[0]}.csv: give the folder of the tables.")
    new = {name: builder.store.new_files(paths) for name, paths in files.items()}
    rows = {}
    for name, header in COLUMNS.items():
        fields = {column: Field(column) for column in header}
        layout = Layout(header=tuple(header), nulls=("",), fields=fields)
        rows[name] = store(builder, name, layout, fields, new[name])
    return RawFiles(
        files=tuple(file for paths in new.values() for file in paths),
        records={
            "jobs": rows["job_table"],
            "attempts": rows["job_table"],
            "machines": rows["machine_spec"],
            "summaries": rows["sensor_table"],
        },
        notes=() if rows["machine_spec"] else ("There is no pai_machine_spec.csv.",),
    )


PAI = Source("pai", Path(__file__).parent, prepare)
