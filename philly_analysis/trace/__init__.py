"""A trace: its tables on disk, opened for SQL; schema, manifest, relations, integrity, storage."""

from philly_analysis.trace.checksums import Digest, digest, digest_of, digests, is_one_of
from philly_analysis.trace.columns import Column, Table, Tells
from philly_analysis.trace.in_memory import is_selected
from philly_analysis.trace.integrity import verify
from philly_analysis.trace.manifest import (
    AGAIN,
    CHOSEN_BY,
    MANIFEST,
    RAW,
    Account,
    Input,
    Manifest,
    Sample,
    laid_out,
)
from philly_analysis.trace.object_storage import at_hand, copied, grown
from philly_analysis.trace.queries import query, tables
from philly_analysis.trace.quotas import SAID, Quotas, quotas_given, write_quotas
from philly_analysis.trace.relations import (
    MACROS,
    Relation,
    behind,
    engine,
    glob_safe,
    tables_read,
)
from philly_analysis.trace.result_cache import load_figure, load_result, store_figure, store_result
from philly_analysis.trace.sample_reader import MINUTE_US, Real, Whole, moments_us
from philly_analysis.trace.schema import (
    ATTEMPTS,
    DEVICES,
    FAILURES,
    GPU_SAMPLES,
    HOLDS,
    HOST_SAMPLES,
    JOBS,
    MACHINES,
    PLACEMENTS,
    REJECTS,
    TABLES,
    VERSION,
    VIRTUAL_CLUSTERS,
)
from philly_analysis.trace.trace import MEMORY_LIMIT, Trace, TraceLike, ask, opened, replaced
from philly_analysis.trace.writer import fill, growing, new_folder, seal, swap, write
