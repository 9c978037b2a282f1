"""Give the verbs folders of this session where none is named."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from philly_analysis.trace import Trace


def folder_for(out: Path | str | None, name: str) -> Path | str:
    """Return the folder to write to: the given one, or one of this session."""
    if out is not None:
        return out
    from philly_analysis.atomic import scratch_folder

    return scratch_folder() / (name or "trace")


def open_written(folder: Path | str, *, temporary: bool) -> Trace:
    """Open a trace that was written; a temporary folder is removed with it."""
    from philly_analysis.trace import Trace

    return Trace.temporary(Path(folder)) if temporary else Trace(folder)
