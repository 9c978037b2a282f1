"""Compare mean waits of long runs with queueing theory."""

import math

import numpy as np
import numpy.typing as npt
import pytest

from philly_analysis.simulator import run
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.priority import Fifo, Srtf
from tests.simulator.drawn import job, machines

Floats = npt.NDArray[np.float64]

JOBS, WARM_UP, BATCHES = 20_000, 2_000, 36


def mean_wait_s(
    arrival_s: Floats, service_s: Floats, servers: int, policy: Policy
) -> tuple[float, float]:
    """Return the mean wait and the half width of its 99 % interval, by batch means."""
    specs = [
        job(f"{i:06d}", t, 1, s) for i, (t, s) in enumerate(zip(arrival_s, service_s, strict=True))
    ]
    schedule = run(specs, machines(servers), policy)
    waits = (schedule.jct_s - service_s)[WARM_UP:]
    means = waits.reshape(BATCHES, -1).mean(axis=1)
    return waits.mean(), 2.72 * means.std(ddof=1) / math.sqrt(BATCHES)  # t, 35 degrees, 99 %


def erlang_c(servers: int, load: float) -> float:
    a = servers * load
    top = a**servers / math.factorial(servers) / (1 - load)
    return top / (sum(a**k / math.factorial(k) for k in range(servers)) + top)


@pytest.mark.slow
@pytest.mark.parametrize(("servers", "load"), [(1, 0.5), (8, 0.8)])
def test_m_m_c(servers: int, load: float) -> None:
    rng = np.random.default_rng(7)
    arrival_s = np.cumsum(rng.exponential(1 / (servers * load), JOBS))
    wait_s, half = mean_wait_s(arrival_s, rng.exponential(1, JOBS), servers, Fifo())
    expected = erlang_c(servers, load) / (servers * (1 - load))
    assert wait_s == pytest.approx(expected, abs=half)
    assert half < 0.3 * expected


def test_one_server_waits_as_lindley_says() -> None:
    rng = np.random.default_rng(6)
    gaps_s, service_s = rng.exponential(1.25, 2_000), rng.exponential(1, 2_000)
    arrival_s = np.cumsum(gaps_s)
    specs = [
        job(f"{i:06d}", t, 1, s) for i, (t, s) in enumerate(zip(arrival_s, service_s, strict=True))
    ]
    wait_s = [0.0]
    for gap_s, before_s in zip(gaps_s[1:], service_s, strict=False):
        wait_s.append(max(0.0, wait_s[-1] + before_s - gap_s))
    got = run(specs, machines(1), Fifo()).jct_s - service_s
    assert got == pytest.approx(np.array(wait_s), abs=1e-6)


@pytest.mark.slow
def test_m_g_1_under_srtf_schrage_and_miller() -> None:
    """Mean time in system under SRPT with two sizes, by the formula of Schrage and Miller."""
    rng = np.random.default_rng(9)
    rate, sizes, shares = 0.6, (0.5, 3.0), (0.8, 0.2)
    service_s = rng.choice(sizes, JOBS, p=shares)
    arrival_s = np.cumsum(rng.exponential(1 / rate, JOBS))
    wait_s, half = mean_wait_s(arrival_s, service_s, 1, Srtf())

    def expected(x: float) -> float:
        up_to = [(s, p) for s, p in zip(sizes, shares, strict=True) if s <= x]
        rho = rate * sum(s * p for s, p in up_to)  # equal sizes are served first come first
        below = [(s, p) for s, p in up_to if s < x]
        # jobs of its own size that were there first count whole, as in FCFS
        residual = rate * sum(p * min(s, x) ** 2 for s, p in zip(sizes, shares, strict=True)) / 2
        rho_below = rate * sum(s * p for s, p in below)
        waiting = residual / ((1 - rho_below) * (1 - rho))
        grid = np.linspace(0, x, 20_001)[1:] - x / 40_000
        load_at = np.array([rate * sum(s * p for s, p in up_to if s < t) for t in grid])
        return waiting + float((x / 20_000 / (1 - load_at)).sum())

    exact = sum(p * expected(s) for s, p in zip(sizes, shares, strict=True))
    assert wait_s + service_s.mean() == pytest.approx(exact, abs=half)
