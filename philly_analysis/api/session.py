"""Choose folders for outputs without a named folder, and open the traces written there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from philly_analysis.trace import Trace


def folder_for(out: Path | str | None, name: str) -> Path | str:
    """Return the named folder, or a folder that is removed when the session ends."""
    if out is not None:
        return out
    from philly_analysis.atomic import scratch_folder

    return scratch_folder() / (name or "trace")


def open_written(folder: Path | str, *, temporary: bool) -> Trace:
    """Open a trace that was just written; closing a temporary trace removes its folder."""
    from philly_analysis.trace import Trace

    return Trace.temporary(Path(folder)) if temporary else Trace(folder)
