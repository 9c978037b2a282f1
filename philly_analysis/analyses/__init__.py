"""Findings: one module per question, with its SQL, its figure and an `Analysis` object.

Modules that several findings share are in :mod:`philly_analysis.analyses.shared`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from philly_analysis.analyses.chapters import CHAPTERS, FRONT


if not TYPE_CHECKING:  # type checkers would accept every name

    def __getattr__(name: str) -> Any:
        if name not in ("CHAPTERS", "FRONT"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from philly_analysis.analyses import chapters  # imports every finding, on first use

        return getattr(chapters, name)
