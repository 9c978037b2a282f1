"""Check advice on large logs: spans that are replayed, and the jobs that they begin with."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from philly_analysis import Trace
from philly_analysis.experiments.advice.baseline import CANDIDATES, fit_baseline
from philly_analysis.experiments.advice.large_log import Span, earlier_jobs, spans_of
from philly_analysis.experiments.advice.recorded import Recorded, _of_span, recorded_scenario
from philly_analysis.experiments.advice.resampling import drawn_month
from philly_analysis.experiments.advice.scenario import LogFacts, jobs_in_period, outcome
from philly_analysis.parallel import InlineExecutor
from philly_analysis.simulator.policies import Easy, Fifo, Policy
from philly_analysis.workload import AttemptSpec
from tests.experiments.test_advice import H, convoys, job, scenario, trace_of

MOST = 80
"""Jobs above which a log is large in these tests."""


POLICIES: dict[str, Policy] = {"fifo": Fifo(), "easy": Easy()}


@pytest.fixture(scope="module", params=POLICIES)
def simulated(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Policy, Recorded, Trace]]:
    """Return a policy, and the record and trace of its cluster: 240 jobs, with a long queue."""
    jobs = convoys(np.random.default_rng(3), load=1.1)
    with trace_of(jobs, tmp_path_factory.mktemp("large"), request.param) as trace:
        yield POLICIES[request.param], recorded_scenario(trace, MOST), trace


def test_the_spans_of_a_large_log_are_in_the_middle_of_its_halves() -> None:
    """Of 400 jobs 4 were submitted before the period; every tenth has no known wait.

    Jobs run 5 s; job 90 never ends.
    """
    waits = [None if i % 10 == 0 else 1.0 for i in range(400)]
    jobs = pl.DataFrame({"job_id": [f"j{i:03d}" for i in range(400)], "submit_s": range(400)})
    ends = [None if i == 90 else i + 5.0 for i in range(400)]
    columns = {"wait_s": pl.Series(waits), "end_s": pl.Series(ends)}
    spans = spans_of(jobs.with_columns(**columns), 40)
    assert [(half.jobs[0], half.jobs[-1], len(half.jobs)) for half in spans.halves] == [
        *(("j093", "j112", 20), ("j291", "j310", 20)),
    ]
    assert spans.halves[0].earlier == ("j089", "j090", "j091", "j092")
    assert spans.last.jobs == tuple(f"j{i:03d}" for i in range(360, 400))
    assert spans.last.earlier == ("j090", "j356", "j357", "j358", "j359")
    assert spans.waits_known == 396 - 39
    assert len(spans.jobs) == 80 + 3 * 4


def test_a_span_begins_with_the_rest_of_the_running_jobs_and_then_with_the_queue() -> None:
    ran = job("ran", 2 * H, submit_s=0.0, gpus=2, time_limit_s=3 * H)
    large = job("large", 5 * H, submit_s=H, gpus=8, time_limit_s=5 * H)
    waited = job("waited", H, submit_s=H, time_limit_s=2 * H)
    retried = job("retried", AttemptSpec(H, "failed"), 3 * H, submit_s=0.0)
    ended = job("ended", H, submit_s=0.0)
    starts_s = {
        "ran": [H],
        "large": [1.5 * H],
        "waited": [5 * H],
        "ended": [0.0],
        "retried": [0.0, 1.5 * H],
    }
    jobs = earlier_jobs([waited, ran, large, retried, ended], starts_s, 2 * H)
    assert [(s.job_id, s.run_s, s.time_limit_s) for s in jobs] == [
        ("large earlier", 4.5 * H + 2, 4.5 * H),
        ("ran earlier", H + 2, 2 * H),
        ("retried earlier", 2.5 * H + 2, None),
        ("waited earlier", H, 2 * H),
    ]
    submitted = [s.submit_s - 2 * H for s in jobs]
    assert submitted == sorted(submitted) and -2 <= submitted[0] < submitted[-1] < 0


def test_a_span_whose_jobs_no_machine_can_run_is_empty() -> None:
    part = _of_span(scenario(job("a", H)), Span(("larger than all servers",), ("a",)), {"a": [0.0]})
    assert part.pools == () and jobs_in_period(part) == []
    log = Recorded(part, LogFacts(), {}, halves=(part, part))
    assert fit_baseline(log, None, InlineExecutor()) is None


def test_a_span_has_the_waits_of_the_whole_log(simulated: tuple[Policy, Recorded, Trace]) -> None:
    """Replays of single spans start jobs in the second of the simulation of the whole log.

    Backfilled jobs may fit elsewhere, since the running jobs are placed anew.
    """
    policy, log, _ = simulated
    assert log.waits_known == 237 and len(log.halves) == 2
    for part, size in ((log.scenario, MOST), *((half, MOST // 2) for half in log.halves)):
        assert part.carried
        outcomes = outcome(replace(part, policy=policy)).select("job_id", "first_wait_s")
        replayed = dict(outcomes.iter_rows())
        counted = [spec.job_id for spec in part.jobs if spec.job_id not in part.carried]
        assert len(counted) == size
        waits_s, known_s = ([of[name] for name in counted] for of in (replayed, log.waits_s))
        assert np.isclose(waits_s, known_s, atol=0.01).mean() >= (1 if policy == Fifo() else 0.9)
        assert max(waits_s) > H
        assert part.carried.isdisjoint(spec.job_id for spec in jobs_in_period(part))
        drawn, _ = drawn_month(part, log.log_facts, 0)
        assert not drawn.carried and not any("earlier" in spec.job_id for spec in drawn.jobs)


def test_policies_are_compared_on_spans_and_levers_priced_on_the_last_jobs(
    simulated: tuple[Policy, Recorded, Trace],
) -> None:
    policy, log, _ = simulated
    fitted = fit_baseline(log, None, InlineExecutor(), CANDIDATES[:3])
    assert fitted is not None
    assert fitted.scenario == replace(log.scenario, policy=policy)
    assert fitted.distance.total == pytest.approx(0, abs=0.01) and fitted.near
    assert "Policies were compared on 80 of 237 jobs, a span of each half" in fitted.sentence
    assert set(fitted.replayed["job_id"]) == {spec.job_id for spec in log.scenario.jobs}
    assert len(fitted.halves) == 2


def test_jobs_of_spans_are_as_in_the_whole_log(
    simulated: tuple[Policy, Recorded, Trace],
) -> None:
    _, part, trace = simulated
    whole = recorded_scenario(trace)
    assert not whole.halves and not whole.scenario.carried
    specs = {spec.job_id: replace(spec, submit_s=0.0) for spec in whole.scenario.jobs}
    for span in (part.scenario, *part.halves):
        own = [spec for spec in span.jobs if spec.job_id not in span.carried]
        assert [replace(spec, submit_s=0.0) for spec in own] == [specs[s.job_id] for s in own]
    assert part.waits_s == {name: whole.waits_s[name] for name in part.waits_s}
    assert part.period_s == whole.period_s
    assert part.scenario.quotas == whole.scenario.quotas
