"""Compare each effect with a plain-Python reference or another computation."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from statistics import median_low
from typing import Any

import polars as pl
import pytest

from philly_analysis import analyze
from philly_analysis.analyses import locality_effect
from philly_analysis.atlas.catalogue import CLAIMS
from philly_analysis.atlas.evaluation import describe, evaluate, evaluate_claim
from philly_analysis.atlas.resampling import resampling
from philly_analysis.trace.trace import Trace
from tests.analyses.clusters import frame, random_tables, seconds, write_tables
from tests.analyses.samples import Tables, sampled_cluster
from tests.analyses.test_properties import odd_traces

__all__ = ["odd_traces"]  # its fixture, for the law below

Row = dict[str, Any]
LARGE, ONE = range(5, 1_000), (1,)


def rows_of(tables: Tables) -> tuple[list[Row], dict[str, list[Row]]]:
    """Jobs by submission, and the attempts of each in order."""
    attempts = defaultdict(list)
    for a in tables["attempts"].sort("attempt").iter_rows(named=True):
        attempts[a["job_id"]].append(a)
    jobs = tables["jobs"].sort("submitted_at", "job_id")
    return list(jobs.iter_rows(named=True)), attempts


def waits_of(tables: Tables) -> Iterator[Row]:
    jobs, attempts = rows_of(tables)
    for job in jobs:
        since = job["submitted_at"]
        for a in attempts[job["job_id"]]:
            if job["gpus"]:
                yield job | {"since": since, "start": a["started_at"]}
            since = a["ended_at"]


def spans_of(tables: Tables) -> Iterator[tuple[Row, float, float]]:
    """GPU jobs, with seconds from first start to last end, and GPU hours of that time."""
    jobs, attempts = rows_of(tables)
    for job in jobs:
        if job["gpus"]:
            made = attempts[job["job_id"]]
            span = seconds(made[0]["started_at"], max(a["ended_at"] for a in made))
            yield job, span, span * job["gpus"] / 3_600


def top_tenth(amounts: list[float]) -> float:
    ranked, k = sorted(amounts, reverse=True), len(amounts) / 10
    return 100 * (sum(ranked[: int(k)]) + (k - int(k)) * ranked[int(k)]) / sum(amounts)


def ratio_of_shares(
    of: list[tuple[Any, bool]], upper: Callable[[Any], bool], lower: Callable[[Any], bool]
) -> float:
    above = [hit for group, hit in of if upper(group)]
    below = [hit for group, hit in of if lower(group)]
    return (sum(above) / len(above)) / (sum(below) / len(below))


def waits_rise_with_gangs(tables: Tables) -> float:
    found = [(w["gpus"], seconds(w["since"], w["start"]) >= 600) for w in waits_of(tables)]
    return ratio_of_shares(found, LARGE.__contains__, ONE.__contains__)


def starts_out_of_order(tables: Tables) -> float:
    waits = list(waits_of(tables))
    overtook = sum(
        any(
            o["vc"] == w["vc"] and o["since"] < w["since"] and o["start"] > w["start"]
            for o in waits
        )
        for w in waits
    )
    return 100 * overtook / len(waits)


def large_gangs_are_spread(tables: Tables) -> float:
    caps = sorted((n for _, n in tables["machines"].iter_rows()), reverse=True)
    held: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    for p in tables["placements"].iter_rows(named=True):
        held[p["job_id"], p["attempt"]][p["machine_id"]] += 1
    large = [servers for servers in held.values() if servers.total() in LARGE]
    fewest = [next(k for k in range(1, len(caps) + 1) if sum(caps[:k]) >= s.total()) for s in large]
    return 100 * sum(len(s) > k for s, k in zip(large, fewest, strict=True)) / len(large)


def jobs_are_short(tables: Tables) -> float:
    return median_low(span for _, span, _ in spans_of(tables))


def gpu_time_is_in_few_jobs(tables: Tables) -> float:
    return top_tenth([gpu_h for _, _, gpu_h in spans_of(tables)])


def gpu_time_is_of_few_users(tables: Tables) -> float:
    by_user: dict[str, float] = defaultdict(float)
    for job, _, gpu_h in spans_of(tables):
        by_user[job["user"]] += gpu_h
    return top_tenth(list(by_user.values()))


def load_follows_the_day(tables: Tables) -> float:
    halves: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
    for job in tables["jobs"].iter_rows(named=True):
        if job["gpus"]:
            at = job["submitted_at"]
            halves[at.toordinal() % 2][at.hour] += 1
    thirds = [[sum(h[(i + k) % 24] for k in range(8)) for i in range(24)] for h in halves]
    found = 1.0
    for chosen, counted in (thirds, thirds[::-1]):
        peak, trough = chosen.index(max(chosen)), chosen.index(min(chosen))
        found *= counted[peak] / counted[trough]
    return float(found**0.5)


def unsuccessful_jobs_cost_most(tables: Tables) -> float:
    jobs, attempts = rows_of(tables)
    cost: dict[str, float] = {
        j["job_id"]: j["gpus"]
        * sum(seconds(a["started_at"], a["ended_at"]) for a in attempts[j["job_id"]])
        for j in jobs
        if j["gpus"]
    }
    lost = {j["job_id"] for j in jobs if j["gpus"] and j["status"] != "Pass"}
    return (sum(cost[j] for j in lost) / sum(cost.values())) / (len(lost) / len(cost))


def large_gangs_fail_more(tables: Tables) -> float:
    found = [(j["gpus"], j["status"] == "Failed") for j, _, _ in spans_of(tables)]
    return ratio_of_shares(found, LARGE.__contains__, ONE.__contains__)


def failures_repeat(tables: Tables) -> float:
    last: dict[str, bool] = {}
    found = []
    for job, _, _ in spans_of(tables):
        failed = job["status"] == "Failed"
        if job["user"] in last:
            found.append((last[job["user"]], failed))
        last[job["user"]] = failed
    return ratio_of_shares(found, bool, lambda after: not after)


def failures_come_early(tables: Tables) -> float:
    jobs, attempts = rows_of(tables)
    return median_low(
        seconds(attempts[j["job_id"]][-1]["started_at"], attempts[j["job_id"]][-1]["ended_at"])
        for j in jobs
        if j["gpus"] and j["status"] == "Failed"
    )


WALKS = [
    waits_rise_with_gangs,
    starts_out_of_order,
    large_gangs_are_spread,
    jobs_are_short,
    gpu_time_is_in_few_jobs,
    gpu_time_is_of_few_users,
    load_follows_the_day,
    unsuccessful_jobs_cost_most,
    large_gangs_fail_more,
    failures_repeat,
    failures_come_early,
]


def effect(trace: Trace, name: str) -> float:
    claim = CLAIMS[name]
    rows = trace.answer(claim.relation).df()
    return float(claim.measure.statistic(rows, resampling(rows, of_users=claim.of_users))[0])


@pytest.fixture(scope="module", params=[1, pytest.param(2, marks=pytest.mark.slow)])
def world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Tables, Trace]]:
    """A tidy random cluster of 150 jobs, whose virtual clusters have quotas."""
    tables = random_tables(request.param, 150, tidy=True)
    quotas = [(f"v{i}", 4 + 2 * i) for i in range(3)]
    tables["virtual_clusters"] = frame("virtual_clusters", ("vc", "gpus"), quotas)
    with Trace(write_tables(tmp_path_factory.mktemp("world") / "t", tables)) as trace:
        yield tables, trace


@pytest.mark.parametrize("walk", WALKS, ids=lambda w: w.__name__)
def test_an_effect_is_that_of_a_plain_walk(
    walk: Callable[[Tables], float], world: tuple[Tables, Trace]
) -> None:
    tables, trace = world
    assert effect(trace, walk.__name__) == pytest.approx(walk(tables), rel=1e-9)


def test_delays_and_overtakings_are_those_of_their_findings(world: tuple[Tables, Trace]) -> None:
    _, trace = world
    found = analyze(trace, ["delay_causes", "out_of_order"])
    causes = found["delay_causes"].table
    time_s = causes[causes["method"] == "given"].groupby("cause")["time_s"].sum()
    part, other = (time_s.get(cause, 0) for cause in ("fragmentation", "fair_share"))
    assert effect(trace, "fragmentation_delays_most") == pytest.approx(100 * part / (part + other))
    assert effect(trace, "out_of_order_is_harmless") == pytest.approx(
        found["out_of_order"].fact("harmless_pct")
    )
    assert effect(trace, "starts_out_of_order") == pytest.approx(
        found["out_of_order"].fact("out_of_order_pct")
    )


def test_utilisation_is_that_of_its_findings(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = write_tables(tmp_path_factory.mktemp("used") / "t", sampled_cluster(3))
    with Trace(path) as trace:
        held = trace.answer("sampled_attempts").pl()
        mean = held["sum_pct"].sum() / held["minutes"].sum()
        spread = locality_effect.compute(trace).fact("effect_all_pct")
        assert effect(trace, "gpus_are_used_little") == pytest.approx(mean)
        assert effect(trace, "spread_gangs_use_less") == pytest.approx(spread)


@pytest.mark.parametrize(
    "odd", ["empty", "one job", "never ran", "no VCs, all overlapping", "random"]
)
def test_every_claim_can_be_asked_of_whatever_trace(odd: str, odd_traces: dict[str, Trace]) -> None:
    table = evaluate([odd_traces[odd]]).table
    assert list(table["claim"]) == list(CLAIMS)
    assert (table["why"].str.len() > 0).eq(table["verdict"] == "cannot be said").all()


@pytest.mark.slow
def test_the_order_of_rows_does_not_matter(tmp_path_factory: pytest.TempPathFactory) -> None:
    tables, folder = random_tables(5, 60), tmp_path_factory.mktemp("order")
    shuffled = {n: t.sample(fraction=1, shuffle=True, seed=4) for n, t in tables.items()}
    with (
        Trace(write_tables(folder / "a", tables)) as one,
        Trace(write_tables(folder / "b", shuffled)) as other,
    ):
        for claim in CLAIMS.values():
            found = [evaluate_claim(t, claim, describe(t, "t")) for t in (one, other)]
            assert found[0].effect == found[1].effect or found[0].why == found[1].why
            assert pl.DataFrame(found[0].panel).equals(pl.DataFrame(found[1].panel))
