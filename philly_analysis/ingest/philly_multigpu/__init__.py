"""Read an extract of the Philly archive: 5,910 jobs on several GPUs, with utilisation.

The extract is converted to the archive's layout and then read as the archive.
"""

from dataclasses import replace
from pathlib import Path

from philly_analysis.errors import InputError
from philly_analysis.ingest import philly
from philly_analysis.ingest.philly_multigpu.files import JOBS, UTILISATION
from philly_analysis.ingest.source import RawFiles, Source
from philly_analysis.ingest.trace_builder import TraceBuilder
from philly_analysis.trace import Sample

SAMPLE = Sample(
    how="Jobs on more than one GPU that passed or failed, whose last attempt ran for five minutes "
    "or more. Of each job, that attempt only. Readings are of 14 minutes, 7 or 8 hours after its "
    "start, where it still ran then.",
    by=("status", "gang", "run_time", "attempts"),
)


def prepare(builder: TraceBuilder, raw: Path) -> RawFiles:
    """Convert the extract to the archive's layout, and open that.

    Raises
    ------
    InputError
        A file of the extract is missing or cannot be read.
    """
    from philly_analysis.ingest.philly_multigpu.conversion import ERRORS, convert

    files = tuple(raw / name for name in (JOBS, *UTILISATION))
    if missing := [file.name for file in files if not file.is_file()]:
        raise InputError(f"{raw} has no {missing[0]}: give the folder of the extract.")
    new = tuple(builder.store.new_files(files))
    if not new:
        return RawFiles(files=())
    archive = builder.scratch / "archive"
    try:
        convert(raw, archive)
    except ERRORS as error:
        raise InputError(f"{raw} is not the published extract: {error}.") from None
    opened = philly.prepare(builder, archive)
    return replace(opened, files=new, sample=SAMPLE)


PHILLY_MULTIGPU = replace(philly.PHILLY, name="philly-multigpu", prepare=prepare)
