"""Check the Gymnasium environment with Gymnasium's checker and a day worked out by hand."""

import sys
from importlib import import_module

import numpy as np
import pytest

from philly_analysis.errors import SimulationError
from philly_analysis.simulator import policy_named, run
from philly_analysis.workload import JobSpec
from tests.simulator.drawn import done, gantt, job, machines

gymnasium = pytest.importorskip("gymnasium", reason="the extra gym is not installed")
checker = pytest.importorskip("gymnasium.utils.env_checker")
environment = pytest.importorskip("philly_analysis.simulator.environment")

JOBS = [job("a", 0, 1, 10), job("b", 1, 1, 9), job("c", 2, 1, 1)]


def drawn(rng: np.random.Generator) -> list[JobSpec]:
    gangs, runs_s = rng.choice([1, 2, 4], 20), rng.integers(1, 500, 20)
    return [
        job(f"j{i}", 60 * i, int(g), float(s))
        for i, (g, s) in enumerate(zip(gangs, runs_s, strict=True))
    ]


def test_gymnasium_finds_nothing_wrong() -> None:
    checker.check_env(
        environment.SchedulingEnv(drawn, machines(4, 2), window=5), skip_render_check=True
    )


def test_an_episode_is_what_a_learner_decided_and_costs_the_completion_times() -> None:
    env = environment.SchedulingEnv(JOBS, machines(1), window=3)
    seen, info = env.reset()
    rewards, asked, observed = [], [], []
    over = False
    while not over:
        observed.append(seen)
        waits = [seen[3 * at + 2] if info["action_mask"][at] else np.inf for at in range(3)]
        action = int(np.argmin(waits)) if min(waits) < np.inf else 3  # shortest first
        asked.append(info["now_s"])
        seen, reward, over, _, info = env.step(action)
        rewards.append(reward)
    bars = gantt(env.simulation.schedule())
    assert bars == {"a": done(0, 10), "c": done(10, 11), "b": done(11, 20)}
    assert sum(rewards) == pytest.approx(-(10 + 19 + 9) / 3600)
    assert asked == [0, 1, 2, 10, 10, 11]  # b and c come; a ends, c starts, b waits; c ends
    one_s, two_s, nine_s, ten_s = np.log1p([1, 2, 9, 10]) / np.log1p(1e9)
    assert observed[0] == pytest.approx([1, 0, ten_s, *[0] * 6, 1, one_s])
    # at 2 b has waited for 1 s and c has come
    assert observed[2] == pytest.approx([1, one_s, nine_s, 1, 0, one_s, 0, 0, 0, 0, two_s])


def test_who_takes_the_first_that_fits_is_fifo_with_backfill() -> None:
    jobs = drawn(np.random.default_rng(0))
    env = environment.SchedulingEnv(jobs, machines(4, 2), window=20)
    (_, info), over = env.reset(), False
    while not over:
        _, _, over, _, info = env.step(int(np.argmax(info["action_mask"])))
    assert gantt(env.simulation.schedule()) == gantt(
        run(jobs, machines(4, 2), policy_named("fifo", {"backfill": True}))
    )


def test_who_never_starts_anybody_is_asked_again_and_again() -> None:
    env = environment.SchedulingEnv(JOBS, machines(1), window=1, again_s=60.0)
    env.reset()
    told = [env.step(1)[4]["now_s"] for _ in range(4)]
    assert told == [1, 2, 62, 122]


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "philly_analysis.simulator.environment")
    with pytest.raises(SimulationError, match=r"pip install 'philly-analysis\[gym\]'"):
        import_module("philly_analysis.simulator.environment")
