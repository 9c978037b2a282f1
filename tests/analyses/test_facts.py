"""Check facts against the tables of their findings, and each interval against its fact."""

import re
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from philly_analysis.results import Result, slug
from tests.analyses.test_figures import ABSENT, EXPECTED

Facts = dict[str, Any]


def at(rows: pd.DataFrame, percentile: int, by: str, value: str) -> Facts:
    """Return a percentile of a grid by group."""
    here = rows[rows["percentile"] == percentile]
    return {slug(str(group)): v for group, v in zip(here[by], here[value], strict=True)}


def named(template: str, values: Facts) -> Facts:
    return {template.format(name): value for name, value in values.items()}


def columns(rows: pd.DataFrame, by: str, templates: dict[str, str]) -> Facts:
    """Return a fact per row and column, by the template of its name."""
    return {
        template.format(slug(str(group))): value
        for column, template in templates.items()
        for group, value in zip(rows[by], rows[column], strict=True)
    }


def summed(rows: pd.DataFrame, by: str, value: str) -> Facts:
    return {str(group): group_rows[value].sum() for group, group_rows in rows.groupby(by)}


def gpu_util(t: pd.DataFrame) -> Facts:
    rows = t[t["percentile"] == 0]
    sizes = rows["gpus"].astype(object).where(rows["gpus"].notna(), "all")
    statuses = rows["status"].fillna("all")
    names = (f"mean_{status}_{gpus}_pct" for status, gpus in zip(statuses, sizes, strict=True))
    return dict(zip(names, rows["mean_pct"], strict=True))


def gpu_util_by_servers(t: pd.DataFrame) -> Facts:
    values = {}
    for (gpus, servers), rows in t.groupby(["gpus", "servers"]):
        levels = dict(zip(rows["percentile"], rows["util_pct"], strict=True))
        values[f"mean_{gpus}_on_{servers}_pct"] = rows["mean_pct"].iloc[0]
        values |= {f"p{p}_{gpus}_on_{servers}_pct": levels[p] for p in (50, 90, 95)}
    return values


def sizes_of(t: pd.DataFrame) -> Facts:
    first = t[t["percentile"] == 0]
    names = {c: f"{c.removesuffix('_pct')}_{{}}_pct" for c in ("mean_pct", "idle_pct") if c in t}
    return columns(first, "gpus", names) | named("median_{}_pct", at(t, 50, "gpus", "util_pct"))


def host_util(t: pd.DataFrame) -> Facts:
    values = {}
    for (resource, servers), rows in t.groupby(["resource", "servers"]):
        name = f"{resource}_{'_'.join(str(servers).split())}_pct"
        values[f"mean_{name}"] = rows["mean_pct"].iloc[0]
        levels = dict(zip(rows["percentile"], rows["util_pct"], strict=True))
        values |= {f"p{p}_{name}": levels[p] for p in (20, 50, 80, 90)}
    return values


def run_policy(t: pd.DataFrame) -> Facts:
    totals = dict(zip(t["policy"], t["total_h"], strict=True))
    return (
        named("median_{}_s", at(t, 50, "policy", "run_s"))
        | named("median_retried_{}_s", at(t, 50, "policy", "retried_run_s"))
        | named("total_{}_h", totals)
    )


def of_all(rows: pd.DataFrame, *names: str) -> Facts:
    return {name: rows[name].sum() for name in names}


def wait_states(t: pd.DataFrame) -> Facts:
    hours = summed(t, "cause", "wait_h")
    weighted = summed(t, "cause", "gpu_wait_h")
    return (
        named("{}_h", hours)
        | {"wait_h": sum(hours.values())}
        | named("{}_gpu_pct", {c: 100 * h / sum(weighted.values()) for c, h in weighted.items()})
    )


OF_TABLE: dict[str, tuple[str, Callable[[pd.DataFrame], Facts]]] = {
    "failure_reasons": (r"tier_.*", lambda t: {
        f"tier_{tier}_pct": 100 * t["trials"][t["tier"] == tier].sum()
        / t["trials"][t["reason"] != "all"].sum() for tier in ("IF", "AE", "U")}),
    "gang_failures": (r"lost_gangs", lambda t: {"lost_gangs": t["lost"][t["parts"] > 1].sum()}),
    "gpu_util": (r"mean_.*_pct", gpu_util),
    "gpu_util_by_servers": (r"(mean|p\d+)_.*_pct", gpu_util_by_servers),
    "gpu_util_dedicated": (r"(mean|median|idle)_\d+_pct", sizes_of),
    "gpu_util_summaries": (r"(mean|median)_\d+_pct",
                           lambda t: sizes_of(t[t["status"].isna() & t["gpus"].notna()])),
    "host_util": (r".*", host_util),
    "how_used": (r"gpu_h|idle_gpu_h|idle_pct", lambda t: {
        "gpu_h": t["gpu_h"].sum(), "idle_gpu_h": (idle := t["gpu_h"][t["level"] == -1].sum()),
        "idle_pct": 100 * idle / t["gpu_h"].sum()}),
    "job_status": (r".*", lambda t: of_all(t, "jobs", "gpu_h") | columns(
        t, "status", {"jobs_pct": "jobs_{}_pct", "gpu_h_pct": "gpu_h_{}_pct"})),
    "locality_relaxation": (r"spread_\w+_pct", lambda t: {
        f"spread_{slug(str(gang))}_pct": 100 * rows["spread"].sum() / rows["attempts"].sum()
        for gang, rows in t.groupby("gang")}),
    "node_failures": (r"servers|server_days", lambda t: {
        "servers": len(t), "server_days": t["days_held"].sum()}),
    "other_months": (r".*_covered_pct", lambda t: columns(
        t[t["draws"] == "workload model"].replace(" ", "_", regex=True), "statistics",
        {"all_pairs_pct": "{}_covered_pct"})),
    "queueing_delay": (r"median_wait_\w+_s", lambda t: named(
        "median_wait_{}_s", at(t[t["vc"].isna()], 50, "gang", "wait_s"))),
    "reliability": (r"\w+_failures|hardware_per_1000_gpu_days", lambda t: {
        **{f"{tier}_failures": rows["failures"][rows["cause"] != "all"].sum()
           for tier, rows in t[t["gpus"].isna()].groupby("tier")},
        "hardware_per_1000_gpu_days": 1000 * t["failures"][0] / t["gpu_days"][0]}),
    "retries": (r"(retries_per_job|retried|unsuccessful)_(?!gang).*", lambda t: columns(
        t, "gang", {"retries_per_job": "retries_per_job_{}", "retried_pct": "retried_{}_pct",
                    "unsuccessful_pct": "unsuccessful_{}_pct"})),
    "run_policy": (r"(median|total)_.*", run_policy),
    "run_time": (r"median_run_.*", lambda t: named(
        "median_run_{}_s", at(t, 50, "gang", "run_s"))),
    "time_asked": (r"used_\w+_p50_pct|used_gpu_h|unused_gpu_h|attempts", lambda t: named(
        "used_{}_p50_pct", at(t.assign(pct=100 * t["used_frac"]), 50, "gang", "pct"))
        | of_all(t[(t["gang"] == "all") & (t["percentile"] == 0)],
                 "used_gpu_h", "unused_gpu_h", "attempts")),
    "time_to_failure": (r"median_rtf_.*", lambda t: named(
        "median_rtf_{}_s", at(t[t["reason"] == "all"], 50, "demand", "run_s"))),
    "usage": (r"gpu_h|accounts|users|largest.*|sampled_gpu_h|idle_gpu_h", lambda t: {
        **of_all(t, "gpu_h", "sampled_gpu_h", "idle_gpu_h"),
        "largest": (of := t.groupby("account")["gpu_h"].sum()).idxmax(), "largest_gpu_h": of.max(),
        "largest_user": (by := t[t["user"] != "(none)"].groupby("user")["gpu_h"].sum()).idxmax(),
        "largest_user_gpu_h": by.max(), "accounts": 2, "users": 5}),
    "wait_states": (r"\w+_(gpu_pct|h)", wait_states),
    "why_waits": (r"waits|wait_s|(too_few|quota|held|start_up|unknown)_pct", lambda t: named(
        "{}_pct", {cause: 100 * wait_s / t["wait_s"].sum()
                   for cause, wait_s in summed(t, "cause", "wait_s").items()})
        | {"wait_s": t["wait_s"].sum(), "waits": t.drop_duplicates("gang")["waits"].sum()}),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_TABLE)
def test_facts_are_those_of_the_table(name: str, rich_results: dict[str, Result]) -> None:
    result, (pattern, expected) = rich_results[name], OF_TABLE[name]
    due = expected(result.table)
    values = {f.name: f.value for f in result.facts if re.fullmatch(pattern, f.name)}
    assert values and values == {
        fact: due[fact] if isinstance(due[fact], str) else pytest.approx(due[fact])
        for fact in values
    }


def test_means_of_utilisation_name_their_sizes_and_statuses(
    rich_results: dict[str, Result],
) -> None:
    told = {f.name: f.meaning for f in rich_results["gpu_util"].facts}
    for name, words in {
        "mean_all_all_pct": "all sizes, all statuses",
        "mean_Pass_all_pct": "all sizes, Pass",
        "mean_all_8_pct": "8 GPUs, all statuses",
        "mean_Killed_8_pct": "8 GPUs, Killed",
    }.items():
        assert told[name] == f"mean utilisation, {words}"


@pytest.mark.parametrize("name", sorted(EXPECTED.keys() - ABSENT))
def test_an_interval_contains_its_fact(name: str, rich_results: dict[str, Result]) -> None:
    facts = {f.name: f.value for f in rich_results[name].facts}
    for low in (fact for fact in facts if re.search(r"_low(_|$)", fact)):
        trio = [facts[low.replace("_low", end, 1)] for end in ("_low", "", "_high")]
        values = [float(str(value)) for value in trio if value is not None]
        assert values == sorted(values), low
    for fact, value in facts.items():
        if fact.endswith("_pct") and isinstance(value, float) and "trend" not in fact:
            assert 0 <= value <= 100 or name in ("time_asked", "locality_effect"), fact
