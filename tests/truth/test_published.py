"""Compare real extracts with the study's tables and the notebook's published curves.

No extract is the archive, so each test says for which part of a finding its extract stands.
"""

import math
from collections import Counter, defaultdict

import numpy as np
import pytest

from philly_analysis.study import published_numbers
from philly_analysis.trace.trace import Trace
from tests.truth import reference
from tests.truth.conftest import Case

pytestmark = pytest.mark.real_data


def share(values: list[float], limit: float) -> float:
    """Share of values up to a limit, in %."""
    return 100 * sum(v <= limit for v in values) / len(values)


@pytest.mark.parametrize("gang", ["1", "2-4", "5-8", ">8"])
def test_run_times_are_those_of_the_notebook(attempts: Case, gang: str) -> None:
    # philly-attempts holds nearly all attempts of the archive. Missing are those without a start
    # or an end, and the waits between attempts; jobs of one second and gang run together.
    with Trace(attempts.trace) as trace:
        rows = trace.sql(
            "select span_s / 60 from job_runs where gang_bucket(gpus) = $gang", gang=gang
        ).fetchall()
    ours = np.sort([run for (run,) in rows])
    curve = published_numbers.curve("run_time", gang)
    gaps = 100 * np.searchsorted(ours, curve["value"]) / len(ours) - curve["cdf_pct"]
    assert np.median(np.abs(gaps)) < 2.5
    # the widest gaps are where the curve is a cliff: thousands of jobs that fail alike at once
    assert np.abs(gaps).max() < 7.5


def test_attempts_are_those_that_others_counted(attempts: Case) -> None:
    # computed by others from the same file
    with Trace(attempts.trace) as trace:
        runs = [run for (run,) in trace.sql("select run_s from attempt_runs order by 1").fetchall()]
        gpu_h = dict(
            trace.sql("select gang_bucket(gpus), sum(gpu_h) from job_runs group by all").fetchall()
        )
    assert len(runs) == 151_816
    assert np.mean(runs) == pytest.approx(23_788, abs=1)
    assert [runs[round(q * (len(runs) - 1))] for q in (0.25, 0.5, 0.75, 0.9)] == pytest.approx(
        [72, 791, 3_309, 20_722], abs=1
    )
    total = sum(gpu_h.values())
    assert total == pytest.approx(3_238_876, abs=1)
    assert {gang: round(100 * h / total, 1) for gang, h in gpu_h.items()} == {
        "1": 18.5,
        "2-4": 19.9,
        "5-8": 49.0,
        ">8": 12.7,
    }


@pytest.mark.parametrize("gang", ["2-4", "5-8", ">8"])
def test_gangs_wait_for_three_minutes_or_not(large_jobs: Case, gang: str) -> None:
    # The study's scheduler holds an incomplete gang for some three minutes, then relaxes; the
    # notebook's curves step there in every virtual cluster. The extract's jobs all passed.
    with Trace(large_jobs.trace) as trace:
        rows = trace.sql(
            "select wait_s / 60 from waits where wait_s > 0 and gang_bucket(gpus) = $gang",
            gang=gang,
        ).fetchall()
    waits = [wait for (wait,) in rows]
    at_the_step = share(waits, 3.4) - share(waits, 2.9)
    before = share(waits, 2.9) - share(waits, 2.4)
    after = share(waits, 3.9) - share(waits, 3.4)
    assert at_the_step > 3 * max(before, after)


@pytest.mark.parametrize("group", ["ee9e8c 5-8", "ee9e8c >8", "7f04ca 2-4", "6c71a0 5-8"])
def test_waits_are_those_of_the_notebook(large_jobs: Case, multigpu: Case, group: str) -> None:
    # Two extracts together know waits and virtual cluster of 2,521 passed jobs that ran ten
    # minutes or more; the notebook draws all jobs, each attempt that waited. Where most jobs of
    # a virtual cluster are of that kind the curves should meet, but for the sampling.
    vc, gang = group.split()
    with Trace(multigpu.trace) as trace:
        of_vc = {
            j for (j,) in trace.sql("select job_id from jobs where vc = $vc", vc=vc).fetchall()
        }
    with Trace(large_jobs.trace) as trace:
        rows = trace.sql(
            "select job_id, wait_s / 60 from waits where wait_s > 0 and gang_bucket(gpus) = $gang",
            gang=gang,
        ).fetchall()
    waits = [wait for job_id, wait in rows if job_id in of_vc]
    assert len(waits) > 100
    # a sample of n differs by so much at most in 99 of 100 cases (Kolmogorov), and the curve's
    # reading and the kinds of jobs left out add a few points
    assert published_numbers.largest_gap_pct(
        published_numbers.curve("queueing_delay", group), waits
    ) < (100 * 1.63 / math.sqrt(len(waits)) + 4)


def test_gangs_sit_on_the_numbers_of_servers_that_the_notebook_draws(multigpu: Case) -> None:
    # the notebook counts placement entries, of jobs with five GPUs and more
    with Trace(multigpu.trace) as trace:
        rows = trace.sql(
            "select gang_bucket(count(*)), count(distinct machine_id || '/' || container) "
            "from placements group by job_id"
        ).fetchall()
    drawn = {tuple(group.split(" GPUs on ")) for group in published_numbers.groups("locality")}
    ours = Counter((gang, str(entries)) for gang, entries in rows if gang in ("5-8", ">8"))
    assert ours.keys() <= drawn
    assert ours["5-8", "1"] > 1_800


def test_sixteen_gpus_are_less_busy_the_more_servers_they_are_on(multigpu: Case) -> None:
    # Table 5: 43.66, 40.94 and 28.56 % on 2, 4 and 8 servers. The extract has jobs that passed
    # or failed, and fourteen minutes of their GPUs seven or eight hours after each start by the
    # mended clock: a minute counts for the job that holds the GPU then, mostly a long one.
    jobs = {j.job_id: j for j in reference.read_jobs(multigpu.raw)}
    pooled: dict[int, list[float]] = defaultdict(list)
    for (job_id, number, _, _), seen in reference.read_gpu_use(multigpu.raw).items():
        attempt = jobs[job_id].attempts[number - 1]
        if len(attempt.held) == 16 and seen.values:
            pooled[len({machine for machine, _ in attempt.held})] += seen.values
    with Trace(multigpu.trace) as trace:
        rows = trace.sql(
            "select servers, sum(sum_pct) / sum(minutes), sum(minutes) from gpu_use "
            "join attempt_servers using (job_id, attempt) "
            "where gpus = 16 and minutes > 0 group by servers"
        ).fetchall()
    assert {servers: minutes for servers, _, minutes in rows} == {
        servers: len(values) for servers, values in pooled.items()
    }
    mean = {servers: mean for servers, mean, _ in rows}
    for servers, values in pooled.items():
        assert mean[servers] == pytest.approx(sum(values) / len(values), rel=1e-9)
    assert mean[2] > mean[4] > mean[8]
    assert [mean[2], mean[4], mean[8]] == pytest.approx([43.66, 40.94, 28.56], abs=10)
