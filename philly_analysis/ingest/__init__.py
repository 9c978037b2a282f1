"""Read raw logs into a validated trace, with an account of every raw row."""

from philly_analysis.ingest.downloads.catalogue import datasets, fetch, fetch_all
from philly_analysis.ingest.ingestion import IngestOptions, ingest
from philly_analysis.ingest.raw_traces import raw_as_trace
from philly_analysis.ingest.slurm.collect import slurm_collect
from philly_analysis.ingest.slurm.fields import slurm_command
from philly_analysis.ingest.source_registry import sources
