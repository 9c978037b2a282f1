"""Figures that papers of the systems after the study printed, and which figures are re-run."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def published_figures() -> "pd.DataFrame":
    """Return the figures of the papers.

    Columns: system, figure, shows, here (whether the figure is reproduced: yes, in part, no or not
    checked), why, obtained (how we know of the figure).
    """
    import pandas as pd

    return pd.read_csv(Path(__file__).parent / "systems.csv", keep_default_na=False)
