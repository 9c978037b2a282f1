"""Check exports: sidecars, refusals, loads, gangs, and estimates."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from philly_analysis import atomic, export, exports
from philly_analysis.errors import ExportError, PhillyError, WorkloadError
from philly_analysis.exports import formats
from philly_analysis.exports.codec import Format
from philly_analysis.exports.estimates import ROUND_TIMES_H, estimated_s, user_history
from philly_analysis.exports.gangs import adapt_gangs
from philly_analysis.exports.profiles import assign, read_profiles
from philly_analysis.exports.writer import FORMATS
from philly_analysis.study.terms import Estimates, Gangs, RunPolicy
from philly_analysis.trace.trace import Trace
from philly_analysis.workload import Machine, Workload
from philly_analysis.workload.demand import Demand, demand_of
from philly_analysis.workload.load import load_of, stretch_arrivals, stretch_to_load
from tests.exports.conftest import Exporter
from tests.exports.files import lines, read_swf
from tests.exports.tiny import GPU_S, SPAN_S, TINY, at, workload_of
from tests.support.small_traces import paper_trace


def test_every_format_of_the_folder_is_listed() -> None:
    folder = Path(formats.__file__).parent
    names = set()
    for module in folder.glob("*.py"):
        if module.stem != "__init__":
            imported = __import__(f"philly_analysis.exports.formats.{module.stem}", fromlist=["x"])
            names |= {v.name for v in vars(imported).values() if isinstance(v, Format)}
    assert names == set(FORMATS)
    assert all(name == f.name for name, f in FORMATS.items())


def test_profiles_name_their_source() -> None:
    for file in (Path(exports.__file__).parent / "profiles").glob("*.csv"):
        assert len(read_profiles(file.stem).source) > 40
        assert read_profiles(file.stem).table["job_type"].len()


def test_offered_load_is_gpu_seconds_over_gpus_and_span(exported: Exporter) -> None:
    done = exported("swf", gpus=100)
    assert done.offered_load == pytest.approx(GPU_S / (100 * SPAN_S))
    sidecar = json.loads(exported.out.with_name("out.json").read_text())
    assert sidecar["offered_load"] == done.offered_load and sidecar["cluster_gpus"] == 100


@pytest.mark.parametrize("name", ["swf", "philly"])
def test_sidecars_hold_the_digests_of_all_files(name: str, exported: Exporter) -> None:
    sidecar = exported(name).digests
    assert json.loads(exported.out.with_name("out.json").read_text())["digests"] == {
        file: list(digest) for file, digest in sidecar.items()
    }
    out = exported.out
    files = {path for path in (out, *out.rglob("*")) if path.is_file()}
    assert {out / file for file in sidecar} == files
    for file, (size, digest) in sidecar.items():
        data = (out / file).read_bytes()
        assert (len(data), f"blake3-{blake3(data).hexdigest()}") == (size, digest)


def test_a_kill_between_sidecar_and_file_is_detected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    before = export(TINY, "swf", out)
    with pytest.raises(ExportError, match=r"out exists\."):
        export(TINY, "swf", out)

    def killed(*between: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(atomic, "_rename", killed)
        with pytest.raises(KeyboardInterrupt):
            export(TINY, "swf", out, load=0.5, force=True)
    assert json.loads((tmp_path / "out.json").read_text())["digests"] != before.digests
    with pytest.raises(ExportError, match=r"out does not match the digests in out\.json"):
        export(TINY, "swf", out)
    assert export(TINY, "swf", out, force=True).digests == before.digests
    with pytest.raises(ExportError, match=r"out exists\."):
        export(TINY, "swf", out)


@pytest.mark.parametrize("name", ["swf", "philly"])
def test_stretched_submissions_change_nothing_else(name: str, exported: Exporter) -> None:
    now = GPU_S / (100 * SPAN_S)
    done = exported(name, workload=TINY.stretched(now / 3, 100), gpus=100)
    assert done.offered_load == pytest.approx(now / 3, rel=1e-6)
    assert "stretched in time by 3," in done.notes[-2] and "lasts 72 hours" in done.notes[-2]
    assert done.notes[-1].startswith("One job has 73.5 % of the GPU time")
    if name == "swf":
        assert [r[1:4] for r in read_swf(exported.out)[2]] == [
            [0, 5, 600], [30, 0, 400], [60, 10, 4000], [60, 10, 36000], [3000, 100, 7200],
        ]  # fmt: skip
    else:
        log = json.loads((exported.out / "cluster_job_log").read_text())
        assert log[4]["submitted_time"] == f"{at(3000):%F %T}"
        assert log[1]["attempts"][1]["start_time"] == f"{at(220):%F %T}"
        assert log[1]["attempts"][1]["end_time"] == f"{at(520):%F %T}"


def test_rescaled_arrivals_keep_the_run_times_of_running_jobs(exported: Exporter) -> None:
    # d has no end: as the log ends (e, at 8,300 s) it has run 8,270 s
    open_end = TINY.attempts.pl().with_columns(
        ended_at=pl.when(pl.col("job_id") != "d").then("ended_at")
    )
    gpu_s = GPU_S + 8 * (8_270 - 36_000)
    workload = replace(TINY, attempts=open_end)
    stretched = workload.stretched(gpu_s / (100 * SPAN_S) / 3, 100)
    done = exported("swf", workload=stretched, gpus=100)
    assert done.offered_load == pytest.approx(gpu_s / (100 * SPAN_S) / 3)
    run_s = [600, 400, 4000, 8270, 7200]
    assert [r[3] for r in read_swf(exported.out)[2]] == run_s
    for factor in (0.2, 3):
        assert [s.run_s for s in stretch_arrivals(workload, factor, "").specs()] == run_s


def test_load_counts_accepted_jobs_only(exported: Exporter) -> None:
    sizes = (1, 2, 3, 4, 8)  # the program accepts no gangs of 3
    rows = [
        (f"{i:03}", sizes[i % 5], 5000.0 * i, [(5000.0 * i, 5000.0 * i + 600 + 40 * i)])
        for i in range(300)
    ]
    done = exported("gavel", workload=workload_of("many", rows), gpus=16, load=0.1, partial=True)
    written = [line.split("\t") for line in lines(exported.out)]
    assert done.offered_load == pytest.approx(0.1, rel=0.07)
    assert 50 < len(written) == done.jobs < 200


def test_the_target_cluster_is_named_or_recorded_or_assumed(tmp_path: Path) -> None:
    on_own_servers = replace(
        TINY, machines=pl.DataFrame({"machine_id": ["m1", "m2"], "gpus": [4, 2]})
    )
    assert export(on_own_servers, "swf", tmp_path / "own", partial=True).cluster_gpus == 6
    machines = [Machine("x", 8), Machine("y", 8)]
    assert export(on_own_servers, "swf", tmp_path / "given", machines=machines).cluster_gpus == 16
    assumed = export(TINY, "swf", tmp_path / "assumed")
    assert assumed.cluster_gpus % 8 == 0
    assert assumed.offered_load is not None and 0.9 < assumed.offered_load <= 1
    assert any("target cluster" in s for s in assumed.assumed)


def test_a_trace_and_its_path_export_alike(tmp_path: Path) -> None:
    path = paper_trace(tmp_path / "trace")
    with Trace(path) as opened:
        sources: list[Trace | Path | str] = [opened, path, str(path)]
        for i, trace in enumerate(sources):
            export(trace, "swf", tmp_path / f"{i}")
    assert len({(tmp_path / f"{i}").read_bytes() for i in range(3)}) == 1


@pytest.mark.parametrize("policy", list(RunPolicy))
def test_run_times_are_those_of_the_relation_job_runs(policy: RunPolicy, tmp_path: Path) -> None:
    """Compare run times in frames with run times of the SQL relation, running jobs included."""
    missing = pl.DataFrame(
        {
            "job_id": ["d", "d", "e"],
            "attempt": [1, 2, 1],
            "started_at": [at(0), None, None],
            "ended_at": [None, at(500), at(100)],
            "gpus": [1, 1, 1],
        }
    )
    jobs = TINY.jobs.pl().with_columns(pl.col("submitted_at").dt.cast_time_unit("us"))
    attempts = TINY.attempts.pl().filter(~pl.col("job_id").is_in(["d", "e"]))
    attempts = pl.concat([attempts, missing], how="diagonal_relaxed").with_columns(
        ended_at=pl.when(pl.col("job_id") != "c").then("ended_at")
    )
    workload = replace(TINY, jobs=jobs, attempts=attempts)
    workload.to_trace(tmp_path / "trace", source="test")
    ours = demand_of(workload, policy)
    with Trace(tmp_path / "trace", run_policy=policy) as trace:
        theirs = trace.sql(
            "select job_id, run_s from job_runs where run_s is not null order by all"
        ).fetchall()
    assert sorted(ours.jobs.select("job_id", "run_s").iter_rows()) == theirs
    assert any("still ran" in sentence for sentence in ours.account())


NO_ATTEMPTS = replace(TINY, attempts=TINY.attempts.pl().clear())
NO_JOBS = replace(NO_ATTEMPTS, jobs=TINY.jobs.pl().clear())
UNKNOWN_SIZES, GANGS_OF_3 = (
    replace(TINY, jobs=TINY.jobs.pl().with_columns(gpus=pl.lit(gpus, pl.Int32)))
    for gpus in (None, 3)
)
REFUSED: list[tuple[Workload, str, dict[str, Any], str]] = [
    (NO_JOBS, "philly", {}, "tiny has no jobs"),
    (NO_ATTEMPTS, "swf", {}, "5: no attempt"),
    (UNKNOWN_SIZES, "tiresias", {}, "5: gang size not known"),
    (GANGS_OF_3, "synergy", {}, "gang size not among 1, 2, 4, 8, 16"),
    (TINY, "gavle", {}, "no export format named .*Did you mean 'gavel'"),
    (TINY, "muri", {}, "muri is a dialect of tiresias"),
    (TINY, "batsim", {"dialect": "v6"}, "no dialect of batsim named"),
    (TINY, "swf", {"run_policy": "mean"}, "no run policy named"),
    (TINY, "synergy", {"gangs": "halve"}, "no treatment of gangs named"),
    (TINY, "swf", {"load": 0}, "above 0"),
    (TINY, "swf", {"load": 1, "gpus": 0}, "at least 1"),
    (TINY, "swf", {"gpus": -1}, "at least"),
    (TINY, "gavel", {}, r"simulation_throughputs\.json.*throughputs="),
    (TINY, "gavel", {"throughputs": "none.json"}, r"none\.json cannot be read: No such file"),
    (TINY, "gavel", {"throughputs": "wrong.json"}, "not a throughput file of Gavel's kind"),
    (TINY, "lucid", {"throughputs": "wrong.json"}, r"not Lucid's single_data\.csv"),
    (
        TINY,
        "tiresias",
        {"dialect": "elasticflow", "throughputs": "."},
        r"holds no <model>\.csv",
    ),
]


@pytest.mark.parametrize(("workload", "name", "options", "message"), REFUSED)
def test_invalid_requests_are_refused(
    workload: Workload, name: str, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    (tmp_path / "wrong.json").write_text('{"v100": {"ResNet": 1}}')
    if "throughputs" in options:
        options = options | {"throughputs": tmp_path / options["throughputs"]}
    with pytest.raises(PhillyError, match=message):
        export(workload, name, tmp_path / "out", **options)
    assert [path.name for path in tmp_path.iterdir()] == ["wrong.json"]


def test_a_load_needs_a_span(exported: Exporter) -> None:
    at_once = replace(TINY, jobs=TINY.jobs.pl().with_columns(submitted_at=pl.lit(at(0))))
    with pytest.raises(WorkloadError, match="no jobs have two different submission times"):
        exported("swf", workload=at_once, load=0.5)
    done = exported("swf", workload=at_once)
    assert done.offered_load is None
    assert "offered load not defined" in str(done)


def test_exports_are_replaced_atomically(exported: Exporter) -> None:
    exported("helios")
    before = (exported.out / "cluster_log.csv").read_bytes()
    with pytest.raises(ExportError, match="out exists"):
        exported("helios")
    later = TINY.jobs.pl().with_columns(pl.col("submitted_at") + timedelta(days=1))
    exported("helios", workload=replace(TINY, jobs=later), force=True)
    assert (exported.out / "cluster_log.csv").read_bytes() != before
    assert sorted(p.name for p in exported.out.parent.iterdir()) == ["out", "out.json"]


def test_other_folders_are_not_replaced(exported: Exporter) -> None:
    exported.out.mkdir()
    (exported.out / "thesis.tex").write_text("")
    with pytest.raises(ExportError, match="not an export"):
        exported("helios", force=True)
    assert (exported.out / "thesis.tex").exists()


def test_an_unwritable_path_raises(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PhillyError, match="cannot be written"):
        export(TINY, "swf", tmp_path / "file" / "out")


def test_the_summary_lists_what_was_assumed(exported: Exporter) -> None:
    text = str(exported("synergy", gpus=16, seed=7, partial=True))
    assert "4 jobs of tiny" in text and "seed 7" in text and "sum of its attempts" in text
    assert "account: 1 job excluded (24.0 GPU hours): gang size not among 1, 2, 4, 8, 16." in text
    assert "source: seconds per iteration" in text
    assert "accepts 4 of 5 jobs, 85 of 109 GPU hours" in text


def test_an_export_with_too_few_accepted_jobs_is_refused(exported: Exporter) -> None:
    with pytest.raises(ExportError) as refused:
        exported("synergy")
    message = str(refused.value)
    assert "would accept 4 of 5 jobs (80.0 %) and 85 of 109 GPU hours (77.9 %) of tiny" in message
    assert "excluded, 1 job (24 GPU hours): gang size not among 1, 2, 4, 8, 16" in message
    assert "gangs='split'" in message and "partial=True" in message
    with pytest.raises(ExportError, match="gang larger than the cluster of 8 GPUs"):
        exported("swf", gpus=8)
    assert list(exported.out.parent.iterdir()) == []


def test_refusals_count_gpu_time_in_the_file_for_programs_with_own_run_times(
    exported: Exporter,
) -> None:
    # 99 of 100 jobs are of one GPU and run as long as the last, of 24, which it does not take
    sizes = [1] * 99 + [24]
    workload = workload_of("wide", [(f"{i:02}", n, 0, [(1, 3601)]) for i, n in enumerate(sizes)])
    few = r"99 of 100 jobs \(99.0 %\) and 99 of 123 GPU hours \(80.5 %\)"
    with pytest.raises(ExportError, match=few):
        exported("pollux", workload=workload, gpus=32)
    exported("pollux", workload=workload, gpus=32, gangs="split")


@pytest.mark.parametrize(
    ("gangs", "sizes"),
    [("split", [1, 2, 4, 8, 8, 4]), ("round", [1, 2, 4, 8, 16])],  # 12 = 8 + 4, at once
)
def test_other_gangs_are_split_or_rounded(gangs: str, sizes: list[int], exported: Exporter) -> None:
    done = exported("synergy", gangs=gangs)
    rows = [line.split(",") for line in lines(exported.out)]
    assert [int(r[4]) for r in rows] == sizes
    assert [float(r[2]) for r in rows[4:]] == [1000] * (len(sizes) - 4)
    assert (done.jobs, done.jobs_read, done.left_out) == (len(sizes), 5, {})
    assert any("of gangs split" in s for s in done.assumed) == (gangs == "split")
    assert done.gpu_h_asked == pytest.approx(GPU_S / 3600)
    assert done.gpu_h_read == pytest.approx(GPU_S / 3600, rel=1e-3)


@given(st.lists(st.integers(1, 100), min_size=1, max_size=20), st.sampled_from(["split", "round"]))
def test_split_and_rounded_gangs_keep_gpu_seconds(gangs: list[int], how: str) -> None:
    jobs = pl.DataFrame(
        {
            "job_id": [str(i) for i in range(len(gangs))],
            "gpus": pl.Series(gangs, dtype=pl.Int32),
            "run_s": [float(i + 1) for i in range(len(gangs))],
        }
    ).with_columns(gpu_s=pl.col("gpus") * pl.col("run_s"))
    demand = Demand("drawn", jobs, pl.DataFrame())
    made, _ = adapt_gangs(demand, (1, 2, 4, 8), Gangs(how))
    assert set(made.jobs["gpus"]) <= {1, 2, 4, 8}
    for column in (pl.col("gpu_s"), pl.col("gpus") * pl.col("run_s")):
        of_job = made.jobs.group_by("job_id").agg(column.sum().alias("s")).sort("job_id")["s"]
        assert of_job.to_list() == pytest.approx(jobs.sort("job_id")["gpu_s"].to_list())
    if how == "split":
        by_job = made.jobs.group_by("job_id").agg(pl.col("gpus").sum()).sort("job_id")["gpus"]
        assert by_job.to_list() == jobs.sort("job_id")["gpus"].to_list()


def test_sidecars_hold_the_command(tmp_path: Path) -> None:
    export(TINY, "tiresias", tmp_path / "an export", gpus=32)
    sidecar = json.loads((tmp_path / "an export.json").read_text())
    assert sidecar["run_with"]["source"] == "SymbioticLab/Tiresias 959f9b0"
    assert sidecar["run_with"]["needs"].startswith("Python 2.7")
    command = sidecar["run_with"]["command"].splitlines()
    assert command[0] == f"export OUT='{tmp_path}/an export'"
    assert any("--trace_file=$OUT/jobs.csv" in line for line in command)
    assert (sidecar["jobs"], sidecar["jobs_read"], sidecar["jobs_asked"]) == (5, 5, 5)
    assert sidecar["gpu_h_read"] == sidecar["gpu_h_asked"] == pytest.approx(GPU_S / 3600)


def test_notes_on_what_is_not_carried_are_no_instructions() -> None:
    for dialect in (d for f in FORMATS.values() for d in f.dialects):
        for sentence in dialect.not_carried:
            assert not sentence.startswith(("copy ", "run with", "give ", "use "))


@pytest.mark.parametrize("kind", ["exact", "noisy", "rounded", "history"])
def test_estimates_by_kind(kind: str, exported: Exporter) -> None:
    done = exported("swf", estimates=kind, seed=1)
    run_s, asked_s = ([r[i] for r in read_swf(exported.out)[2]] for i in (3, 8))
    assert asked_s[1] == 900  # its time limit, as recorded
    run_s.pop(1), asked_s.pop(1)
    if kind == "exact":
        assert asked_s == run_s
    elif kind == "history":
        # nobody had ended when a, c and d came: the mean of all; bob's b before e
        assert asked_s == [9640, 9640, 9640, 400]
    elif kind == "rounded":
        hours = [s / 3600 for s in asked_s]
        for asked, needed in zip(hours, run_s, strict=True):
            assert needed / 3600 <= asked <= max(6 * needed / 3600 * 2, 1 / 12)
            assert asked in ROUND_TIMES_H or asked % 24 == 0
    else:
        assert asked_s != run_s and all(s > 0 for s in asked_s)
    [meaning] = [s for s in done.assumed if s.startswith("estimated run times: ")]
    assert kind != "rounded" or "1 to 6 times the run time" in meaning
    with pytest.raises(ExportError, match="no field for estimated run times"):
        exported("batsim", estimates=kind, force=True)


def test_requests_of_more_than_five_days_are_whole_days() -> None:
    jobs = pl.DataFrame({"run_s": [130 * 3600.0] * 3_000})
    asked_s = estimated_s(Estimates.ROUNDED, jobs, np.random.default_rng(1))
    # 1 to 6 times 130 hours: from six days, the next to 130 hours, to 33, the next to 780
    assert set(asked_s / 86_400) == set(range(6, 34))


def test_batsim_runs_take_a_millisecond_at_least(exported: Exporter) -> None:
    instant = TINY.attempts.pl().with_columns(
        ended_at=pl.when(pl.col("job_id") == "a").then("started_at").otherwise("ended_at")
    )
    done = exported("batsim", "v5", replace(TINY, attempts=instant))
    delays = json.loads(exported.out.read_text())["profiles"].values()
    assert min(p["delay"] for p in delays) == 0.001
    assert any("1 run of no time" in s for s in done.assumed)


def test_an_excluded_early_job_moves_no_clock(exported: Exporter) -> None:
    early = pl.DataFrame(
        {"job_id": ["z"], "submitted_at": [at(-5_000_000)], "gpus": [8], "flag": ["left_truncated"]}
    )
    run = pl.DataFrame(
        {"job_id": ["z"], "attempt": [1], "started_at": [at(0)], "ended_at": [at(9)]}
    )
    with_one = replace(
        TINY,
        jobs=pl.concat([TINY.jobs.pl(), early], how="diagonal_relaxed"),
        attempts=pl.concat([TINY.attempts.pl(), run], how="diagonal_relaxed"),
    )
    done = exported("swf", workload=with_one, gpus=100)
    assert done.offered_load == pytest.approx(GPU_S / (100 * SPAN_S))
    assert done.left_out == {"left truncated": 1}
    assert with_one.origin_at == TINY.origin_at
    assert [s.submit_s for s in with_one.specs()] == [s.submit_s for s in TINY.specs()]


def test_load_of_a_window() -> None:
    # by submission: a, b, c and d at once, e; 16,800 GPU-seconds come from 10 s until 20 s
    specs = list(TINY.specs())
    assert load_of(specs, 100, slice(1, 3)) == pytest.approx((800 + 16_000) / (100 * 10))
    assert load_of(specs, 100) == pytest.approx(GPU_S / (100 * SPAN_S))
    rescaled = stretch_to_load(specs, 0.5, 100, slice(1, 4))
    assert load_of(rescaled, 100, slice(1, 4)) == pytest.approx(0.5)
    with pytest.raises(WorkloadError, match="offer 100 GPUs no load"):
        load_of(specs, 100, slice(2, 3))


def test_the_jobs_after_an_idle_round_are_not_accepted_by_a_program_that_stops(
    exported: Exporter,
) -> None:
    submissions = {"a": 0, "b": 2_000, "c": 900_000}
    workload = workload_of("gap", [(j, 1, s, [(s, s + 3600)]) for j, s in submissions.items()])
    assert "accepts 2 of 3 jobs" in str(exported("synergy", workload=workload, partial=True))


def test_user_history_is_the_mean_of_finished_jobs() -> None:
    rows = [("u", 0, 10), ("u", 5, 100), ("u", 11, 1), ("w", 20, 7), ("u", 200, 9), ("w", 300, 2)]
    jobs = pl.DataFrame(rows, ["user", "submit_s", "run_s"], orient="row").with_columns(
        pl.col("submit_s", "run_s").cast(pl.Float64)
    )
    expected = []
    for user, submit, _ in rows:
        done = [(u, r) for u, s, r in rows if s + r < submit]
        user_rows = [r for u, r in done if u == user]
        anyone = [r for _, r in done]
        use = user_rows or anyone or [r for _, _, r in rows]
        expected.append(sum(use) / len(use))
    assert user_history(jobs).to_list() == pytest.approx(expected)


def test_draws_follow_the_weights_within_a_class() -> None:
    jobs = pl.DataFrame({"gpus": [1, 2] * 4000}).with_columns(job_type=pl.lit(None, pl.String))
    table = pl.DataFrame(
        {"job_type": ["x", "y", "z"], "gpus": [1, 1, 2], "weight": [3.0, 1.0, 5.0]}
    )
    drawn = assign(jobs, table, np.random.default_rng(0), by="gpus")
    assert set(drawn.filter(pl.col("gpus") == 2)["job_type"]) == {"z"}
    share = (drawn.filter(pl.col("gpus") == 1)["job_type"] == "x").mean()
    assert share == pytest.approx(0.75, abs=4 * (0.75 * 0.25 / 4000) ** 0.5)
