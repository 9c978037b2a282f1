"""What the systems that followed the study printed, figure by figure, and what is re-run of it."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


HERE = ("yes", "in part", "no", "not checked")
"""Whether a figure is reproduced."""


def published_figures(system: str | None = None) -> "pd.DataFrame":
    """Return the figures of a system's paper, or of all.

    Columns: system, figure, shows, here (see :data:`HERE`), why, known (how we know of it).
    """
    import pandas as pd

    table = pd.read_csv(Path(__file__).parent / "systems.csv", keep_default_na=False)
    return table if system is None else table[table["system"] == system].reset_index(drop=True)
