"""What the study printed of how busy GPUs are, by size, ending and spread: Tables 3, 4 and 5."""

from pathlib import Path

from philly_analysis.study.published_numbers import numbers
from philly_analysis.study.terms import STATUSES

SIZES = (1, 4, 8, 16)
"""Gang sizes of Table 3."""

SPREADS = (2, 4, 8)
"""Numbers of servers of the 16-GPU jobs of Table 5."""


def table_3() -> tuple[tuple[int, tuple[float, ...]], ...]:
    """Return mean utilisation in percent, for each gang size and each status.

    Statuses are in the order of :data:`philly_analysis.study.terms.STATUSES`.
    """
    return tuple(
        (g, tuple(numbers()["gpu_util", f"mean_{status}_{g}_pct"].published for status in STATUSES))
        for g in SIZES
    )


def table_4() -> dict[str, float]:
    """Return images per second of a 2-GPU job by its placement (``table4.csv``).

    Both GPUs are in one server (``SameServer``) or in two servers (``DiffServer``). Another gang
    runs beside the job in the same server (``IntraServer``) or in each of the two servers
    (``InterServer``).
    """
    import pandas as pd

    table = pd.read_csv(Path(__file__).parent / "table4.csv")
    return dict(zip(table["placement"], table["images_per_s"], strict=True))


def table_5() -> tuple[tuple[int, float], ...]:
    """Return mean utilisation of 16-GPU jobs by number of servers, relative to the fewest."""
    mean_pct = [
        numbers()["gpu_util_by_servers", f"mean_16_on_{servers}_pct"].published
        for servers in SPREADS
    ]
    return tuple((n, mean / mean_pct[0]) for n, mean in zip(SPREADS, mean_pct, strict=True))
