"""Compare incremental capacity searches with searches over all servers."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from philly_analysis.simulator.cluster.allocation import Allocation, Cluster, set_bits
from philly_analysis.simulator.cluster.capacity import fit
from philly_analysis.simulator.cluster.freed_capacity import FreedCapacity
from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS
from philly_analysis.simulator.cluster.request import Request
from philly_analysis.simulator.jobs import queue_arrays
from philly_analysis.simulator.jobs.ordering import SortedJobs
from philly_analysis.simulator.jobs.queue_arrays import QueueArrays
from tests.simulator.drawn import machines
from tests.simulator.test_ordering import jobs


def looked_for(cluster: Cluster, gpus: int, cpus: float, mem_gb: float) -> dict[int, int] | None:
    """GPUs by machine: the fullest machine that will do, or the emptiest ones for a large gang."""
    room = [
        int(min(c / cpus if cpus else 9, m / mem_gb if mem_gb else 9) + 1e-6)
        for c, m in zip(cluster.free_cpus, cluster.free_mem_gb, strict=True)
    ]
    free = [len(set_bits(mask)) for mask in cluster.free_gpus]
    if gpus <= cluster.largest_server:
        fitting = [(free[m], m) for m in range(len(free)) if min(free[m], room[m]) >= gpus]
        return {min(fitting)[1]: gpus} if fitting else None
    taken, missing = {}, gpus
    for m in sorted(range(len(free)), key=lambda m: (-free[m], m)):
        if count := min(missing, free[m], room[m]):
            taken[m] = count
            missing -= count
    return None if missing else taken


@given(
    st.lists(
        st.tuples(
            st.integers(1, 7),
            st.sampled_from([0.0, 1.0, 3.0, 4.5]),
            st.sampled_from([0.0, 20.0, 125.0]),
            st.booleans(),
        ),
        max_size=30,
    )
)
def test_a_search_finds_what_going_through_the_machines_finds(
    steps: list[tuple[int, float, float, bool]],
) -> None:
    cluster = Cluster([replace(m, cpus=3.0 * m.gpus, mem_gb=250) for m in machines(4, 2, 4, 3)])
    taken: list[Allocation] = []
    for gpus, cpus, mem_gb, try_it in steps:
        expected, computed = (
            looked_for(cluster, gpus, cpus, mem_gb),
            fit(cluster, Request(gpus * GPU_UNITS, cpus, mem_gb)),
        )
        assert (computed and {m: len(set_bits(mask)) for m, mask in computed.shares}) == expected
        if computed is None:
            if taken:
                cluster.release(taken.pop(0))
        elif try_it:
            cluster.begin_trial()
            cluster.allocate(computed)
            fit(cluster, Request(GPU_UNITS, cpus, mem_gb))
            cluster.roll_back()
        else:
            cluster.allocate(computed)
            taken.append(computed)


@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.booleans(), st.integers(0, 3), st.booleans()), max_size=60
    )
)
def test_a_line_is_in_step_with_its_order(steps: list[tuple[int, bool, int, bool]]) -> None:
    some, order = jobs(10), SortedJobs()
    arrays = QueueArrays(order, lambda job: (job.index, job.index**2))
    for which, there, key, look in steps:
        order.discard(some[which])
        if there:
            order.add(some[which], key)
        if look and order:
            with patch.object(queue_arrays, "_SPARE", 1):  # so that the arrays grow
                index, squared = arrays.columns()
            assert [place.job for place in arrays.entries] == list(order)
            assert index.tolist() == [job.index for job in order]
            assert np.array_equal(index**2, squared)


@pytest.mark.parametrize(
    ("beside", "size", "fits"),
    [
        (0, GPU_UNITS, True),
        (9, GPU_UNITS - 9, True),
        (9, GPU_UNITS - 8, False),
        (GPU_UNITS, 9, False),
    ],
)
def test_a_request_fits_on_a_freed_gpu_beside_another_one(
    beside: int, size: int, fits: bool
) -> None:
    cluster, [gpu] = Cluster(machines(1)), [(0, 1)]
    half = Allocation((gpu,), 1, units=GPU_UNITS // 2)
    cluster.allocate(half)
    freed = FreedCapacity(cluster, Request(size))
    freed.add(half)
    other = Allocation((gpu,), 1, units=beside) if beside else None
    assert freed.fits(beside=other) == fits
    assert freed.free == 1
