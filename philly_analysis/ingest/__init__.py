"""Read raw logs into a validated trace, with an account of every raw row."""

from typing import TYPE_CHECKING

from philly_analysis.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from philly_analysis.ingest.downloads.catalogue import datasets, fetch, fetch_all
    from philly_analysis.ingest.ingestion import IngestOptions, ingest
    from philly_analysis.ingest.kubernetes.command import kubectl_command
    from philly_analysis.ingest.raw_traces import raw_as_trace
    from philly_analysis.ingest.slurm.collect import slurm_collect
    from philly_analysis.ingest.slurm.fields import slurm_command
    from philly_analysis.ingest.source_registry import sources
    from philly_analysis.ingest.source_texts import in_words, reads_of, words_of

if not TYPE_CHECKING:  # type checkers would accept every name
    __getattr__, __dir__ = lazy_imports(
        __name__,
        {
            "downloads.catalogue": "datasets fetch fetch_all",
            "ingestion": "IngestOptions ingest",
            "kubernetes.command": "kubectl_command",
            "raw_traces": "raw_as_trace",
            "slurm.collect": "slurm_collect",
            "slurm.fields": "slurm_command",
            "source_registry": "sources",
            "source_texts": "in_words reads_of words_of",
        },
    )
