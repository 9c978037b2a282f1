"""Traces on disk and open: schema, manifest, SQL relations, integrity, object storage, cache."""

from philly_analysis.trace.analysis import Analysis
from philly_analysis.trace.appended import APPENDED_JOBS, JOB_TABLES
from philly_analysis.trace.checksums import (
    Digest,
    digest,
    digest_of,
    digests,
    matches_any,
    text_digest,
)
from philly_analysis.trace.code_identity import code_version
from philly_analysis.trace.columns import Column, Table, TextKind
from philly_analysis.trace.connection import escape_glob, limit_memory
from philly_analysis.trace.folder import replaced_error
from philly_analysis.trace.in_memory import Frame, Frames
from philly_analysis.trace.integrity import verify
from philly_analysis.trace.manifest import (
    DUPLICATES,
    MANIFEST,
    RAW,
    SELECTION_CRITERIA,
    Account,
    Input,
    Manifest,
    Sample,
    find_files,
)
from philly_analysis.trace.object_storage import (
    fetch_raw,
    fetch_trace,
    is_address,
    upload_appended,
)
from philly_analysis.trace.opening import TraceLike, open_trace
from philly_analysis.trace.queries import query, tables
from philly_analysis.trace.quotas import QUOTAS_NOTE, Quotas, read_quotas, write_quotas
from philly_analysis.trace.relations import (
    MACROS,
    Relation,
    macro_connection,
    tables_read,
    with_dependencies,
)
from philly_analysis.trace.result_cache import (
    is_unchanged,
    load_figure,
    load_result,
    load_table,
    record_page,
    store_figure,
    store_result,
    store_table,
)
from philly_analysis.trace.sample_reader import MINUTE_US, FloatArray, IntArray, timestamps_us
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
from philly_analysis.trace.selection import is_selected
from philly_analysis.trace.trace import Trace
from philly_analysis.trace.views import evaluate
from philly_analysis.trace.writer import (
    append_to,
    create_trace,
    replace_manifest,
    write_manifest,
    write_tables,
    write_trace,
)
