"""Check the page of advice: a card for every lever, limits that bind, refused paths."""

from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from philly_analysis import Trace, advise
from philly_analysis.errors import OutputError
from philly_analysis.experiments.advice import LEVERS, Advice, Pricing, result_of, settings
from philly_analysis.experiments.advice.scenario import LogFacts, Scenario, outcome
from philly_analysis.experiments.advice.waiting import binding, dominating, waiting
from philly_analysis.parallel import InlineExecutor
from philly_analysis.report.advising import _write
from philly_analysis.simulator.policies import Easy, Fifo, Limit, Philly, Policy, Slurm
from philly_analysis.workload import AttemptSpec, Estimates, JobSpec
from tests.experiments.test_advice import GIVEN, H, convoys, job, scenario, trace_of
from tests.support.clusters import frame, write_tables

POLICIES: dict[str, Policy] = {
    **dict.fromkeys(("quotas", "locality", "migrate"), Philly()),
    "limits": Easy(),
    "raise_limits": Slurm(),
}
"""Policies of the clusters that levers apply to, where they are not FIFO."""


def wasteful(spec: JobSpec) -> JobSpec:
    """Return a job with a retry, low utilisation, and a generous time limit."""
    user_error = AttemptSpec(H, "failed", failure="Syntax error")
    crash = AttemptSpec(2 * H, "failed", failure="MPI runtime failure")
    runs = (user_error, crash, *spec.attempts)
    return replace(
        spec,
        attempts=runs,
        util_frac=0.1,
        time_limit_s=40 * H,
        status="Failed",
        account="a",
    )


def cluster(lever: str) -> tuple[Scenario, LogFacts]:
    """Return a cluster to which a lever applies."""
    jobs = [wasteful(s) for s in convoys(np.random.default_rng(3), 60, load=0.3)]
    now = scenario(*jobs, policy=POLICIES.get(lever, Fifo()), machines="3x4,1x8")
    now = replace(
        now,
        quotas={"v0": 6, "v1": 6, "v2": 8},
        estimates=Estimates(requested=lever == "limits"),
        limits=(Limit("account a: 4 GPUs", "a", None, None, None, None, "gpus", 4.0),),
    )
    if lever == "cpus":  # single GPUs take all CPUs of a server of 4 GPUs
        now = now.with_jobs(lambda s: replace(s, gpus=1, gpus_by_server=(1,), cpus=16.0))
        [pool] = now.pools
        machines = tuple(replace(m, cpus=4.0 * m.gpus, mem_gb=64.0) for m in pool.machines)
        now = replace(now, pools=(replace(pool, machines=machines),))
    log_facts = LogFacts(
        idle={s.job_id: ((H, 5 * H, True),) for s in jobs[::3]},
        spread=frozenset(s.job_id for s in jobs[::2]),
        binding=frozenset({"account a: 4 GPUs"}),
        broken={s.job_id: frozenset({1}) for s in jobs[::4]},
        worst_servers=(now.pools[0].machines[0].machine_id,),
    )
    return now, log_facts


@pytest.mark.slow
def test_every_lever_gets_a_card_with_its_waits_assumptions_and_settings(tmp_path: Path) -> None:
    best, moved = [], []
    for lever in LEVERS:
        now, log_facts = cluster(lever.name)
        pricing = Pricing(now, log_facts, GIVEN, outcome(now), InlineExecutor())
        found = pricing.over_months(pricing.levers([lever]), 3)
        best += found
        moved += pricing.moved(found)
        assert not pricing.failed
    assert [each.name for each in best] == [lever.name for lever in LEVERS]
    sensitive = {lever.name for lever in LEVERS if lever.moves}
    assert {each.name for each in moved} == sensitive
    now, _ = cluster("locality")
    advice = Advice(None, now, 1000.0, 100.0, best, best, {}, {}, {}, (), moved, "")
    page = _write(advice, GIVEN, result_of(advice, synthetic=True), tmp_path / "page")
    html = unescape(page.read_text("utf-8")).replace("\N{NO-BREAK SPACE}", " ")
    for each in best:
        typed = settings(advice, each, GIVEN)["type"][0]
        assert each.title in html
        assert each.assumes in html
        assert typed.split()[0] in html
    [patient] = [each for each in best if each.name == "locality"]
    # three steps of 6 requests, each of 3 minutes with 2 minutes of back-off
    assert settings(advice, patient, GIVEN)["type"][1] == "sbatch --switches=1@01:30:00"


def limited(folder: Path) -> Path:
    """Return the trace of a server of 8 GPUs whose account may hold 4.

    Each three hours two jobs of 4 GPUs are submitted, which run for an hour: the second waits an
    hour although 4 GPUs are free.
    """
    jobs, attempts, placements = [], [], []
    for nth in range(60):
        name, at = f"j{nth:02}", 180 * (nth // 2)
        begin = at + 60 * (nth % 2)
        jobs.append((name, "v", "u", "lab", 4, at, "Pass"))
        attempts.append((name, 1, begin, begin + 60))
        placements += [(name, 1, "m0", gpu) for gpu in range(4)]
    columns = ("job_id", "vc", "user", "account", "gpus", "submitted_at", "status")
    limits = [("account lab: GPUs", "account", "lab", "gpus", 4.0)]
    return write_tables(
        folder,
        {
            "jobs": frame("jobs", columns, jobs),
            "attempts": attempts,
            "machines": {"m0": 8},
            "placements": placements,
            "limits": frame("limits", ("name", "scope", "account", "resource", "amount"), limits),
        },
    )


@pytest.mark.slow
def test_a_limit_that_binds_is_named_with_what_raises_it(tmp_path: Path) -> None:
    with Trace(limited(tmp_path / "trace")) as trace:
        causes, method = waiting(trace, 30.0)
        [row] = causes.to_dict("records")
        assert (row["cause"], row["name"], row["jobs"]) == ("limit", "account lab: GPUs", 30)
        assert (row["wait_h"], row["share"]) == pytest.approx((30 * 4, 1.0))
        assert dominating(causes, method).startswith("Most waiting has the cause: limit (100 %).")
        [limit] = binding(trace, causes).to_dict("records")
        assert (limit["scope"], limit["owner"], limit["amount"]) == ("account", "lab", 4)
        rare = causes.assign(share=0.049)
        assert binding(trace, rare).empty
        assert dominating(causes[:0], method) == ""
        result = advise(trace, tmp_path / "page", months=0)
    assert "reproduced by: first come, first served within limits" in result.caveats[0]
    assert "mean wait 30 min replayed, 30 min recorded" in result.caveats[0]
    assert result.table["lever"].iloc[0] == "Raise the limits that bind to 1.5 times"
    [limits] = [s for s in result.sentences if "Raise the limit: the table has the command." in s]
    assert limits.startswith("A limit causes 100 % of the waiting, most of it account lab: GPUs.")
    page = (tmp_path / "page" / "report.html").read_text("utf-8")
    assert "sacctmgr modify account name=lab set GrpTRES=gres/gpu=6" in page


def test_a_path_without_a_format_is_refused_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("philly_analysis.experiments.advice.advise", lambda *_: pytest.fail("ran"))
    with (
        trace_of(convoys(np.random.default_rng(7), 20), tmp_path) as trace,
        pytest.raises(OutputError, match=r"adv\.v1: no format \.v1\. Give a folder"),
    ):
        advise(trace, tmp_path / "adv.v1")


@pytest.mark.slow
def test_nobody_gets_a_card_on_waiting_where_nobody_waits(tmp_path: Path) -> None:
    jobs = [job(f"j{i:03}", H, submit_s=H * i, user=f"u{i % 3}", vc="v") for i in range(100)]
    with trace_of(jobs, tmp_path) as trace:
        result = advise(trace, months=0)
    assert result.verdict is None
    [sentence] = result.sentences
    assert "None is recommended" in sentence
    assert "The mean wait is 0 s: no lever can shorten it by much." in sentence
