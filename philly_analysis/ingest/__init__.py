"""Raw logs go in; a valid trace comes out, and every raw row is accounted for."""

from philly_analysis.ingest.engine import SOURCES, ingest
from philly_analysis.ingest.failures import FailureOutput
from philly_analysis.ingest.source import Raw, Source

__all__ = ["SOURCES", "FailureOutput", "Raw", "Source", "ingest"]
