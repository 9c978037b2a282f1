"""Tells by what raw files are called and begin with which source reads them."""

from pathlib import Path

from philly_analysis.errors import InputError
from philly_analysis.ingest.philly_multigpu import JOBS as MULTIGPU_JOBS
from philly_analysis.ingest.raw_file import first_lines, objects
from philly_analysis.ingest.slurm.accounting_json import is_accounting
from philly_analysis.ingest.slurm.printed import documented, header_of

AUTO = "auto"
"""What stands for the source that the files themselves show."""
_MOST_FILES = 50
_ARCHIVES = (".tar.gz", ".tgz")


def source_of(raw: Path) -> str:
    """Return the name of the source that reads these raw files.

    Raises
    ------
    InputError
        There are none, or nothing is known that reads them.
    """
    if not raw.exists():
        raise InputError(f"there is no {raw}: give a file or a folder of raw logs.")
    files = sorted(p for p in raw.iterdir() if p.is_file()) if raw.is_dir() else [raw]
    names = {file.name for file in files}
    if raw.name.endswith(_ARCHIVES) or any(n.startswith("cluster_job_log") for n in names):
        return "philly"
    if MULTIGPU_JOBS in names:
        return "philly-multigpu"
    if any(name.startswith("pai_job_table.csv") for name in names):
        return "pai"
    if "map.toml" in names or raw.with_name(f"{raw.name.split('.')[0]}.toml").is_file():
        return "table"
    if any(map(_is_sacct, files[:_MOST_FILES])):
        return "slurm"
    raise InputError(
        f"nothing in {raw} shows which source reads it: no cluster_job_log, no output of sacct, no "
        "map beside a table. Name the source: sources() lists them."
    )


def _is_sacct(file: Path) -> bool:
    try:
        lines = first_lines(file)
        if lines and lines[0].lstrip().startswith("{"):
            record = next(objects(file, "jobs"), None)
            return record is not None and is_accounting(record)
    except InputError:
        return False
    return bool(lines) and (header_of(lines[0]) or documented(lines, ())) is not None
