"""Offer the fixtures of ingest."""

from tests.ingest.conftest import ingested

__all__ = ["ingested"]
