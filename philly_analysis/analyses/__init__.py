"""Findings: one module per question, with its SQL, its figure and an `Analysis` object.

Modules that several findings share are in :mod:`philly_analysis.analyses.shared`.
"""

from typing import TYPE_CHECKING

from philly_analysis.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from philly_analysis.analyses.chapters import CHAPTERS, FRONT, TRUST

if not TYPE_CHECKING:  # type checkers would accept every name
    __getattr__, __dir__ = lazy_imports(__name__, {"chapters": "CHAPTERS FRONT TRUST"})
