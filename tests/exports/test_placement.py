"""Check placements on an infinite cluster: no GPU twice at once, as few servers as possible."""

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from philly_analysis.exports.placement import colour_intervals, place

INTERVALS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 15)), min_size=1, max_size=30)


@given(INTERVALS)
def test_overlapping_intervals_differ_in_colour_and_colours_are_few(
    drawn: list[tuple[int, int]],
) -> None:
    start = np.array([s for s, _ in drawn])
    end = start + np.array([length for _, length in drawn])
    slot = colour_intervals(start, end)
    until = np.maximum(end, start + 1)
    for i in range(len(drawn)):
        for j in range(i):
            if slot[i] == slot[j]:
                assert until[i] <= start[j] or until[j] <= start[i]
    busiest = max(((start <= t) & (t < until)).sum() for t in range(60))
    assert slot.max() + 1 == busiest


@given(st.lists(st.tuples(st.integers(1, 20), st.integers(0, 40), st.integers(0, 15)), max_size=15))
def test_gangs_are_placed_on_the_fewest_servers(
    drawn: list[tuple[int, int, int]],
) -> None:
    gangs = pl.DataFrame(
        {
            "job_id": [f"j{i}" for i in range(len(drawn))],
            "attempt": [1] * len(drawn),
            "gpus": [g for g, _, _ in drawn],
            "started_at": [s for _, s, _ in drawn],
            "ended_at": [s + length for _, s, length in drawn],
        },
        schema_overrides={"job_id": pl.String, "gpus": pl.Int32},
    )
    placed = place(gangs, first=7)
    allocated: dict[tuple[str, int, int], str] = {}
    for i, (gpus, start, length) in enumerate(drawn):
        mine = placed.filter(pl.col("job_id") == f"j{i}")
        assert mine["gpu"].list.len().sum() == gpus
        assert mine.height == mine["machine_id"].n_unique() == -(-gpus // 8)
        assert sorted(mine["container"]) == list(range(mine.height))
        for machine, indices in mine.select("machine_id", "gpu").iter_rows():
            assert int(machine[1:]) >= 7 and set(indices) <= set(range(8))
            for moment in range(start, start + max(length, 1)):
                for gpu in indices:
                    assert allocated.setdefault((machine, gpu, moment), f"j{i}") == f"j{i}"
