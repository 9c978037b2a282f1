"""Check the summary chapter on a cluster drawn by hand."""

import math

import pandas as pd
import pytest
from matplotlib.patches import Rectangle

from philly_analysis.analyses import gpus_in_use, how_used, why_failures, why_waits, worst_offenders
from philly_analysis.results import Verdict, duration
from philly_analysis.trace.trace import Trace
from tests.support.clusters import MakeTrace, Rows, frame
from tests.support.facts import number, verdict
from tests.support.slow import quick_first

# Two servers of 4 GPUs; minutes.
#   m0  a a a a a a c c c c c c . f f f f f f f    a: 4 GPUs, 0-60    c: 4, 60-120  f: 2, 125-200
#   m1  b b b b b b b b b b d d d g g g e e e e    b: 2, 0-100        d: 2, 100-120 g: 2, 125-150
#                                                  e: 4, 150-200
JOBS = [
    ("a", "v", "ann", 4, 0, "Failed"),
    ("b", "v", "bob", 2, 0, "Pass"),
    # 2 GPUs are free, on m1, until a ends: too few for 50 minutes
    ("c", "v", "cid", 4, 10, "Pass"),
    # it fits on m1 all the time: 30 minutes without a cause
    ("d", "v", "dan", 2, 70, "Pass"),
    # 4 GPUs are free, 2 on each server: 20 minutes
    ("e", "v", "eve", 4, 130, "Pass"),
    ("f", "v", "fay", 2, 125, "Killed"),
    ("g", "v", "gus", 2, 125, "Pass"),
]
ATTEMPTS = [
    ("a", 1, 0, 60),
    ("b", 1, 0, 100),
    ("c", 1, 60, 120),
    ("d", 1, 100, 120),
    ("e", 1, 150, 200),
    ("f", 1, 125, 200),
    ("g", 1, 125, 150),
]
HELD = {
    "a": ("m0", range(4)),
    "b": ("m1", range(2)),
    "c": ("m0", range(4)),
    "d": ("m1", range(2)),
    "e": ("m1", range(4)),
    "f": ("m0", range(2)),
    "g": ("m1", range(2)),
}
MACHINES = {"m0": 4, "m1": 4}
# an hour of a: one GPU busy, one idle, two between
SAMPLES = [(m, "m0", [100.0, 0.0, 50.0, 10.0]) for m in range(60)]
FAILURES = [("a", 1, "Import error")]


def held_by(names: str) -> list[tuple[str, int, str, int]]:
    """Placements of jobs."""
    return [
        (job, 1, machine, gpu) for job in names for machine, gpus in [HELD[job]] for gpu in gpus
    ]


PLACED: dict[str, Rows] = {
    "placements": held_by("abcdefg"),
    "machines": MACHINES,
    "virtual_clusters": {"v": 100},
}


@pytest.fixture
def cluster(make_trace: MakeTrace) -> MakeTrace:
    """Return a function that makes the trace, with some tables replaced or added."""
    return lambda **tables: make_trace(**({"jobs": JOBS, "attempts": ATTEMPTS} | tables))


def test_waits_are_divided_by_what_kept_them(cluster: MakeTrace) -> None:
    result = why_waits.compute(cluster(**PLACED))
    facts = {f.name: f.value for f in result.facts}
    assert facts["wait_s"] == 60 * (50 + 30 + 20)
    shares = {"too_few": 50, "fragmented": 20, "unknown": 30, "quota": 0, "held": 0}
    assert {cause: facts[f"{cause}_pct"] for cause in shares} == pytest.approx(shares)
    assert "50 % of that time fewer GPUs were free" in result.sentences[0].replace("50.0", "50")
    assert result.sentences[1].startswith("Other causes: 30.0 %, the cause is not in the log; 20")
    assert not any("not eligible" in sentence for sentence in result.sentences)
    assert verdict(result) == Verdict(
        "Too few free GPUs",
        "50 %",
        "of waiting time",
        verdict(result).interval,
        "50 min of waiting by 1 user, 7.14 min per attempt.",
        "Not known: the waits span 1 day; two weeks are needed.",
        "Reclaim idle GPUs at busy times, or add GPUs: better packing does not help. Jobs of 2-4 "
        "GPUs have 100 % of this waiting time: 50 min.",
    )
    assert verdict(result).interval.startswith("95 % interval 0 to ")


@pytest.mark.slow
def test_the_largest_cause_is_the_answer_also_if_it_is_not_explained(cluster: MakeTrace) -> None:
    # d waits for 130 minutes of which nothing explains 110: from the end of c to its own start
    later = [(*run[:2], 180, 200) if run[0] == "d" else run for run in ATTEMPTS]
    trace = cluster(**PLACED | {"placements": held_by("abcd"), "attempts": later})
    answer = verdict(why_waits.compute(trace))
    assert (answer.label, answer.noun) == ("Not explained", "of waiting time")
    # c 50 minutes (explained); d 110, e 20 (not)
    assert answer.number == f"{100 * 130 / 180:.0f} %"
    assert answer.cost == f"{duration(130 * 60)} of waiting by 2 users, 18.6 min per attempt."
    assert answer.advice.endswith("Jobs of 2-4 GPUs have 100 % of this waiting time: 2.17 h.")


def test_two_gang_sizes_are_compared_and_one_is_not() -> None:
    sums = pd.DataFrame({"n": [40, 50], "s": [40 * 60.0, 50 * 120.0]}, index=["1", "5-8"])
    wanted = (
        "The mean wait of gangs of 5-8 GPUs is 2.00 times the mean wait of 1 GPU: 2 min and 1 min."
    )
    assert why_waits._gang_comparison(sums) == wanted
    assert why_waits._gang_comparison(sums.head(1)) == ""


@pytest.mark.slow
def test_the_advice_on_quotas_names_the_virtual_cluster(make_trace: MakeTrace) -> None:
    # the quota is as large as a, so that b exceeds it until a ends
    trace = make_trace(
        [("a", "v", "ann", 4, 0, "Pass"), ("b", "v", "bob", 2, 0, "Pass")],
        [("a", 1, 0, 60), ("b", 1, 60, 100)],
        placements=held_by("ab"),
        machines=MACHINES,
        virtual_clusters={"v": 4},
    )
    answer = verdict(why_waits.compute(trace))
    assert str(answer) == "Over quota: 100 % of waiting time"
    assert answer.cost == "60 min of waiting by 1 user, 30 min per attempt."
    assert answer.advice.endswith("Virtual cluster v has 100 % of this waiting time: 60 min.")


@pytest.mark.parametrize(
    ("started", "label", "rest"),
    [
        (0, "No attempt waited", "2 attempts started at once."),
        (None, "Not recorded", "Record when jobs are submitted and when their attempts start."),
    ],
)
def test_without_waiting_time_the_card_says_so(
    make_trace: MakeTrace, started: int | None, label: str, rest: str
) -> None:
    jobs = [(name, "v", name, 1, 0, "Pass") for name in "ab"]
    answer = verdict(why_waits.compute(make_trace(jobs, [(name, 1, started, 60) for name in "ab"])))
    assert (str(answer), answer.cost + answer.advice) == (label, rest)


def test_without_placements_no_cause_is_made_up(cluster: MakeTrace) -> None:
    result = why_waits.compute(cluster())
    assert not any("unknown" in fact.name for fact in result.facts)
    # c, d and e of seven
    assert str(verdict(result)) == "Waits over 10 min: 43 % of attempts"
    assert verdict(result).cost == "100 min of waiting by 3 users, 14.3 min per attempt."
    assert verdict(result).advice.startswith("Collect the placements of all jobs")
    assert number(result, "long_pct") == pytest.approx(300 / 7)
    assert result.sentences[1] == (
        "The causes cannot be determined: the log lacks placements or the list of servers."
    )


def test_use_is_that_of_the_samples(cluster: MakeTrace) -> None:
    result = how_used.compute(cluster(**PLACED, gpu_samples=SAMPLES))
    assert number(result, "mean_pct") == pytest.approx((100 + 0 + 50 + 10) / 4)
    assert number(result, "idle_pct") == pytest.approx(25)
    assert dict(result.table.itertuples(index=False)) == {-1: 1, 0: 1, 25: 1, 75: 1}
    assert "1 of 4" in result.sentences[1].replace(".00", "")
    assert verdict(result) == Verdict(
        "Allocated GPUs",
        "40 %",
        "mean utilisation",
        "",  # one user has no variation between users
        "1.00 of 4.00 sampled GPU hours were idle (0 % utilisation).",
        "Not known: the sampled attempts span 1 day; two weeks are needed.",
        "Ask 1 user of 1 what their idle jobs wait for. This user has 1.00 of the idle GPU "
        "hours (100 %).",
    )


@pytest.mark.parametrize(("users", "top", "theirs"), [(5, 1, 5), (14, 1, 14), (20, 2, 20 + 19)])
def test_the_advice_names_a_tenth_of_the_users(users: int, top: int, theirs: int) -> None:
    idle = pd.DataFrame({"user": [*range(users), 0], "idle_h": [*range(1, users + 1), 0.0]})
    total = users * (users + 1) / 2
    said = how_used._advice(idle.astype({"user": str}), total)
    assert said.startswith(f"Ask {top} user{'s' if top > 1 else ''} of {users} what")
    assert f"{theirs:.1f} of the idle GPU hours ({100 * theirs / total:.1f} %)" in said.replace(
        f"{theirs:.2f}", f"{theirs:.1f}"
    )


def test_nothing_is_advised_where_no_gpu_idles() -> None:
    assert how_used._advice(pd.DataFrame({"user": ["a"], "idle_h": [0.0]}), 0.0) == ""


def test_use_without_samples_is_that_of_the_summaries(cluster: MakeTrace) -> None:
    told = frame(
        "summaries", ("job_id", "attempt", "util_pct"), [("a", 1, 0.0), ("b", 1, 60.0), ("c", 1, 0)]
    )
    result = how_used.compute(cluster(summaries=told))
    held_h = {"a": 4.0, "b": 200 / 60, "c": 4.0}
    assert number(result, "mean_pct") == pytest.approx(60 * held_h["b"] / sum(held_h.values()))
    assert dict(result.table.itertuples(index=False)) == pytest.approx({-1: 8, 50: held_h["b"]})
    unused_h = sum(held_h.values()) - 0.6 * held_h["b"]
    assert verdict(result).cost == (
        f"{unused_h:.2f} of {sum(held_h.values()):.1f} GPU hours without a running kernel."
    )
    assert "Sample the GPUs" in verdict(result).advice


def test_use_without_readings_is_what_jobs_hold(cluster: MakeTrace) -> None:
    result = how_used.compute(cluster(**PLACED))
    # of 8 GPUs for 200 minutes; free beside others: two GPUs of m1 while
    # b and d run and g does, two of m0 while f does
    held_h = (4 * 60 + 2 * 100 + 4 * 60 + 2 * 20 + 4 * 50 + 2 * 75 + 2 * 25) / 60
    beside_h = (2 * 100 + 2 * 20 + 2 * 25 + 2 * 75) / 60
    assert result.table["gpu_h"].to_list() == pytest.approx(
        [held_h, beside_h, 8 * 200 / 60 - held_h - beside_h]
    )
    assert number(result, "held_pct") == pytest.approx(100 * held_h / (8 * 200 / 60))
    assert result.fact("held_low_pct") is None  # one week has no variation between weeks
    total_h = 8 * 200 / 60
    assert str(verdict(result)) == f"Allocated: {100 * held_h / total_h:.0f} % of GPU time"
    assert verdict(result).cost == (
        f"{total_h - held_h:.2f} GPU hours were not allocated. {beside_h:.2f} of the unallocated "
        "GPU hours were on partly used servers."
    )
    assert f"the {held_h:.1f} allocated GPU hours" in verdict(result).advice
    assert how_used.plot(result).axes


@pytest.mark.slow
def test_weeks_tell_how_sure_it_is_what_jobs_hold(make_trace: MakeTrace) -> None:
    # four GPUs from a Tuesday noon on; the first gang ends on the second Tuesday, a day after the
    # second week began, the next two run into the third and for all of the fourth
    day, held = 24 * 60, {"a": (4, 0.5, 7.0), "b": (1, 8.5, 16.25), "c": (2, 20.0, 27.0)}
    gpus = iter([*range(4), 3, 0, 1])
    jobs = [(job, "v", job, n, begins * day, "Pass") for job, (n, begins, _) in held.items()]
    runs = [(job, 1, begins * day, ends * day) for job, (_, begins, ends) in held.items()]
    places = [(job, 1, "m0", next(gpus)) for job, (n, _, _) in held.items() for _ in range(n)]
    trace = make_trace(jobs, runs, placements=places, machines={"m0": 4})
    weeks, result = trace.answer("idle_gpus").df(), how_used.compute(trace)
    assert len(weeks) == 4
    there, busy = weeks["capacity_gpu_h"].to_numpy(), weeks["held_gpu_h"].to_numpy()
    frac = busy.sum() / there.sum()
    # Cochran's linearised error of a ratio, three degrees of freedom
    error = math.sqrt(4 / 3 * ((busy - frac * there) ** 2).sum()) / there.sum()
    low = 100 * max(0.0, frac - 3.182446 * error)
    assert number(result, "held_low_pct") == pytest.approx(low, abs=1e-4)


def test_failures_are_counted_by_reason_or_by_jobs_without_reasons(cluster: MakeTrace) -> None:
    told = why_failures.compute(cluster(**PLACED, failures=FAILURES))
    untold = why_failures.compute(cluster(**PLACED))
    held_h = (4 * 60 + 2 * 100 + 4 * 60 + 2 * 20 + 4 * 50 + 2 * 75 + 2 * 25) / 60
    for result in (told, untold):
        assert number(result, "gpu_h_pct") == pytest.approx(100 * 4 / held_h)
    assert number(told, "top_pct") == 100
    part = f"4.00 GPU hours lost to failures ({100 * 4 / held_h:.1f} % of all GPU hours)"
    assert str(verdict(told)) == "Import error: 100 % of failed attempts"
    assert verdict(told).cost == f"4.00 of {part}."
    assert verdict(told).advice == (
        "Prevent “Import error” first: 4.00 GPU hours, 100 % of the GPU hours lost to failures."
    )
    assert list(told.table["reason"]) == ["Import error"]
    assert str(verdict(untold)) == "Unsuccessful: 14 % of jobs"
    assert verdict(untold).cost == f"{part}."
    assert number(untold, "failed_pct") == pytest.approx(100 / 7)
    assert list(untold.table.itertuples(index=False, name=None)) == [("2-4", 7, 1)]
    assert "the output of failed attempts" in verdict(untold).advice


@pytest.mark.slow
def test_hours_lost_to_failures_are_those_of_the_users_with_and_without_output(
    cluster: MakeTrace,
) -> None:
    ends = {"f": "Killed", "g": "Failed"}  # of f only the output shows the failure, of g only this
    jobs = [(*job[:-1], ends.get(job[0], job[-1])) for job in JOBS]
    trace = cluster(**PLACED, jobs=jobs, failures=[("a", 1, "x"), ("f", 1, "y")])
    result, users = why_failures.compute(trace), worst_offenders.compute(trace)
    lost_h = (4 * 60 + 2 * 75 + 2 * 25) / 60
    assert number(result, "gpu_h") == pytest.approx(lost_h)
    assert number(users, "failed_gpu_h") == pytest.approx(lost_h)
    part = f"4.00 of {lost_h:.2f} GPU hours lost to failures"
    assert verdict(result).cost.startswith(part)
    assert verdict(result).advice.endswith(
        f"{100 * 4 / lost_h:.1f} % of the GPU hours lost to failures."
    )
    drawn = why_failures.plot(result).axes[0].patches
    assert max(bar.get_width() for bar in drawn if isinstance(bar, Rectangle)) == pytest.approx(
        100 * 4 / lost_h
    )


@pytest.mark.parametrize(
    ("saved_h", "worth"), quick_first([(3.0, True), (2.0, False), (1.0, False)])
)
def test_a_pre_run_is_advised_only_if_it_saves_gpu_hours(
    cluster: MakeTrace, monkeypatch: pytest.MonkeyPatch, saved_h: float, worth: bool
) -> None:
    costs = {
        "failure_costs": f"select 'all' as reason, {saved_h}::double as pool_saved_gpu_h",
        "failure_costs_pool": "select 5 as pool_min, 2e0 as cost_gpu_h, 2e1 as held_gpu_h",
    }
    trace = cluster(**PLACED, failures=FAILURES)
    answer = trace.answer
    monkeypatch.setattr(
        Trace, "answer", lambda _, name: trace.sql(costs[name]) if name in costs else answer(name)
    )
    result = why_failures.compute(trace)
    said = (
        "A pre-run of every gang on one GPU for 5 minutes would have saved "
        f"{saved_h:.2f} GPU hours and cost 2.00."
    )
    assert said in result.sentences
    assert (verdict(result).advice == said) == worth


@pytest.mark.parametrize(
    ("gpu_h", "said"),
    [
        ((1.0, 3.0), "Find out the unknown reasons first: 3.00 GPU hours, 75.0 % of"),
        (
            (3.0, 1.0),
            "Prevent “Core dump” first: 3.00 GPU hours, 75.0 % of the GPU hours lost to failures.",
        ),
        ((0.0, 0.0), ""),
    ],
)
def test_the_costliest_reason_is_to_be_prevented_first(
    gpu_h: tuple[float, float], said: str
) -> None:
    table = pd.DataFrame({"reason": ["Core dump", "No signature"], "gpu_h": gpu_h})
    advice = why_failures._costliest(table, 4.0)
    assert advice.startswith(said) and bool(advice) == bool(said)


@pytest.mark.parametrize(("gpus", "beyond"), [(4, False), (5, True)])
def test_a_day_may_exceed_the_cluster_where_attempts_overlap(
    make_trace: MakeTrace, gpus: int, beyond: bool
) -> None:
    # on all of the second day, of a cluster of 8 GPUs
    jobs = [("a", "v", "ann", 4, 0, "Pass"), ("b", "v", "bob", gpus, 0, "Pass")]
    runs = [(name, 1, 0, 3 * 24 * 60) for name in "ab"]
    trace = make_trace(jobs, runs, machines=MACHINES, placements=held_by("ab"))
    result = gpus_in_use.compute(trace)
    assert number(result, "busiest_day_gpus") == 4 + gpus
    assert any("exceed the cluster" in caveat for caveat in result.caveats) == beyond
    assert len(result.sentences) == 2, "the only virtual cluster has no share worth a sentence"


@pytest.mark.slow
def test_whoever_idles_or_loses_most_is_named(cluster: MakeTrace) -> None:
    trace = cluster(**PLACED, gpu_samples=SAMPLES)
    table = worst_offenders.compute(trace).table.fillna("")
    assert list(table.itertuples(index=False, name=None)) == [
        ("idle_user", "ann", "a", 1.0, 100.0),
        ("idle_job", "ann", "a", 1.0, 100.0),
        ("failed_user", "ann", "a", 4.0, 100.0),
        ("failed_job", "ann", "a", 4.0, 100.0),
    ]


def test_jobs_without_a_user_are_of_no_user(make_trace: MakeTrace) -> None:
    jobs = [("a", "v", None, 4, 0, "Failed"), ("b", "v", "bob", 4, 0, "Failed")]
    result = worst_offenders.compute(make_trace(jobs, [("a", 1, 0, 180), ("b", 1, 0, 60)]))
    assert result.table["kind"].tolist() == ["failed_user", "failed_job", "failed_job"]
    assert result.sentences == (
        "16.0 GPU hours were lost to failed attempts.",
        "User bob has 25.0 % of these GPU hours.",
    )
    alone = worst_offenders.compute(make_trace(jobs[:1], [("a", 1, 0, 180)]))
    assert alone.sentences == ("12.0 GPU hours were lost to failed attempts.",)
