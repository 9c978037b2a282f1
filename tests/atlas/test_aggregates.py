"""Compare the answers of publishers' aggregates with plain readings of their files."""

import csv
import gzip
import json
import statistics
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from math import ceil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from philly_analysis.atlas.aggregates import (
    aggregates,
    from_aggregates,
    number_finding,
    read_aggregate,
)
from philly_analysis.atlas.catalogue import CLAIMS
from philly_analysis.atlas.claim import BOUNDS, Evidence, Finding, Verdict, agreement
from philly_analysis.atlas.public_clusters import (
    answers_table,
    cards,
    from_print,
    shipped_answers,
)
from philly_analysis.atlas.resampling import Estimate
from philly_analysis.study.other_clusters import numbers_elsewhere
from tests.atlas.test_cells import top_tenth
from tests.support.public_traces import csv_rows

YEAR_S = 365.25 * 86_400
SELECTS = tomllib.loads(Path(__file__).with_name("aggregates.toml").read_text("utf-8"))


@pytest.fixture(scope="module")
def found(traces: Path) -> dict[tuple[str, str], Finding]:
    return {(f.claim, f.cluster): f for f in from_aggregates(traces)}


def value(findings: dict[tuple[str, str], Finding], claim: str, cluster: str) -> float:
    return findings[claim, cluster].effect.value


def test_a_summary_of_clusters_answers_as_its_rows_say(tmp_path: Path) -> None:
    file = tmp_path / "summary.csv"
    summary = replace(aggregates()[0], files=file.name)
    columns = (
        *("med_run_time_gpu", "med_que_time_gpu", "med_gpu_num", "complete_rate_gpu"),
        *("complete_gpu_time", "cancel_gpu_time", "fail_gpu_time"),
    )
    file.write_text(
        f"id,job_num,cpu_job_num,gpu_job_num,{','.join(columns)}\n"
        "Seren,30,10,20,120,7,1,0.4,50,30,20\nPhilly,9,0,9,60,5,0.5,0.5,1,1,2\n"
    )
    answers = read_aggregate(summary, [file])
    by_cell = {(r.claim, r.cluster): r for r in answers.itertuples()}
    assert len(by_cell) == len(answers)
    assert by_cell["killed_jobs_cost_much", "Acme Seren"].value == 30
    assert by_cell["unsuccessful_jobs_cost_most", "Acme Seren"].value == pytest.approx(0.5 / 0.6)
    one = by_cell["most_jobs_use_one_gpu", "Acme Seren"]
    assert (one.value, one.low, one.high, one.n) == (55, 55, 100, 20)
    assert by_cell["jobs_need_less_than_one_gpu", "Acme Seren"].value == pytest.approx(100 / 3)
    half = by_cell["jobs_need_less_than_one_gpu", "Philly"]
    assert (half.value, half.low, half.high, half.n) == (50, 50, 100, 9)
    assert ("most_jobs_use_one_gpu", "Philly") not in by_cell


@pytest.mark.parametrize("name", SELECTS)
def test_a_select_by_hand(name: str, tmp_path: Path) -> None:
    published, expected = (SELECTS[name][key].lstrip() for key in ("published", "rows"))
    file = tmp_path / f"published.{'json' if published.startswith('[') else 'csv'}"
    file.write_text(published)
    aggregate = read_aggregate(replace(aggregates()[0], select=name, files=file.name), [file])
    assert len(aggregate) == SELECTS[name].get("number", expected.count("\n") - 1)
    rows = list(csv.DictReader(expected.splitlines()))
    for row, answer in zip(rows, aggregate.to_dict("records"), strict=False):
        for column, value in row.items():
            mine = "" if pd.isna(answer[column]) else str(answer[column])
            if value.replace(".", "").isdecimal():
                assert float(mine) == pytest.approx(float(value), rel=1e-6), column
            else:
                assert mine.removesuffix(" 00:00:00") == value, column


def test_every_select_is_tested_by_hand() -> None:
    assert {a.select for a in aggregates()} == {*SELECTS, "cluster_summary"}


@pytest.mark.real_data
def test_summaries_answer_as_their_rows_say(
    found: dict[tuple[str, str], Finding], traces: Path
) -> None:
    names = {"Philly": "Philly", "Helios": "Helios", "PAI": "Alibaba PAI"}
    files = {
        "acme-2023/cluster_summary.csv": "Acme {}",
        "helios-2020/helios_cluster_summary.csv": "Helios {}",
    }
    checked = 0
    for file, pattern in files.items():
        for row in csv_rows(traces / file):
            cluster, jobs = names.get(row["id"], pattern.format(row["id"])), int(row["gpu_job_num"])
            if row["id"] == "total":
                continue
            expected = {
                "jobs_are_short": float(row["med_run_time_gpu"]),
                "most_jobs_wait_little": float(row["med_que_time_gpu"]),
            }
            if row["complete_gpu_time"]:
                passed, killed, failed = (
                    float(row[f"{s}_gpu_time"]) for s in ("complete", "cancel", "fail")
                )
                total = passed + killed + failed
                expected["killed_jobs_cost_much"] = 100 * killed / total
                lost = (killed + failed) / total
                expected["unsuccessful_jobs_cost_most"] = lost / (
                    1 - float(row["complete_rate_gpu"])
                )
            if row["med_gpu_num"] == "1.0":
                expected["most_jobs_use_one_gpu"] = 100 * (jobs // 2 + 1) / jobs
            if int(row["cpu_job_num"]):
                expected["jobs_need_less_than_one_gpu"] = (
                    100 * int(row["cpu_job_num"]) / int(row["job_num"])
                )
            for claim, due in expected.items():
                assert value(found, claim, cluster) == pytest.approx(due), (claim, cluster)
                checked += 1
    assert checked == 49  # 25 of five clusters, 24 of the four of Helios
    part = found["jobs_need_less_than_one_gpu", "Alibaba PAI"]
    assert part.effect == Estimate(50, 50, 100) and part.kind == BOUNDS
    assert found["most_jobs_use_one_gpu", "Acme Seren"].effect.high == 100
    assert ("most_jobs_use_one_gpu", "Alibaba PAI") not in found


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("cluster", "file", "x", "cdf"),
    [
        ("Philly", "philly-gpu-util-cdf/util_gpu_philly.csv", "gpu_util_pct", "cdf_pct"),
        ("Acme Seren", "acme-2023/util_gpu_seren.csv", "x1", "cdf1_pct"),
        ("Acme Kalos", "acme-2023/util_gpu_kalos.csv", "x1", "cdf1_pct"),
        ("Alibaba PAI", "alibaba-pai-2020/util_gpu_pai.csv", "gpu_util_pct", "cdf_pct"),
    ],
)
def test_a_curve_bounds_the_allocated_gpus(
    cluster: str,
    file: str,
    x: str,
    cdf: str,
    found: dict[tuple[str, str], Finding],
    traces: Path,
) -> None:
    points = sorted((float(r[x]), float(r[cdf])) for r in csv_rows(traces / file) if r[x])
    mean = sum((1 - (a[1] + b[1]) / 200) * (b[0] - a[0]) for a, b in pairwise(points))
    idle = max(cdf for util, cdf in points if util <= 0.5)
    low, high = (next(util for util, cdf in points if cdf >= at) for at in (50, 50 + idle / 2))
    used = found["gpus_are_used_little", cluster].effect
    assert used.value == used.low == pytest.approx(mean, abs=0.1)
    assert used.high == pytest.approx(mean / (1 - idle / 100), abs=0.2)
    assert found["gpu_readings_are_low", cluster].effect == Estimate(low, low, high)


@pytest.mark.real_data
def test_spot_jobs_are_those_of_its_tables(
    found: dict[tuple[str, str], Finding], traces: Path
) -> None:
    folder = traces / "alibaba-spot-2026"
    [median, *_] = csv_rows(folder / "agg_duration_quantiles.csv")
    assert value(found, "jobs_are_short", "Alibaba spot") == float(median["duration_seconds"])
    hours = {
        int(r["submit_hour"]): int(r["jobs"])
        for r in csv_rows(folder / "agg_hourly_summary.csv.gz")
    }
    later = [hours.get(h, 0) for h in range(24, max(hours) + 1)]
    changes = sum((b - a) ** 2 for a, b in pairwise(later))
    bursts = value(found, "submissions_are_bursty", "Alibaba spot")
    assert bursts == pytest.approx(changes / 2 / sum(later[1:]))
    by_hour = folds(((h // 24, h % 24, n) for h, n in enumerate(later, 24)), lambda d: d % 2)
    day = value(found, "load_follows_the_day", "Alibaba spot")
    assert day == pytest.approx(busiest_window(by_hour, 24, 8))
    days = {
        int(r["submit_day"]): int(r["jobs"]) for r in csv_rows(folder / "agg_daily_summary.csv")
    }
    by_day = folds(((d, d % 7, n) for d, n in days.items() if d), lambda d: d // 7 % 2)
    week = value(found, "load_follows_the_week", "Alibaba spot")
    assert week == pytest.approx(busiest_window(by_day, 7, 2))
    cost = [float(r["gpu_seconds"]) for r in csv_rows(folder / "agg_org_by_gpu_seconds.csv")]
    top = value(found, "gpu_time_is_of_few_users", "Alibaba spot")
    assert len(cost) == 84 and top == pytest.approx(top_tenth(cost))


def folds(
    counts: Iterable[tuple[int, int, int]], fold: Callable[[int], int]
) -> tuple[Counter[int], Counter[int]]:
    jobs_by_hour: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
    for day, place, n in counts:
        jobs_by_hour[fold(day)][place] += n
    return jobs_by_hour


def busiest_window(halves: tuple[Counter[int], Counter[int]], period: int, window: int) -> float:
    sums = [
        [sum(h[(i + k) % period] for k in range(window)) for i in range(period)] for h in halves
    ]
    product = 1.0
    for chosen, counted in (sums, sums[::-1]):
        product *= counted[chosen.index(max(chosen))] / counted[chosen.index(min(chosen))]
    return float(product**0.5)


@pytest.mark.real_data
def test_services_are_those_of_their_readings(
    found: dict[tuple[str, str], Finding], traces: Path
) -> None:
    file = traces / "alibaba-genai-2026" / "pod_gpu_duty_cycle_anon.csv.gz"
    readings = [float(r["value"]) for r in csv_rows(file)]
    used = value(found, "gpus_are_used_little", "Alibaba GenAI")
    assert used == pytest.approx(statistics.fmean(readings))
    median = statistics.median_low(ceil(r) for r in readings)
    assert value(found, "gpu_readings_are_low", "Alibaba GenAI") == median
    instances = list(csv_rows(traces / "alibaba-dlrm-2025" / "disaggregated_DLRM_trace.csv.gz"))
    gpus = [float(r["gpu_request"]) for r in instances]
    small = value(found, "jobs_need_less_than_one_gpu", "Alibaba DLRM")
    assert small == pytest.approx(100 * sum(g < 1 for g in gpus) / len(gpus))
    one = value(found, "most_jobs_use_one_gpu", "Alibaba DLRM")
    assert one == pytest.approx(100 * sum(g == 1 for g in gpus) / sum(g > 0 for g in gpus))
    waits = [
        float(r["scheduled_time"]) - float(r["creation_time"])
        for r in instances
        if float(r["gpu_request"]) > 0 and r["scheduled_time"] and r["creation_time"]
    ]
    waited = value(found, "most_jobs_wait_little", "Alibaba DLRM")
    assert waited == statistics.median_low(waits)


@pytest.mark.real_data
def test_failures_are_those_of_the_lives_and_events(
    found: dict[tuple[str, str], Finding], traces: Path
) -> None:
    lives = list(csv_rows(traces / "titan-gpu-life" / "gc_summary_loc.csv.gz"))
    years = [float(r["time"]) / YEAR_S for r in lives]
    errors = sum(int(r["dbe"]) + int(r["otb"]) for r in lives)
    rate = value(found, "gpus_fail_rarely", "ORNL Titan")
    assert rate == pytest.approx(100 * errors / sum(years))
    dead = ["TRUE" in (r["dead_dbe"], r["dead_otb"]) for r in lives]
    late = sum(d for d, y in zip(dead, years, strict=True) if y > 2)
    rates = (
        late / sum(max(y - 2, 0) for y in years),
        (sum(dead) - late) / sum(min(y, 2) for y in years),
    )
    aging = value(found, "failures_rise_with_age", "ORNL Titan")
    assert aging == pytest.approx(rates[0] / rates[1])
    file = traces / "infinitehbd-faults-2024" / "fault_trace.json.gz"
    faults = [
        e for e in json.loads(gzip.decompress(file.read_bytes())) if "start" in e["event_type"]
    ]
    gpu = sum(e["fault_type"]["Class"] == "GPU" for e in faults)
    rate = value(found, "gpus_fail_rarely", "StepFun")
    assert rate == pytest.approx(100 * gpu / (400 * 8 * 348 / 365.25))
    halves = Counter(
        e["event_time"] >= 174 for e in faults if e["fault_type"]["Level"] == "Hardware Failure"
    )
    assert value(found, "failures_rise_with_age", "StepFun") == halves[True] / halves[False]


@pytest.mark.real_data
@pytest.mark.slow
def test_running_gangs_bound_the_share_of_large_ones(
    found: dict[tuple[str, str], Finding], traces: Path
) -> None:
    total = low = high = 0
    for file in (traces / "helios-2020").glob("Earth_*_cluster_sequence_vc.csv.gz"):
        for r in csv_rows(file):
            gangs, gpus = int(r["running_job_num_noless_8"]), int(r["running_gpu_num_noless_8"])
            total += int(r["running_gpu_num"])
            beyond = gpus - 8 * gangs
            low += beyond + 8 if beyond else 0
            high += sum(8 for _ in range(min(beyond, gangs))) + beyond
    effect = found["gpu_time_is_in_large_gangs", "Helios Earth"].effect
    assert effect.low == pytest.approx(100 * low / total)
    assert effect.high == pytest.approx(100 * high / total)


@pytest.mark.real_data
def test_every_aggregate_has_the_columns_of_its_claim(traces: Path) -> None:
    for aggregate in aggregates():
        files = sorted(traces.glob(aggregate.files))
        assert files, aggregate.files
        if aggregate.select != "helios_running":
            columns = set(read_aggregate(aggregate, files).columns)
            expected = {"claim", "cluster", "value", "low", "high", "n"}
            assert aggregate.claim or columns == expected
        assert aggregate.cluster in cards() or not aggregate.cluster
        assert aggregate.claim in CLAIMS or not aggregate.claim


SHORT, COST, KILLED = (
    CLAIMS[n] for n in ("jobs_are_short", "unsuccessful_jobs_cost_most", "killed_jobs_cost_much")
)


def test_a_number_without_an_interval_decides_beyond_the_clearance() -> None:
    factor, ratio, points = (claim.clearance or 0.0 for claim in (SHORT, COST, KILLED))
    for claim, inside, outside in (
        (SHORT, 3_600 / factor + 1, 3_600 / factor - 1),
        (COST, ratio - 0.01, ratio + 0.01),
        (KILLED, 20 + points - 0.1, 20 + points + 0.1),
    ):
        assert number_finding(claim, "c", inside).verdict is Verdict.UNDECIDED
        assert "clearance" in number_finding(claim, "c", inside).why
        assert number_finding(claim, "c", outside).verdict is Verdict.HOLDS
        assert number_finding(claim, "c", outside).why == ""
    none = number_finding(CLAIMS["failures_repeat"], "c", 50.0)
    assert none.verdict is Verdict.UNDECIDED and np.isnan(none.effect.low)
    bound = number_finding(KILLED, "c", 30.0, bounds=(19.0, 40.0), n=7)
    assert bound.verdict is Verdict.UNDECIDED and "bounds" in bound.why
    assert bound.counts == {"observations": 7}


def test_a_clearance_is_as_wide_as_the_interval_of_every_whole_log() -> None:
    logs = [f for f in shipped_answers() if f.evidence is Evidence.ROWS and not f.notes]
    widths = defaultdict(list)
    for f in logs:
        claim, effect = CLAIMS[f.claim], f.effect
        if claim.clearance is None or np.isnan(effect.low) or effect.value <= 0:
            continue
        if claim.measure.unit in ("times", "s"):
            width = max(effect.high / effect.value, effect.value / max(effect.low, 1e-9))
        else:
            width = max(effect.high - effect.value, effect.value - effect.low)
        widths[f.claim].append((width, claim.clearance))
    assert len(widths) >= 7
    for name, some in widths.items():
        assert all(width <= clearance for width, clearance in some), (name, some)


def test_the_strongest_answer_has_an_interval_then_rows_then_no_bias() -> None:
    def finding(kind: Evidence, low: float, notes: tuple[str, ...] = (), n: int = 1) -> Finding:
        effect = Estimate(1, low, 2)
        return Finding("c", "x", Verdict.HOLDS, kind, effect=effect, notes=notes, counts={"n": n})

    best = [
        finding(Evidence.ROWS, 0, n=9),
        finding(Evidence.ROWS, 0),
        finding(Evidence.ROWS, 0, ("a sample",), n=99),
        finding(Evidence.AGGREGATES, 0),
        finding(Evidence.PRINTED, 0),
        finding(Evidence.ROWS, np.nan),
        Finding("c", "x", Verdict.UNDECIDED),
    ]
    mixed = [*best[3:], *best[:3]]
    assert sorted(mixed, key=lambda f: f.strength) == best
    assert agreement(best) == "agree"
    other = Finding("c", "x", Verdict.REVERSED)
    assert agreement([*best, other]) == "disagree"
    assert agreement(best[:1]) == agreement([best[0], best[-1]]) == ""


def test_recalled_numbers_decide_nothing() -> None:
    printed = list(from_print())
    assert {f.evidence for f in printed} == {Evidence.PRINTED}
    recalled = [f for f in printed if "(recalled)" in f.source]
    assert len(recalled) >= 6 and not any(f.decided for f in recalled)
    assert any(f.decided for f in printed if f not in recalled)
    for number in numbers_elsewhere():
        assert number.claim in CLAIMS and number.cluster in cards() and number.source
        assert number.obtained in ("read", "quoted", "recalled")


def test_shipped_answers_are_read_as_they_are_written() -> None:
    shipped = shipped_answers()
    assert {f.cluster for f in shipped} <= cards().keys()
    assert {f.claim for f in shipped} <= CLAIMS.keys()
    for f in shipped:  # the verdicts are those of today's thresholds and margins
        if "recalled" not in f.source:
            assert CLAIMS[f.claim].verdict(f.effect) is f.verdict, (f.claim, f.cluster)
    table = answers_table(shipped)
    assert len(table) == len(shipped) and table["effect"].notna().all()
    cells = {(f.claim, f.cluster) for f in shipped if f.decided and f.evidence != "printed"}
    assert len(cells) >= 90
