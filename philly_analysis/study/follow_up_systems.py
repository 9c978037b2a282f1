"""What the systems that followed the study printed, figure by figure, and what is re-run of it."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def published_figures() -> "pd.DataFrame":
    """Return the figures of the papers.

    Columns: system, figure, shows, here (whether it is reproduced: yes, in part, no or not
    checked), why, known (how we know of it).
    """
    import pandas as pd

    return pd.read_csv(Path(__file__).parent / "systems.csv", keep_default_na=False)
