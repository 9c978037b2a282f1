"""Check that each finding's figure shows the numbers of its table, and misleads nowhere."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
import scipy.stats
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import Rectangle

from philly_analysis.analyses import clock_offset
from philly_analysis.analyses.shared.wait_cause import CAUSES
from philly_analysis.report.findings import ANALYSES
from philly_analysis.results import Result, gang_label
from philly_analysis.study import STATUSES
from tests.support.drawn_data import bars, curves, lengths, misleading, segments, steps

Panel = tuple[Callable[[Axes], Any], Any]
"""A reader of a panel, and what it finds there."""
Floats = npt.NDArray[np.float64]


def points(x: Any, y: Any) -> list[tuple[float, float]]:
    """Return points as a list, without those that are not finite."""
    both = zip(np.asarray(x, float), np.asarray(y, float), strict=True)
    return [(a, b) for a, b in both if np.isfinite(a) and np.isfinite(b)]


def lines(ax: Axes) -> list[list[tuple[float, float]]]:
    return sorted(points(*line.T) for line in curves(ax).values())


def grid(rows: pd.DataFrame, by: str, value: str, *, least: float = -np.inf) -> list[Any]:
    """Return the curve of each group of a percentile grid."""
    return sorted(
        points(r.sort_values("percentile")[value].clip(least), sorted(r["percentile"]))
        for _, r in rows.groupby(by)
    )


def shares(rows: pd.DataFrame, group: str, part: str, value: str) -> dict[str, dict[str, float]]:
    """Return the percentage of each part in each group, by part."""
    heights: dict[str, dict[str, float]] = {}
    for (g, p), part_rows in rows.groupby([group, part]):
        whole = float(rows.loc[rows[group] == g, value].astype(float).sum())
        if pct := 100 * float(part_rows[value].astype(float).sum()) / whole if whole else 0:
            heights.setdefault(str(p), {})[str(g)] = pct
    return heights


def first(rows: pd.DataFrame, name: str, value: str, n: int = 100) -> dict[str, dict[str, float]]:
    """Return the largest values of a column by name, as one container's bars."""
    top = rows[rows[value] > 0].sort_values(value, ascending=False, kind="stable").head(n)
    return {"": dict(zip(top[name].astype(str), top[value].astype(float), strict=True))}


def renamed(of: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in of.items()}


def daily(table: pd.DataFrame, column: str) -> dict[str, Floats]:
    """Return a column by day, with zero on days without a row."""
    days = pd.to_datetime(table["day"])
    values = dict(zip(days, table[column].astype(float).fillna(0), strict=True))
    every = [days.min() + pd.Timedelta(days=d) for d in range((days.max() - days.min()).days + 1)]
    return {"0": np.array([values.get(day, 0.0) for day in every])}


def row_names(ax: Axes) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def by_group(table: pd.DataFrame, count: str) -> list[list[Panel]]:
    def spans(rows: pd.DataFrame) -> list[Any]:
        at = range(len(rows))[::-1]
        return [
            [[(row[a], y), (row[b], y)] for y, (_, row) in zip(at, rows.iterrows(), strict=True)]
            for a, b in (("p5_s", "p95_s"), ("p25_s", "p75_s"))
        ]

    panels: list[list[Panel]] = []
    for kind in ("vc", "week", "user"):
        rows = table[table["kind"] == kind]
        rows = rows if kind == "week" else rows.sort_values(count, ascending=False, kind="stable")
        columns = [column for column in rows if str(column).startswith("p")]
        shown = rows.assign(**rows[columns].clip(lower=1))
        medians = [points(shown["p50_s"], range(len(shown))[::-1])]
        names = [f"{name}  n={n:,}" for name, n in zip(shown["name"], shown[count], strict=True)]
        panels.append([(segments, spans(shown)), (lines, medians), (row_names, names)])
    return panels


def concentration(table: pd.DataFrame) -> list[list[Panel]]:
    panels: list[list[Panel]] = []
    for kind in ("user", "vc"):
        rows = table[table["kind"] == kind].sort_values("rank")
        x = [0, *rows["members_pct"]]
        curves_expected = [points(x, [0, *rows[of]]) for of in ("gpu_h_pct", "jobs_pct")]
        panels.append([(lines, sorted([*curves_expected, [(0, 0), (100, 100)]]))])
    return panels


def offsets(table: pd.DataFrame) -> list[list[Panel]]:
    frequent = table[table["events"] >= clock_offset.FEWEST_EVENTS]
    ours = [points(r["offset_min"] / 60, r["step_pct"]) for _, r in frequent.groupby("event")]
    return [[(lines, sorted([*ours, [(0, 0), (1, 0)]]))]]


def occupancy(table: pd.DataFrame) -> list[list[Panel]]:
    weight = table["hours"] * table["gpus"]
    mean = {
        of: (table[of] * weight).groupby(table["used_pct"]).sum()
        / weight.groupby(table["used_pct"]).sum()
        for of in ("empty_pct", "partly_pct", "hours")
    }
    x = np.array(mean["hours"].index, float) + 0.5
    above = [points(x, mean[of]) for of in ("empty_pct", "partly_pct")]
    return [
        [
            (lines, sorted([*above, [(200 / 3, 0), (200 / 3, 1)]])),
            (lambda ax: ax.get_xlim(), [0, 101]),
        ],
        [(lengths, {"": list(mean["hours"])}), (lambda ax: ax.get_xlim(), [0, 101])],
    ]


def stacked_days(table: pd.DataFrame) -> list[list[Panel]]:
    sums = table.groupby("vc")["mean_gpus"].sum().sort_values(ascending=False)
    days = pd.date_range(min(table["day"]), max(table["day"]))
    by_vc = {}
    for vc in sums.index[:8]:
        vc_rows = table[table["vc"] == vc]
        on = dict(zip(pd.to_datetime(vc_rows["day"]), vc_rows["mean_gpus"], strict=True))
        by_vc[str(vc)] = np.array([on.get(day, 0.0) for day in days])
    return [[(steps, by_vc)]]


def rates_and_ratios(table: pd.DataFrame) -> list[list[Panel]]:
    causes, gangs = table[table["gpus"].isna()][::-1].reset_index(), table[table["gpus"].notna()]
    of = "per_1000_part_days"
    seen = causes[causes["failures"] > 0]
    bars_of = causes[[f"{of}_low", f"{of}_high"]].to_numpy(float)
    spans = [[(low, y), (high, y)] for y, (low, high) in enumerate(bars_of)]
    shares = ("ratio", "ratio_with_wait", "optimum_ratio")
    return [
        [(segments, [spans]), (lines, [points(seen[of], seen.index)])],
        [(lines, sorted(points(gangs["gpus"], 100 * gangs[share]) for share in shares))],
    ]


def gang_mttf(table: pd.DataFrame) -> list[list[Panel]]:
    bounded, ran = table[table["mttf_low_s"] > 0], table[table["seen_mttf_s"].notna()]
    spans = [
        [(g, lo), (g, hi)] for g, lo, hi in ran[["gpus", "seen_low_s", "seen_high_s"]].to_numpy()
    ]

    def band(ax: Axes) -> list[Any]:
        [area] = [c for c in ax.collections if isinstance(c, PolyCollection)]
        corners = {tuple(point) for point in np.asarray(area.get_paths()[0].vertices)}
        return sorted(corners)

    ends = {(g, of) for of_ in ("mttf_low_s", "mttf_high_s")
            for g, of in bounded[["gpus", of_]].to_numpy(float).tolist()}  # fmt: skip
    return [
        [
            (segments, [spans]),
            (band, sorted(tuple(end) for end in ends)),
            (
                lines,
                sorted([points(bounded["gpus"], bounded["mttf_s"]),
                        points(ran["gpus"], ran["seen_mttf_s"])]),
            ),
        ]
    ]  # fmt: skip


def servers(table: pd.DataFrame) -> list[list[Panel]]:
    failed = table[table["failures"] + table["in_gangs"] > 0]
    left = {
        label: {
            str(m): float(n) for m, n in zip(failed["machine_id"], failed[of], strict=True) if n
        }
        for label, of in (("of this server", "failures"), ("of a server of its gang", "in_gangs"))
    }
    n, held = table["failures"].sum(), table["days_held"] / table["days_held"].sum()
    times = range(max(int(table["failures"].max()), 3) + 1)
    right = {
        "observed": [float((table["failures"] == k).sum()) for k in times],
        "expected for equal servers": [
            sum(scipy.stats.poisson(n * share).pmf(k) for share in held) for k in times
        ],
    }

    return [[(bars, left)], [(lengths, right)]]


def usage(table: pd.DataFrame) -> list[list[Panel]]:
    weeks = pd.date_range(table["week"].min(), table["week"].max(), freq="7D")
    sums = table.groupby("account")["gpu_h"].sum().sort_values(ascending=False)
    gpu_h = {}
    for i, account in enumerate(sums.index):
        by_week = table[table["account"] == account].groupby("week")["gpu_h"].sum()
        by_week.index = pd.to_datetime(by_week.index)
        gpu_h[str(i)] = np.array([by_week.get(week, 0.0) for week in weeks])
    idle = table.groupby("user")[["idle_gpu_h"]].sum().reset_index()
    return [[(steps, gpu_h)], [(bars, first(idle, "user", "idle_gpu_h"))]]


def by_reason(table: pd.DataFrame, value: str, by: str) -> dict[str, dict[str, float]]:
    return first(table[table["reason"] != "all"].astype({value: float}), by, value)


def wait_states(table: pd.DataFrame) -> list[list[Panel]]:
    sums = table.groupby(["name", "cause"])["wait_h"].sum().reset_index()
    labels = sums["cause"].map({cause: fields.label for cause, fields in CAUSES.items()})
    sums["name"] = labels.where(sums["name"] == "(none)", labels + ": " + sums["name"])
    top = first(sums, "name", "wait_h", 8)
    by_state = {
        CAUSES[cause].label: of for cause, of in shares(table, "gang", "cause", "wait_h").items()
    }
    tops = [100] * table.loc[table["wait_h"] > 0, "gang"].nunique()
    return [[(bars, by_state), (stacked_to, tops)], [(bars, top)]]


def stacked_to(ax: Axes) -> list[float]:
    """Return the top of the bars of each tick, from the left."""
    places = np.array(
        [b.get_x() + b.get_width() / 2 for b in ax.patches if isinstance(b, Rectangle)]
    )
    tops = np.array([b.get_y() + b.get_height() for b in ax.patches if isinstance(b, Rectangle)])
    return [tops[np.rint(places) == tick].max() for tick in ax.get_xticks()]


def quantities(rows: pd.DataFrame, group: str, of: Mapping[str, tuple[str, str]]) -> Any:
    """Return the percentage of one column in another, by label and group."""
    sums = rows.groupby(group).sum(numeric_only=True)
    return {
        label: {str(g): 100 * row[part] / row[whole] for g, row in sums.iterrows() if row[part]}
        for label, (part, whole) in of.items()
    }


def time_to_failure(table: pd.DataFrame) -> list[list[Panel]]:
    some = table[(table["demand"] == "all") & (table["reason"] != "all")]
    hours = some.drop_duplicates("reason").set_index("reason")["gpu_h"]
    top = some[some["reason"].isin(hours.sort_values(ascending=False).index[:5])]
    sizes = table[(table["reason"] == "all") & (table["demand"] != "all")]
    return [
        [(lines, grid(top, "reason", "run_s", least=1))],
        [(lines, grid(sizes, "demand", "run_s", least=1))],
    ]


def failure_reasons(table: pd.DataFrame) -> list[list[Panel]]:
    rows = table[table["reason"] != "all"][::-1].reset_index(drop=True)
    timed = rows[rows["timed"] > 0]
    spans = [points(timed.loc[[i, i], "rtf_p50_s"], [i, i])[:1] for i in timed.index]
    spans += [[(r["rtf_p50_s"], i), (r["rtf_p95_s"], i)] for i, r in timed.iterrows()]  # type: ignore[list-item]
    part = rows.assign(pct=100 * rows["trials"] / rows["trials"].sum())
    return [
        [(lambda ax: {"": bars(ax)[""]}, first(part, "reason", "pct"))],
        [(lines, sorted(spans))],
        [(lengths, {"": list(rows["gpu_h_share_pct"])})],
    ]


def utilisation(rows: pd.DataFrame, by: str, weight: str, n: int) -> list[list[Panel]]:
    sizes = rows[rows["percentile"] == 0].sort_values(weight, ascending=False, kind="stable")
    return [[(lines, grid(rows[rows[by].isin(sizes[by][:n])], by, "util_pct"))]]


def gpu_util(table: pd.DataFrame) -> list[list[Panel]]:
    every = table[table["status"].isna() & table["gpus"].notna() & (table["percentile"] == 0)]
    sizes = every.sort_values("gpu_h", ascending=False, kind="stable")["gpus"][:4]
    of_sizes = table[table["gpus"].isin(sizes)]
    return [
        [(lines, grid(of_sizes[of_sizes["status"] == status], "gpus", "util_pct"))]
        for status in (*STATUSES, "unknown")
    ]


def markers(ax: Axes) -> dict[str, list[Any]]:
    """Return the shape of each line's markers, and its values, by name."""
    found = {str(line.get_label()): line for line in ax.lines if line.get_marker() != "None"}
    return {
        name: [ord(str(line.get_marker())), sorted(np.asarray(line.get_xdata(), float))]
        for name, line in found.items()
    }


def marked(rows: pd.DataFrame, by: str, value: str, diamond: str) -> dict[str, list[Any]]:
    return {
        str(name): [ord("D" if name == diamond else "o"), sorted(group_rows[value])]
        for name, group_rows in rows.groupby(by)
    }


def other_months(table: pd.DataFrame) -> list[list[Panel]]:
    alone = table[table["draws"] == "jobs one by one"].set_index("statistics")["winkler"]
    score = table["winkler"] / alone[table["statistics"]].to_numpy()
    return [
        [(markers, marked(table.assign(score=score), "draws", of, "workload model"))]
        for of in ("all_pairs_pct", "score", "pit_middle_pct")
    ]


WORDS = {"fair_share": "fair share", "start_up": "start-up", "unknown": "not explained"}

ABSENT = {"philly_like", "notebook_definitions", "locality_effect", "stated_causes", "borrowing"}
"""Findings of the study's cluster alone, or of data that such a trace does not have."""

EXPECTED: dict[str, Callable[[pd.DataFrame], list[list[Panel]]]] = {
    "arrivals": lambda t: [[
        (lengths, {"": list(t.sort_values(["weekday", "hour"])["jobs_per_hour"])}),
        (lambda ax: ax.get_xticks(minor=True), [0, 24, 48, 72, 96, 120, 144, 168]),
    ]],
    "calibration": lambda t: [[
        (markers, marked(t.assign(x=t["distance"].clip(1e-3, 3)), "model", "x",
                         "real, other part")),
        (segments, [[[(x, 0 - 0.4), (x, 0 + 0.4)] for x in t["limit"].dropna().unique()]]),
    ]],
    "cause_accuracy": lambda t: [[(bars, renamed(
        shares(t.assign(cause=t["cause"].replace(WORDS)), "cause", "found", "wait_s"), WORDS))]],
    "clock_offset": offsets,
    "concentration": concentration,
    "delay_causes": lambda t: [
        [(bars, renamed(shares(t[(t["method"] == "given") & (t["cause"] != "none")],
                               "gang", "cause", of), WORDS))]
        for of in ("waits", "time_s")
    ],
    "failure_costs": lambda t: [
        [(bars, by_reason(t, "gpu_h", "reason"))],
        [(lambda ax: sorted(sorted(own.values()) for own in bars(ax).values()), sorted(
            sorted(by_reason(t[t["gpu_h"] > 0], f"{of}_saved_gpu_h", "reason")[""].values())
            for of in ("retry", "pool")))],
    ],
    "failure_reasons": failure_reasons,
    "failure_repetition": lambda t: [
        [(lengths, {"": list(t[t["reason"] != "all"][f"trials_per_{kind}"].fillna(0)[::-1])})]
        for kind in ("job", "user")
    ],
    "failure_statuses": lambda t: [
        [(bars, first(t[t["ending"] != "all"].groupby("ending")["attempts"].sum().reset_index(),
                      "ending", "attempts"))],
        [(lambda ax: sorted(bars(ax)[""].values()),
          sorted(t[t["ending"] != "all"].groupby("exit_code")["attempts"].sum()))],
    ],
    "gang_failures": gang_mttf,
    "gpu_util": gpu_util,
    "gpu_util_by_servers": lambda t: utilisation(
        t[t["gpus"] == t[t.groupby("gpus")["servers"].transform("nunique") > 1]["gpus"].max()],
        "servers", "attempts", 6),
    "gpu_util_dedicated": lambda t: utilisation(t, "gpus", "gpu_h", 5),
    "gpu_util_summaries": lambda t: utilisation(t[t["status"].isna() & t["gpus"].notna()],
                                                "gpus", "attempts", 5),
    "gpus_in_use": stacked_days,
    "host_clock_offset": offsets,
    "host_util": lambda t: [[(lines, grid(t[t["resource"] == of], "servers", "util_pct"))]
                            for of in ("cpu", "mem")],
    "how_used": lambda t: [[(bars, {"": {
        {-1: "0 %", 0: "1-25 %", 25: "26-50 %", 50: "51-75 %", 75: "76-100 %"}[level]:
            100 * hours / t["gpu_h"].sum()
        for level, hours in zip(t["level"], t["gpu_h"], strict=True)}})]],
    "job_status": lambda t: [[(bars, {
        str(r["status"]): {"GPU time": r["gpu_h_pct"], "jobs": r["jobs_pct"]}
        for _, r in t.iterrows()})]],
    "locality_relaxation": lambda t: [
        [(lines, [points(r["wait_p50_s"].clip(1), range(len(r)))]),
         (segments, [[[(max(a, 1), y), (max(b, 1), y)] for y, (a, b) in
                      enumerate(zip(r["wait_p10_s"], r["wait_p90_s"], strict=True))]])]
        for _, r in t[t["wait_p50_s"].notna()].groupby("gang", sort=False)
    ],
    "node_failures": servers,
    "occupancy": occupancy,
    "out_of_order": lambda t: [
        [(bars, {"": quantities(t, "gang", {"": ("overtook", "starts")})[""]})],
        [(lambda ax: sorted(bars(ax)[""].values()),
          sorted(quantities(t, "vc", {"": ("overtook", "starts")})[""].values()))],
    ],
    "other_months": other_months,
    "overview": lambda t: [
        [(steps, daily(t.assign(gpu_h=t["gpu_h"] / 24), of))]
        for of in ("jobs", "gpu_h", "gpu_samples", "host_samples")
    ],
    "queueing_delay": lambda t: [
        [(lines, grid(t[t["vc"].isna() & (t["waits"] >= 20)], "gang", "wait_s", least=1))]
    ],
    "queueing_delay_by_group": lambda t: by_group(t, "waits"),
    "reliability": rates_and_ratios,
    "retries": lambda t: [[(bars, {"": dict(zip(t["gang"], t[of], strict=True))})]
                          for of in ("retries_per_job", "unsuccessful_pct")],
    "run_policy": lambda t: [[(lines, grid(t, "policy", of, least=1))]
                             for of in ("run_s", "retried_run_s")],
    "run_time": lambda t: [[(lines, grid(t, "gang", "run_s", least=1))]],
    "run_time_by_group": lambda t: by_group(t, "jobs"),
    "time_asked": lambda t: [
        [(lines, grid(t[t["gang"] != "all"].assign(pct=100 * t["used_frac"].clip(upper=1)),
                      "gang", "pct"))],
        [(bars, quantities(
            t[(t["percentile"] == 0) & (t["gang"] != "all")].assign(
                whole=t["used_gpu_h"] + t["unused_gpu_h"]),
            "gang", {"used": ("used_gpu_h", "whole"), "not used": ("unused_gpu_h", "whole")}))],
    ],
    "time_to_failure": time_to_failure,
    "usage": usage,
    "wait_states": wait_states,
    "waits_by_day": lambda t: [
        [(lambda ax: sorted([y for _, y in line] for line in lines(ax)),
          sorted(list(t[of].clip(1)) for of in ("p50_s", "p90_s")))],
        [(steps, daily(t, "waits"))],
    ],
    "why_failures": lambda t: [[(bars, {
        f"of {what}": {str(r["reason"]): 100 * r[of] / t.attrs[of] for _, r in t[:5].iterrows()}
        for what, of in (("failed attempts", "trials"), ("GPU hours lost", "gpu_h"))})]],
    "why_waits": lambda t: [[(bars, {
        CAUSES[cause].label: {gang_label(gang): pct for gang, pct in of.items()}
        for cause, of in shares(
            t[t.groupby("cause")["wait_s"].transform("sum") > t["wait_s"].sum() / 1000],
            "gang", "cause", "wait_s").items()})]],
    "wide_gangs": lambda t: [
        [(bars, quantities(t, "gang", {"attempts": ("wide", "attempts"),
                                       "GPU hours": ("wide_gpu_h", "gpu_h")}))],
        [(bars, first(t.groupby("account")["wide_gpu_h"].sum().reset_index(),
                      "account", "wide_gpu_h"))],
    ],
    "workload_account": lambda t: [[(bars, {
        {"left out": "excluded"}.get(str(part), str(part)): {
            "GPU hours": 100 * r["gpu_h"].sum() / t["gpu_h"].sum(),
            "jobs": 100 * r["jobs"].sum() / t["jobs"].sum()}
        for part, r in t.groupby("part")})]],
    "worst_offenders": lambda t: [
        [(lengths, {"": list(r["lost_gpu_h"][::-1])})]
        for _, r in t.groupby("kind", sort=False)
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", [n for n in ANALYSES if n not in ABSENT])
def test_a_figure_shows_its_table_and_misleads_nowhere(
    name: str, rich_results: dict[str, Result]
) -> None:
    result = rich_results[name]
    figure = ANALYSES[name].plot(result)
    table = result.table.copy()
    table.attrs |= {fact.name: fact.value for fact in result.facts}
    assert misleading(figure) == []
    panels = [ax for ax in figure.axes if ax.axison]
    for ax, panel in zip(panels, EXPECTED[name](table), strict=True):
        for read, expected in panel:
            drawn = read(ax)
            assert canonical(drawn) == canonical(expected), ax.get_title(loc="left")


def test_definitions_are_solid_and_dashed() -> None:
    rows = [
        (quantity, definition, gang, pct, pct * (shift + len(gang)))
        for quantity in ("run time", "wait")
        for shift, definition in enumerate(("ours", "notebook"))
        for gang in ("1", ">8")
        for pct in (0.0, 50.0, 100.0)
    ]
    columns = ["quantity", "definition", "gang", "percentile", "value_s"]
    table = pd.DataFrame(rows, columns=columns)
    figure = ANALYSES["notebook_definitions"].plot(Result("notebook_definitions", table))
    assert misleading(figure) == []
    for ax, (_, quantity_rows) in zip(figure.axes, table.groupby("quantity"), strict=True):
        for definition, style in (("ours", "-"), ("notebook", "--")):
            drawn = [points(*np.asarray(line.get_data())) for line in ax.lines
                     if line.get_linestyle() == style]  # fmt: skip
            expected = grid(
                quantity_rows[quantity_rows["definition"] == definition], "gang", "value_s", least=1
            )
            assert sorted(drawn) == expected


def test_effects_of_locality_have_their_interval_at_their_size() -> None:
    rows = [
        (among, size, base + (size or 0), base - 1, base + 20 + (size or 0) ** 2, 5)
        for base, among in enumerate(("all", "alone", "with co-tenants"))
        for size in (None, 2, 8)
    ]
    columns = ["among", "gpus", "effect_pct", "low_pct", "high_pct", "spread_attempts"]
    table = pd.DataFrame(rows, columns=columns)
    figure = ANALYSES["locality_effect"].plot(Result("locality_effect", table))
    [ax] = figure.axes
    assert misleading(figure) == []
    assert [label.get_text() for label in ax.get_xticklabels()] == ["all sizes", "2 GPUs", "8 GPUs"]
    shown = segments(ax)
    for (_, group_rows), spans in zip(table.groupby("among", sort=False), shown, strict=True):
        assert spans[:, :, 1].tolist() == group_rows[["low_pct", "high_pct"]].to_numpy().tolist()
        assert np.rint(spans[:, 0, 0]).tolist() == [0, 1, 2]
    middles = [spans[0, 0, 0] for spans in shown]
    assert np.diff(middles) == pytest.approx(0.22) and middles[1] == 0
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    assert [list(line.get_ydata()) for line in dots] == [  # type: ignore[arg-type]
        list(group_rows["effect_pct"]) for _, group_rows in table.groupby("among", sort=False)
    ]


def test_of_reasons_alike_in_gpu_time_the_first_by_name_have_a_curve() -> None:
    """Draw five curves: the largest, and four of five equal curves."""
    gpu_h = {"b": 2, "f": 2, "a": 2, "e": 3, "d": 2, "c": 2, "z": 1}
    rows = [(r, "all", p, 10 + p, h, 7) for r, h in gpu_h.items() for p in (0, 50, 100)]
    columns = ["reason", "demand", "percentile", "run_s", "gpu_h", "trials"]
    rows += [("all", "1", p, 10 + p, 13, 7) for p in (0, 50, 100)]
    table = pd.DataFrame(rows, columns=columns)
    figure = ANALYSES["time_to_failure"].plot(Result("time_to_failure", table))
    drawn = [str(line.get_label()) for line in figure.axes[0].lines]
    assert drawn == [f"{reason}  n=7" for reason in "eabcd"]


def test_panels_of_waits_are_those_of_the_largest_virtual_clusters_with_their_counts() -> None:
    """Gangs of 20 waits are drawn, of 19 counted; a virtual cluster of 19 has no panel."""
    waits: dict[tuple[str | None, str], int]
    waits = {(f"v{i}", gang): 20 + i * (gang == "1") for i in range(7) for gang in ("1", ">8")}
    waits |= {("v6", "2-4"): 19, ("few", "1"): 19, (None, "1"): 500}
    # the shortest wait is as many seconds as there are waits
    rows = [(vc, gang, n, p, n + p) for (vc, gang), n in waits.items() for p in range(101)]
    table = pd.DataFrame(rows, columns=["vc", "gang", "waits", "percentile", "wait_s"])
    figure = ANALYSES["queueing_delay"].plot(Result("queueing_delay", table))
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles == ["all  n=500", "v6  n=65", *(f"v{i}  n={40 + i}" for i in (5, 4, 3, 2))]
    assert [len(ax.lines) for ax in figure.axes] == [1, 2, 2, 2, 2, 2]
    shortest = [[x[0] for x, _ in map(np.transpose, lines(ax))] for ax in figure.axes]
    assert shortest == [[500], *([20, 20 + i] for i in (6, 5, 4, 3, 2))]
    assert [ax.get_xlabel() for ax in figure.axes] == [""] * 3 + ["wait"] * 3


def canonical(value: Any) -> Any:
    """Return nested data with its numbers rounded, and dicts in order of their keys."""
    if isinstance(value, dict):
        return {key: canonical(value[key]) for key in sorted(value)}
    if isinstance(value, float | int | np.number):
        return float(f"{float(value):.9g}")
    return value if isinstance(value, str) else [canonical(item) for item in value]
