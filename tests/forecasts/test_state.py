"""Compare the states at submission with plain loops over the jobs, on random queues."""

import math

import numpy as np
import pandas as pd
import pytest

from philly_analysis.forecasts import Queue
from philly_analysis.forecasts.state import submission_states

HOUR = 3_600.0


def random_queue(seed: int, jobs: int = 60) -> Queue:
    """Return a queue with jobs that wait, run, give up and never end, many at equal moments."""
    rng = np.random.default_rng(seed)
    entered = np.sort(rng.integers(0, 40, jobs)) * 600.0
    started = entered + rng.choice([0, 0, 600, 1_800, 9_000, np.inf], jobs)
    gave_up = entered + 1_200.0
    left = np.where(np.isfinite(started), started, rng.choice([0, np.inf], jobs) + gave_up)
    frame = pd.DataFrame(
        {
            "job_id": [f"j{i:02}" for i in range(jobs)],
            "vc": rng.choice(["a", "b"], jobs),
            "account": "one",
            "user": rng.choice(["u", "v", "w"], jobs),
            "qos": None,
            "gpus": rng.choice([1.0, 2.0, 8.0], jobs),
            "servers": np.nan,
            "cpus": np.nan,
            "mem_gb": np.nan,
            "time_limit_s": np.nan,
            "entered_s": entered,
            "started_s": started,
            "left_s": left,
            "ended_s": started + rng.choice([600, 7_200, np.inf], jobs),
        }
    )
    return Queue(frame, 50_000.0)


def states_of(queue: Queue) -> pd.DataFrame:
    return submission_states(queue, queue.jobs.assign(ahead=np.arange(len(queue.jobs))))


@pytest.mark.parametrize("seed", range(3))
def test_states_count_the_jobs_that_a_loop_counts(seed: int) -> None:
    queue = random_queue(seed)
    states = states_of(queue)
    rows = queue.jobs.to_dict("records")
    for i, job in enumerate(rows):
        now = job["entered_s"]
        for name, alike in (
            ("all", lambda other: True),
            ("vc", lambda other, job=job: other["vc"] == job["vc"]),
            ("gang", lambda other, job=job: other["gpus"] == job["gpus"]),
        ):
            others = [other for other in rows if alike(other)]
            ahead = [other for other in rows[:i] if alike(other)]
            waiting = [o for o in ahead if not o["left_s"] < now]
            running = [o for o in others if o["started_s"] < now and not o["ended_s"] < now]
            begun = [o for o in others if now - HOUR <= o["started_s"] < now]
            ended = [o for o in others if now - HOUR <= o["entered_s"] < now]
            gave_up = [o for o in others if o["left_s"] < now and math.isinf(o["started_s"])]
            assert gave_up is not None
            assert states[f"waiting_gpus_{name}"][i] == sum(o["gpus"] for o in waiting)
            assert states[f"waiting_jobs_{name}"][i] == len(waiting)
            assert states[f"running_gpus_{name}"][i] == sum(o["gpus"] for o in running)
            assert states[f"started_jobs_{name}"][i] == len(begun)
            assert states[f"submitted_jobs_{name}"][i] == len(ended)
            oldest = max((now - o["entered_s"] for o in waiting), default=math.expm1(-1))
            assert states[f"oldest_{name}"][i] == pytest.approx(
                math.log1p(oldest) if waiting else -1
            )
            known = sorted(
                (o for o in others if o["started_s"] < now), key=lambda o: o["started_s"]
            )
            if known and sum(o["started_s"] == known[-1]["started_s"] for o in known) == 1:
                last = known[-1]["started_s"] - known[-1]["entered_s"]
                assert states[f"last_1_{name}"][i] == pytest.approx(math.log1p(last))
            elif not known:
                assert math.isnan(states[f"last_1_{name}"][i])


def test_later_events_do_not_change_a_state() -> None:
    queue = random_queue(7)
    moment = float(queue.entered_s[40])
    early = states_of(queue)[queue.entered_s < moment]
    cut = queue.until(moment)
    assert not np.isfinite(cut.jobs["started_s"][cut.jobs["started_s"] >= moment]).any()
    pd.testing.assert_frame_equal(states_of(cut), early[states_of(cut).columns])


def test_a_new_job_sees_the_queue_that_the_last_job_leaves() -> None:
    queue = random_queue(5)
    asked = queue.jobs.tail(1).assign(entered_s=queue.end_s, ahead=len(queue.jobs))
    state = submission_states(queue, asked).iloc[0]
    waiting = queue.jobs[~(queue.jobs["left_s"] < queue.end_s)]
    assert state["waiting_gpus_all"] == waiting["gpus"].sum()
