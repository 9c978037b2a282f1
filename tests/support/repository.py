"""Locate the repository, its sample and the pages of its documentation."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "data" / "sample"
DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if DOCS / "made" not in page.parents)
"""Pages of ``docs/``, without those that are generated."""
