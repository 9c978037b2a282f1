"""Check sweeps: runs equal single what-ifs, and intervals are computed again."""

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_rel

from philly_analysis import compare, load_model, simulate, sweep
from philly_analysis.errors import (
    MissingTableError,
    ModelError,
    PhillyError,
    SimulationError,
    TraceError,
    WorkloadError,
)
from philly_analysis.experiments import run_plans, runs, sweep_tables, sweeps
from philly_analysis.experiments.effects import ARM
from philly_analysis.experiments.run_plans import plan_runs
from philly_analysis.experiments.runs import Run, RunOptions, outcome_of
from philly_analysis.parallel import open_executor
from philly_analysis.results import mean_interval
from philly_analysis.simulator import Decision, Job, Policy, View
from philly_analysis.simulator.engine.outages import Failures
from philly_analysis.simulator.policies.priority import Fifo, start_in_order
from philly_analysis.workload.outcomes import measures
from tests.experiments.test_increments import interval

OPTIONS: dict[str, Any] = {"loads": (1.1,), "seeds": range(3), "jobs": 60, "cluster": 64}


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sweep") / "out"
    sweep(["literature"], ["fifo", "las"], out, **OPTIONS)
    return out


def test_a_run_equals_a_single_what_if(swept: Path, tmp_path: Path) -> None:
    table = pd.read_csv(swept / "sweep.csv")
    assert len(table) == 3 * 2 and not table.duplicated(["load", "arm", "seed"]).any()
    drawn = load_model("literature").sample(jobs=60, gpus=64, seed=2)
    with simulate(drawn.with_load(1.1, 64), "las", tmp_path / "t", cluster=64, seed=2) as trace:
        alone = measures(trace)
    row = table.set_index(["load", "arm", "seed"]).to_dict("index")[1.1, "las", 2]
    assert row["jobs"] == 60
    assert {m: row[m] for m in alone} == pytest.approx(alone, nan_ok=True)


def test_changes_are_paired_by_seed(swept: Path) -> None:
    table = pd.read_csv(swept / "sweep.csv").set_index(["arm", "load", "seed"])["mean_jct_s"]
    found = pd.read_csv(swept / "changes.csv").set_index(["measure", "policy", "load"])
    for load in OPTIONS["loads"]:
        las, fifo = ([table[arm, load, s] for s in range(3)] for arm in ("las", "fifo"))
        [row] = [r for k, r in found.iterrows() if k == ("mean_jct_s", "las", load)]
        expected = interval(las, fifo)
        assert tuple(row[["change_pct", "low_pct", "high_pct"]]) == pytest.approx(expected)
        assert row["seeds"] == 3 and row["against"] == "fifo"
        gap = ttest_rel(las, fifo)
        low, high = gap.confidence_interval(0.95)
        assert row["difference"] == pytest.approx(np.mean(las) - np.mean(fifo))
        assert (row["low"], row["high"]) == pytest.approx((low, high))


def runs_of(mean_s: Mapping[tuple[float | None, str], Sequence[float]]) -> pd.DataFrame:
    """Return the table of a sweep from mean completion times by load, policy and seed."""
    rows = [
        ("w", load, arm, seed, *({"mean_jct_s": jct_s}.get(m, 10.0) for m in sweeps.MEASURES))
        for (load, arm), by_seed in mean_s.items()
        for seed, jct_s in enumerate(by_seed)
    ]
    return pd.DataFrame(rows, columns=[*ARM, *sweeps.MEASURES])


RUNS = runs_of(
    {
        (0.5, "fifo"): (60, 60, 60),
        (0.5, "las"): (72, 72, 72),
        (0.5, "srtf"): (60, 61, 59),
        (1.0, "fifo"): (60, 80, 90),
        (1.0, "las"): (31, 39, 46),
        (1.0, "srtf"): (30, 40, 45),
    }
)


def test_the_table_has_paired_intervals_against_any_baseline() -> None:
    result = sweeps.result_of(RUNS).against("las", ["mean_jct_s", "held_frac"])
    assert result.table["against"].eq("las").all() and result.runs["arm"].iloc[0] == "las"
    jct = result.table.query("measure == 'mean_jct_s' and load == 1").set_index("policy")
    fifo, las = np.array([60, 80, 90]), np.array([31, 39, 46])
    half = student.ppf(0.975, 2) * np.std(fifo - las, ddof=1) / np.sqrt(3)
    gap = np.mean(fifo - las)
    assert tuple(jct.loc["fifo", ["difference", "low", "high"]]) == pytest.approx(
        (gap, gap - half, gap + half)
    )
    # the mean's interval is on the scale of logarithms: positive, though Student's is not
    wide = sweeps.result_of(runs_of({(1.0, "fifo"): (1, 1, 200)})).table
    [row] = wide[wide["measure"] == "mean_jct_s"].to_dict("records")
    half = student.ppf(0.975, 2) * np.std([1, 1, 200], ddof=1) / np.sqrt(3)
    mean = 202 / 3
    assert mean - half < 0 < row["mean_low"] == pytest.approx(mean * np.exp(-half / mean))
    facts = {fact.name: fact.value for fact in result.facts}
    assert facts["load_1_fifo_mean_jct_change_pct"] == jct.loc["fifo", "change_pct"]
    assert facts["load_1_fifo_mean_jct_change_low_pct"] == jct.loc["fifo", "low_pct"]
    assert {"load_1_fifo_held_frac_change_pct", "load_0_5_srtf_held_frac_change_pct"} <= set(facts)
    alone = sweeps.result_of(RUNS[RUNS["load"] == 1])
    assert alone.fact("las_mean_jct_change_pct") == pytest.approx(-50, abs=0.5)
    with pytest.raises(PhillyError, match="policy of the sweep"):
        result.against("nobody")
    with pytest.raises(PhillyError, match="no measure named"):
        result.against("las", ["jct"])


def test_chosen_measures_are_in_table_facts_and_figure() -> None:
    chosen = sweeps.result_of(RUNS).select("mean_jct_s", "held_frac")
    assert set(chosen.table["measure"]) == {"mean_jct_s", "held_frac"}
    changes = [fact.name for fact in chosen.facts if fact.name.endswith("change_pct")]
    assert len(changes) == 2 * 2 * 2  # measures, loads, policies
    figure = sweeps.plot(chosen)
    headings = [text.get_text() for ax in figure.axes for text in ax.texts]
    assert "Mean completion time, load 1" in headings
    assert "GPU time allocated, load 0.5" in headings and len(figure.axes) == 4
    with pytest.raises(PhillyError, match="no measure named"):
        chosen.select("jct")


@pytest.mark.parametrize(
    ("values", "bounds", "inside"),
    [
        ([1.1, 1.2, 9.0], (1.0, np.inf), (1.0, np.inf)),
        ([0.9, 1.2, 9.0], (1.0, np.inf), (0.0, np.inf)),  # faster than recorded
        ([0.5, 0.99, 0.97], (0.0, 1.0), (0.0, 1.0)),
    ],
)
def test_the_interval_of_a_mean_is_possible(
    values: list[float], bounds: tuple[float, float], inside: tuple[float, float]
) -> None:
    mean = mean_interval(values, *bounds)
    assert inside[0] < mean.low < mean.effect < mean.high < inside[1]
    half = student.ppf(0.975, 2) * np.std(values, ddof=1) / np.sqrt(3)
    least = inside[0]
    if bounds[1] == np.inf:
        excess = np.mean(values) - least
        assert mean.high == pytest.approx(least + excess * np.exp(half / excess))


def test_the_number_of_seeds_for_a_width() -> None:
    result = sweeps.result_of(RUNS)
    rows = {pct: result.seeds_for(pct).query("load == 1 and policy == 'las'") for pct in (5, 0.1)}
    n, more = (int(row["needed"].iloc[0]) for row in rows.values())
    deviation = np.std(np.log([31, 39, 46]) - np.log([60, 80, 90]), ddof=1)
    half = [student.ppf(0.975, k - 1) * deviation / np.sqrt(k) for k in (n, n - 1)]
    assert half[0] <= np.log(1.05) < half[1]
    assert more > n


def test_jobs_by_policy(swept: Path, tmp_path: Path) -> None:
    jobs = pd.read_csv(swept / "jobs.csv")
    assert len(jobs) == 3 * 60 and list(jobs.columns[-2:]) == ["fifo", "las"]
    by_run = pd.read_csv(swept / "sweep.csv").pivot_table("mean_jct_s", "seed", "arm")
    means = jobs.groupby("seed")[["fifo", "las"]].mean()
    assert means.to_numpy() == pytest.approx(by_run[["fifo", "las"]].to_numpy())


def test_policies_are_ranked_at_each_load() -> None:
    ranked = sweep_tables.ranking(RUNS)
    assert ranked["arm"].tolist() == ["srtf", "fifo", "las", "srtf", "las", "fifo"]
    assert ranked["rank"].tolist() == [1, 2, 3] * 2
    assert ranked["mean_jct_s"].tolist() == pytest.approx([60, 60, 72, 115 / 3, 116 / 3, 230 / 3])
    unknown = pd.concat([RUNS, runs_of({(0.5, "lost"): (0, 0, 0)})])
    assert sweep_tables.ranking(unknown)["arm"].tolist()[:4] == ["srtf", "fifo", "las", "lost"]
    shown = sweep_tables.policy_table(RUNS)
    half = "−50 % (−50 to −50)"
    assert shown["against fifo"].tolist()[1:] == [
        "",
        "+20 % (+20 to +20)",
        half,
        shown.iloc[4, 5],
        "",
    ]
    assert shown["load"].tolist() == [0.5] * 3 + [1.0] * 3


def test_the_headline_is_the_best_policy_at_the_highest_load() -> None:
    best, following, counts, more = sweeps.result_of(RUNS).sentences
    assert more.startswith("Intervals of the change of the mean completion time within ± 5 % need")
    assert best == (
        "w at a load of 1: srtf has the shortest mean completion time, 50 % (50 to 50) below fifo."
    )
    assert following.startswith("The next, las, is not significantly slower: +1.0 % (−")
    assert "6 runs" not in counts and counts.startswith("18 runs: 1 workload, 3 policies, 3 seeds.")
    low = RUNS[(RUNS["load"] == 0.5) & (RUNS["arm"] != "srtf")]
    best, following, _ = sweeps.result_of(low).sentences
    assert best.endswith("fifo has the shortest mean completion time.")
    assert following == "The next, las, takes 20 % (20 to 20) longer."
    unsure = runs_of({(1.0, "fifo"): (60, 80, 90), (1.0, "las"): (50, 70, 92)})
    first, *_ = sweeps.result_of(unsure).sentences
    assert (
        "las has the shortest mean completion time, but not significantly below fifo: −9" in first
    )
    assert sweeps.result_of(RUNS.assign(load=None)).sentences[0].startswith("w: srtf has")
    [alone] = sweeps.result_of(RUNS[RUNS["arm"] == "las"]).sentences
    assert alone.startswith("6 runs: 1 workload, 1 policy, 3 seeds.")


def test_the_figure_has_a_panel_per_load() -> None:
    low, high = sweeps.plot(sweeps.result_of(RUNS)).axes
    labels = [[label.get_text() for label in ax.get_yticklabels()] for ax in (low, high)]
    assert labels == [["las", "srtf"], ["las", "srtf"]]
    headings = [ax.texts[-1].get_text() for ax in (low, high)]
    assert headings == ["Load 0.5", "Load 1"]
    assert "against fifo" in high.get_xlabel()
    both = pd.concat([RUNS, RUNS.assign(setting="v")])
    assert sweeps.plot(sweeps.result_of(both)).axes[0].texts[-1].get_text() == "v, load 0.5"
    alone = sweeps.result_of(RUNS[RUNS["arm"] == "las"])
    assert not sweeps.plot(alone).axes[0].axison


def test_an_interrupted_sweep_is_resumed(
    swept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = {file.name: file.read_bytes() for file in (swept / "runs").iterdir()}
    assert len(done) == 6
    out = tmp_path / "again"
    (out / "runs").mkdir(parents=True)
    for name in list(done)[:5]:
        (out / "runs" / name).write_bytes(done[name])
    asked = []

    def counted(run: Run) -> dict[str, Any]:
        asked.append(run)
        return outcome_of(run)

    monkeypatch.setattr(sweeps, "outcome_of", counted)
    result = sweep(["literature"], ["fifo", "las"], out, **OPTIONS)
    assert len(asked) == 1
    assert not result.caveats and any("2 policies, 3 seeds" in s for s in result.sentences)
    assert sweep_tables.policy_table(result.runs)["load"].tolist() == [1.1, 1.1]
    page = (out / "page" / "report.html").read_text("utf-8")
    assert '<section class="card" id="sweep-1"' in page and "Policies by mean completion" in page
    for name in ("sweep.csv", "changes.csv", "jobs.csv"):
        assert (out / name).read_bytes() == (swept / name).read_bytes()


@pytest.mark.slow
@pytest.mark.slow
def test_a_sweep_runs_while_the_code_is_edited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "code_version", lambda: "")
    swept = sweep("literature", ["fifo", "las"], tmp_path / "out", jobs=20, cluster=16, seeds=2)
    assert len(swept.runs) == len([*(tmp_path / "out" / "runs").iterdir()]) == 4


@pytest.mark.slow
def test_processes_give_the_same_bytes(swept: Path, tmp_path: Path) -> None:
    sweep(["literature"], ["fifo", "las"], tmp_path / "two", executor=2, **OPTIONS)
    for file in (*(swept / "runs").iterdir(), swept / "sweep.csv", swept / "changes.csv"):
        other = tmp_path / "two" / file.relative_to(swept)
        assert other.read_bytes() == file.read_bytes()


def test_knobs_apply_to_policies_that_have_them() -> None:
    knobs = {"restart_s": [0, 60], "las.round_s": 300}
    planned = plan_runs(["literature"], ["fifo", "las"], knobs=knobs)
    assert [run.arm for run in planned] == [
        "fifo (restart_s=0)",
        "fifo (restart_s=60)",
        "las (restart_s=0, round_s=300)",
        "las (restart_s=60, round_s=300)",
    ]


def test_invalid_sweeps_raise(tmp_path: Path) -> None:
    load_model("literature").sample(jobs=5, seed=1).to_trace(tmp_path / "t", source="sample")
    months = load_model("literature").sample(jobs=5, seeds=2)
    wrong: list[tuple[list[Any], list[Any], dict[str, Any], str]] = [
        (["literature"], ["fifo"], {"knobs": {"queues": 1}}, "no knob named 'queues'"),
        (["literature"], ["fifo", "last"], {}, "no policy named"),
        ([tmp_path / "none"], ["fifo"], {}, "is not a trace"),
        (["literature"], ["fifo"], {"seeds": ()}, "different integers"),
        (["literature"], ["fifo"], {"seeds": (1, 1)}, "different integers"),
        ([], ["fifo"], {}, "one workload and one policy"),
        (["philly"], [], {}, "one workload and one policy"),
        ([tmp_path / "t"], ["fifo"], {"seeds": (1, 2)}, "is a recorded trace"),
        ([tmp_path / "t"], ["fifo"], {"days": 2}, "have their own jobs"),
        ([months], ["fifo"], {"jobs": 2}, "have their own jobs"),
        (["literature"], [Aged], {}, r"Aged is a class: give a policy of this class, Aged\(\)"),
        (["literature"], ["fifo", Aged(), Aged()], {}, "2 policies are called aged"),
        (["literature"], [1], {}, "a policy is a name or a Policy, not a int"),
    ]
    for sources, policies, options, why in wrong:
        with pytest.raises(PhillyError, match=why):
            plan_runs(sources, policies, **options)


def test_one_load_and_a_number_of_seeds_are_a_list_of_them() -> None:
    planned = plan_runs(["literature"], ["fifo"], loads=0.9, seeds=2)
    assert [(run.load, run.seed) for run in planned] == [(0.9, 0), (0.9, 1)]


def test_the_command_line_names_a_model_as_a_path() -> None:
    [run] = plan_runs([Path("literature")], ["fifo"])
    assert run.jobs.name == "literature"


@pytest.mark.slow
def test_a_recorded_trace_has_one_seed(tmp_path: Path) -> None:
    drawn = load_model("literature").sample(jobs=20, seed=1)
    drawn.to_trace(tmp_path / "mine", source="sample")
    planned = plan_runs([tmp_path / "mine"], ["fifo", "srtf"], cluster=64)
    with open_executor() as executor:
        result = sweeps.sweep(planned, tmp_path / "runs", executor)
    assert list(result.runs["setting"]) == ["mine", "mine"]
    assert result.table["load"].isna().all() and result.table["low"].isna().all()
    assert any("no interval" in caveat for caveat in result.caveats)
    for file in (tmp_path / "runs").iterdir():
        assert set(json.loads(file.read_text())["measures"]) <= set(sweep_tables.MEASURES)


VARIED = {"work", "policy", "out", "cluster", "knobs", "seed", "samples", "force", "executor"}
"""Parameters of a what-if that a sweep varies, or sets itself."""


def test_a_sweep_has_the_options_of_a_what_if_with_the_same_defaults() -> None:
    options = {field.name: field.default for field in fields(RunOptions)}
    for verb in (simulate, sweep):
        parameters = inspect.signature(verb).parameters
        assert {name: parameters[name].default for name in options} == options
        assert len(parameters) <= 14
    assert set(inspect.signature(simulate).parameters) - VARIED == options.keys() - {"cluster"}


@dataclass(frozen=True)
class Aged(Policy):
    """Last come, first served: a policy that no list has."""

    name = "aged"
    SOURCE = "this test"

    sign: float = -1.0

    def key(self, job: Job, now_s: float) -> float:
        return self.sign * job.spec.submit_s

    def decide(self, view: View) -> Decision:
        return start_in_order(view, consolidate=False, first_fit=False)


@pytest.mark.slow
def test_a_sweep_runs_policies_that_are_objects() -> None:
    drawn = load_model("literature").sample(60, gpus=64, seed=1).with_load(20, 64)
    swept = sweep(drawn, [Fifo(backfill=True), Aged(), Aged(sign=1.0)], cluster=64)
    table = swept.runs.set_index("arm")
    assert list(table.index) == ["fifo (backfill=True)", "aged", "aged (sign=1.0)"]
    times = table["mean_jct_s"]
    assert times["fifo (backfill=True)"] == times["aged (sign=1.0)"] != times["aged"]
    [alone] = plan_runs([drawn], [Aged()], knobs={"sign": 1.0})
    assert alone.arm == "aged (sign=1.0)"


def test_a_policy_of_a_file_has_the_name_that_its_class_declares(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from dataclasses import dataclass\nfrom philly_analysis.simulator.policies import Fifo\n"
        '@dataclass(frozen=True)\nclass Own(Fifo):\n    """Mine."""\n    name = "my own"\n'
    )
    [run] = plan_runs(["literature"], [f"{file}:Own"], knobs={"restart_s": 60})
    assert run.arm == "my own (restart_s=60)"


@pytest.mark.slow
def test_months_of_an_ensemble_stay_apart() -> None:
    months = load_model("literature").sample(20, gpus=64, seeds=(5, 2))
    apart = sweep(list(months), ["fifo"], cluster=64).runs
    assert set(apart["setting"]) == {months.name + "-sample"}
    together = sweep(months, ["fifo"], cluster=64).runs
    assert apart.drop(columns="setting").equals(together.drop(columns="setting"))
    assert list(together["seed"]) == [5, 2] and set(together["setting"]) == {months.name}
    for seed, row in zip((5, 2), together.to_dict("records"), strict=True):
        with simulate(months.of_seed(seed), "fifo", cluster=64, seed=seed) as trace:
            assert row["mean_jct_s"] == pytest.approx(measures(trace)["mean_jct_s"])
    with pytest.raises(SimulationError, match="have their own seeds"):
        sweep(months, ["fifo"], cluster=64, seeds=(1,))


@pytest.mark.slow
def test_ensembles_are_compared_month_by_month(tmp_path: Path) -> None:
    months = load_model("literature").sample(15, gpus=64, seeds=(5, 2, 3))
    found = {p: simulate(months, p, tmp_path / p, cluster=64) for p in ("fifo", "las")}
    result = compare(found)
    means = {p: r.months.set_index("seed")["mean_jct_s"] for p, r in found.items()}
    [row] = result.table.query("policy == 'las' and measure == 'mean_jct_s'").to_dict("records")
    assert row["difference"] == pytest.approx((means["las"] - means["fifo"]).mean(), abs=1e-6)
    assert row["seeds"] == 3 and {"fifo", "las"} == set(result.table["policy"])
    longer = load_model("literature").sample(30, gpus=64, seeds=(5, 2, 3))
    drawn = compare(months, longer).table.set_index(["policy", "measure"])
    assert drawn.loc[("ensemble 2", "jobs"), "difference"] == 15
    with pytest.raises(TraceError, match="different seeds"):
        compare(months, load_model("literature").sample(15, gpus=64, seeds=(1, 2)))


def test_a_model_has_no_jobs_to_simulate() -> None:
    with pytest.raises(ModelError, match=r"sample\(\"philly\", jobs=1000\)"):
        simulate("philly", "fifo")


def test_a_list_of_months_is_swept() -> None:
    months = list(load_model("literature").sample(5, gpus=64, seeds=2))
    with pytest.raises(WorkloadError, match=r"not a list of 2: sweep\(work, policies\)"):
        simulate(months, "fifo", cluster=64)  # type: ignore[call-overload]


@pytest.mark.slow
def test_options_reach_each_run(tmp_path: Path) -> None:
    options = RunOptions(speed="locality", outages="machine:2e5:3600", checkpoint_s=600.0)
    months = load_model("literature").sample(12, gpus=64, seeds=(0,))
    changed = (
        months.as_runs("sum")
        .dedicated()
        .with_prerun(1, 60.0)
        .without_user_retries()
        .with_estimates("noisy:0.5")
    )
    [planned] = plan_runs([changed], ["srtf"], cluster=64, options=options)
    options_given = {f.name: getattr(planned.options, f.name) for f in fields(options)}
    with simulate(changed[0], "srtf", tmp_path / "all", **options_given) as trace:
        notes = " ".join(trace.manifest.notes)
        measured = outcome_of(planned)["measures"]
        assert measured == pytest.approx(measures(trace), nan_ok=True)
    words = ("Tables 4", "every 600 s", "to themselves", "within 60 s", "believed", "errors")
    assert not [word for word in words if word not in notes], notes


def test_keys_depend_on_every_option(tmp_path: Path) -> None:
    months = load_model("literature").sample(12, gpus=64, seeds=(0,))
    [run] = plan_runs([months], ["fifo"])
    table = tmp_path / "outages.csv"
    keys = {run.key()}
    for field in fields(RunOptions):
        changed: Any = 7.0 if isinstance(field.default, float) else "x"
        keys.add(replace(run, options=replace(run.options, **{field.name: changed})).key())
    for other in (months.as_runs("last"), months.dedicated(), months.with_load(0.5, 64)):
        keys.add(replace(run, jobs=replace(run.jobs, ensemble=other)).key())
    for row in ("m0,,2020-01-01,2020-01-02", "m1,,2020-01-01,2020-01-02"):
        table.write_text(f"machine_id,gpu,started_at,ended_at\n{row}\n")
        keys.add(replace(run, options=RunOptions(outages=str(table))).key())
    keys |= {replace(run, policy=policy).key() for policy in (Aged(), Aged(sign=2.0))}
    assert len(keys) == 1 + len(fields(RunOptions)) + 3 + 2 + 2
    assert run.key() == plan_runs([months], ["fifo"])[0].key()


def test_recorded_outages_have_the_rate_of_the_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_model("literature").sample(jobs=5, seed=1).to_trace(tmp_path / "t", source="sample")
    with pytest.raises(MissingTableError, match="placements"):
        sweep([tmp_path / "t"], ["fifo"], tmp_path / "out", outages="recorded")
    monkeypatch.setattr(run_plans, "recorded_outages", lambda _: Failures(machine_s=12345.0))
    met: list[Run] = []

    def outcome(run: Run) -> dict[str, Any]:
        met.append(run)
        return {
            "measures": {"jobs": 1.0},
            "jobs": {"job_id": ["a"], "gpus": [1], "jct_s": [1.0]},
        }

    monkeypatch.setattr(sweeps, "outcome_of", outcome)
    sweep([tmp_path / "t"], ["fifo"], tmp_path / "out", outages="recorded")
    assert [run.options.outages for run in met] == [Failures(machine_s=12345.0)]
