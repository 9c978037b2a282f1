"""Open DuckDB connections with the package's macros, settings and optional tables."""

from collections.abc import Collection, Iterable
from pathlib import Path

import duckdb

from philly_analysis.errors import UnknownNameError
from philly_analysis.memory import engine_bytes, most_threads
from philly_analysis.parallel import cores
from philly_analysis.progress import silence
from philly_analysis.study import RunPolicy
from philly_analysis.trace.relations import MACROS
from philly_analysis.trace.schema import DEVICES, MACHINES, TABLES, VIRTUAL_CLUSTERS

SETTINGS = "settings"
"""Relation with the settings that a trace was opened with."""
OPTIONAL = {
    "given_quotas": VIRTUAL_CLUSTERS,
    "given_cohorts": TABLES["cohorts"],
    "given_machines": MACHINES,
    "telemetry_devices": DEVICES,
    "given_limits": TABLES["limits"],
    "given_queue_states": TABLES["queue_states"],
    "given_host_allocations": TABLES["host_allocations"],
    "given_server_closures": TABLES["server_closures"],
}
"""Relations that have a table's rows, or none if the trace lacks the table."""


def connect(
    folders: Iterable[Path], scratch: Path, run_policy: RunPolicy, jobs: int
) -> duckdb.DuckDBPyConnection:
    """Open a connection that can read some folders only, and spills to another folder.

    Parameters
    ----------
    jobs
        Number of jobs of the trace: many jobs with little memory are computed by fewer threads.
    """
    con = duckdb.connect(config={"threads": most_threads(cores(), jobs)})
    limit_memory(con, scratch)
    con.execute("set preserve_insertion_order = false")
    allowed = [text for path in folders for text in (str(path), escape_glob(path))]
    con.execute("set allowed_directories = $folders", {"folders": [*allowed, str(scratch)]})
    con.execute("set enable_external_access = false")
    prepare(con, run_policy)
    con.execute("set lock_configuration = true")
    return con


def limit_memory(con: duckdb.DuckDBPyConnection, spill: Path) -> None:
    """Let the engine use this process's part of the memory budget, and spill to a folder."""
    con.execute("set memory_limit = $limit", {"limit": f"{engine_bytes()}B"})
    con.execute("set temp_directory = $folder", {"folder": str(spill)})


def keep_with(con: duckdb.DuckDBPyConnection, thing: object) -> None:
    """Keep a reference to an object until the connection and all its relations are gone."""
    con.create_function("keeps_reference", lambda: str(id(thing)), [], "VARCHAR")


def prepare(con: duckdb.DuckDBPyConnection, run_policy: RunPolicy) -> None:
    """Create the package's macros, and the relation of its settings."""
    silence(con)
    con.execute(MACROS)
    create_settings(con, run_policy)


def create_settings(con: duckdb.DuckDBPyConnection, run_policy: RunPolicy) -> None:
    """Create the relation of the settings."""
    con.execute(f"create temp table {SETTINGS} as select $p as run_policy", {"p": str(run_policy)})


def create_optional(con: duckdb.DuckDBPyConnection, present: Collection[str]) -> None:
    """Create the relations of :data:`OPTIONAL`, beside the tables that are present."""
    for name, table in OPTIONAL.items():
        none = f"select {table.typed_columns(())} where false"
        rows = f"from {table.name}" if table.name in present else none
        con.execute(f"create temp view {name} as {rows}")


def parse_run_policy(run_policy: RunPolicy | str) -> RunPolicy:
    """Return a run policy by its name; UnknownNameError: there is none."""
    if run_policy not in list(RunPolicy):
        raise UnknownNameError("run policy", run_policy, list(RunPolicy))
    return RunPolicy(run_policy)


def escape_glob(path: Path) -> str:
    """Return a path whose wildcards the engine takes literally."""
    return "".join(f"[{c}]" if c in "[*?" else c for c in str(path))


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, and the names that DuckDB suggests."""
    first, *others = str(error).split("\n")
    near = (line for line in others if line.startswith(("Candidate", "Did you mean")))
    return " ".join([first, *near])
