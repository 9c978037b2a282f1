"""Read raw logs into a validated trace, with an account of every raw row."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from philly_analysis.ingest.downloads.catalogue import datasets, fetch, fetch_all
    from philly_analysis.ingest.ingestion import IngestOptions, ingest
    from philly_analysis.ingest.kubernetes.command import kubectl_command
    from philly_analysis.ingest.raw_traces import raw_as_trace
    from philly_analysis.ingest.slurm.collect import slurm_collect
    from philly_analysis.ingest.slurm.fields import slurm_command
    from philly_analysis.ingest.source_registry import sources

_NAMES = {
    "downloads.catalogue": "datasets fetch fetch_all",
    "ingestion": "IngestOptions ingest",
    "kubernetes.command": "kubectl_command",
    "raw_traces": "raw_as_trace",
    "slurm.collect": "slurm_collect",
    "slurm.fields": "slurm_command",
    "source_registry": "sources",
}
"""Names by module."""

_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}
"""Module of each name, which is imported on first use."""

if not TYPE_CHECKING:  # type checkers would accept every name

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
