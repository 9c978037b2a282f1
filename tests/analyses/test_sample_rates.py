"""Check samples of any rate against one per minute, and uneven ones against a reference."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
from polars import selectors as cs
from polars.testing import assert_frame_equal

from philly_analysis.errors import TraceError
from philly_analysis.exports.formats import opendc
from philly_analysis.trace.trace import Trace
from tests.analyses.samples import MINUTE, Tables, resampled, sampled_cluster
from tests.support.clusters import write_tables
from tests.support.slow import quick_first

RATES = (7.5, 15.0, 30.0, 60.0, 300.0)
ANSWERS = (
    "gpu_use gpu_use_bins attempt_use gpu_util_bins gpu_use_gaps sampled_attempts gpu_util "
    "gpu_util_by_servers gpu_util_dedicated locality_effect model_use gpu_sample_hours "
    "host_sample_hours host_util_bins host_util notebook_gpu_util notebook_gpu_util_bins "
    "occupancy overview"
)

BARE = {"gpu_util_dedicated", "notebook_gpu_util", "notebook_gpu_util_bins"}
"""Answers that the random cluster may have no rows for."""


def steady(seed: int) -> Tables:
    """The random cluster, its samples the same through each five minutes, or missing in all."""
    tables = sampled_cluster(seed)
    fifth = timedelta(minutes=5)
    for name in ("gpu_samples", "host_samples"):
        kept = (
            tables[name]
            .with_columns(pl.col("sampled_at").dt.truncate(fifth))
            .unique(["sampled_at", "machine_id"], keep="first", maintain_order=True)
        )
        # a fifth of them go: what sampled_cluster leaves out is only single minutes
        kept = kept.filter(pl.int_range(pl.len()) % 5 != 0)
        minutes = pl.DataFrame({"m": [i * MINUTE for i in range(5)]})
        tables[name] = (
            kept.join(minutes, how="cross")
            .with_columns(pl.col("sampled_at") + pl.col("m"))
            .drop("m")
        )
    return tables


@pytest.fixture(scope="module")
def per_minute(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Tables, Trace]]:
    tables = steady(5)
    with Trace(write_tables(tmp_path_factory.mktemp("rates") / "t", tables)) as trace:
        yield tables, trace


@pytest.mark.slow
@pytest.mark.parametrize(
    "seconds",
    [300.0, *(pytest.param(s, marks=pytest.mark.slow) for s in RATES if s < 300)],
)
def test_every_answer_is_that_of_one_sample_a_minute(
    seconds: float, per_minute: tuple[Tables, Trace], tmp_path: Path
) -> None:
    tables, trace = per_minute
    questions = {name: f"from {name}" for name in ANSWERS.split()} | {"opendc": opendc.UTILISATION}
    with Trace(write_tables(tmp_path / "t", resampled(tables, seconds))) as other:
        for name, question in questions.items():
            one, same = (t.sql(question).pl() for t in (trace, other))
            assert one.height > 0 or name in BARE, name
            equal(same, one)


def equal(actual: pl.DataFrame, expected: pl.DataFrame) -> None:
    """The same rows: texts and whole numbers exactly, others but for the order of their sum."""
    # where only fractions tell rows apart, their last digits must not decide on the order
    order = (~cs.float(), cs.float().round_sig_figs(9))
    one, same = (f.sort(*order, nulls_last=True) for f in (expected, actual))
    assert_frame_equal(same, one, rel_tol=1e-12, abs_tol=1e-9)


@pytest.mark.parametrize("seconds", quick_first([0.0, -15.0, 3_601.0]))
def test_a_sample_lasts_up_to_an_hour(seconds: float, tmp_path: Path) -> None:
    tables = steady(5)
    tables["gpu_samples"] = tables["gpu_samples"].with_columns(seconds=pl.lit(seconds))
    with pytest.raises(TraceError, match="seconds fails"):
        write_tables(tmp_path / "t", tables)
