"""Read the causes of waits that the simulator recorded."""

from pathlib import Path

import polars as pl


def simulated_causes(trace: Path) -> pl.DataFrame:
    """Return the waits of a simulated trace: seconds by cause, and the cause as in the log."""
    waits = pl.read_parquet(trace / "known_causes.parquet")
    other = pl.col("other_s") > pl.sum_horizontal("fair_share_s", "fragmentation_s", "other_s") / 2
    fair = pl.col("fair_share_s") >= pl.col("fragmentation_s")
    return waits.drop("start_up_s").with_columns(
        cause=pl.when(other)
        .then(pl.lit("other"))
        .when(fair)
        .then(pl.lit("fair_share"))
        .otherwise(pl.lit("fragmentation"))
    )
