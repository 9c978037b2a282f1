"""Find the stored records of Slurm's accounting that new records of the same jobs touch."""

import duckdb

from philly_analysis.ingest.raw_store import RawStore
from philly_analysis.ingest.slurm.fields import READ
from philly_analysis.ingest.sql import parquet_scan
from philly_analysis.trace import RAW

_KEYS = "[jobidraw, split_part(jobid, '_[', 1)]"
"""Names under which sacct prints a job: its number, and its task of an array."""
_TOUCHED = (
    "jobidraw in (select key from touched_keys) "
    "or split_part(jobid, '_[', 1) in (select key from touched_keys) "
    "or coalesce(jobid, jobidraw) is null"
)


def merge_touched_records(con: duckdb.DuckDBPyConnection, raw_store: RawStore) -> int:
    """Store new records, and add stored records of the same jobs to ``sacct``.

    Records without a job are added as well.

    Returns
    -------
    int
        Number of stored records that were dropped because new records equal them.
    """
    stored = parquet_scan(raw_store.files(f"{RAW}/sacct"))
    con.execute(f"create table touched_keys as select distinct unnest({_KEYS}) as key from sacct")
    con.execute("delete from touched_keys where key is null")
    grown = 1
    while grown:  # a stored record may have further names of a job
        before = len(con.table("touched_keys"))
        con.execute(
            f"insert into touched_keys select distinct unnest({_KEYS}) as key "
            f"from {stored} where {_TOUCHED} except from touched_keys"
        )
        con.execute("delete from touched_keys where key is null")
        grown = len(con.table("touched_keys")) - before
    return raw_store.merge_touched(con, "sacct", ("fault", *READ), _TOUCHED)
