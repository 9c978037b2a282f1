"""Compare each format's fields, on five jobs, with values computed by hand.

Job types are drawn: they are read back and looked up.
"""

import json
import pickle
import tomllib
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

from philly_analysis import export
from philly_analysis.errors import ExportError
from philly_analysis.exports.formats import gavel, opendc
from philly_analysis.workload import Machine, Workload
from tests.exports import consumers
from tests.exports.conftest import Exporter
from tests.exports.files import lines, records
from tests.exports.tiny import TINY, at, workload_of
from tests.support.clusters import table_of
from tests.support.small_traces import paper_trace


def moved(job_id: str, column: str, when: datetime) -> Workload:
    """Return the five jobs with one submission, or end of an attempt, moved."""
    table = "jobs" if column == "submitted_at" else "attempts"
    other = pl.when(pl.col("job_id") == job_id).then(pl.lit(when)).otherwise(column)
    changed: dict[str, Any] = {table: TINY.frames[table].with_columns(other.alias(column))}
    return replace(TINY, **changed)


SMALL_RUNS = [600, 400, 4000, 36000]


def test_gavel(exported: Exporter) -> None:
    done = exported("gavel", partial=True)
    rows = [line.split("\t") for line in lines(exported.out)]
    assert {len(r) for r in rows} == {10}  # no header
    # e has 12 GPUs, which Gavel does not know: 86,400 of 391,800 GPU-seconds
    assert done.left_out == {"gang size not among 1, 2, 4, 8": 1}
    assert "The workload is 4 of 5 jobs, 84.8 of 109 GPU hours." in done.account
    assert [r[6] for r in rows] == ["1", "2", "4", "8"]
    assert [float(r[9]) for r in rows] == [0, 10, 20, 20]
    for row, run_s in zip(rows, SMALL_RUNS, strict=True):
        assert int(row[5]) == round(run_s * consumers.steps_per_s(row[0], int(row[6])))
        assert row[4] == ("0" if row[0] == "A3C" else "1")
        assert ("%s" in row[1]) == (row[4] == "1")
        assert row[3].startswith("-") and row[2]
        assert row[7:9] == ["1", "-1.000000"]


def test_shockwave(exported: Exporter) -> None:
    exported("gavel", "shockwave", partial=True)
    rows = [line.split("\t") for line in lines(exported.out)]
    assert {len(r) for r in rows} == {12}
    assert [(r[7], int(r[10])) for r in rows] == [("static", run_s) for run_s in SMALL_RUNS]
    assert [float(r[11]) for r in rows] == [0, 10, 20, 20]


def test_shockwave_starts_jobs_at_rounds_of_1921_seconds() -> None:
    # c, submitted at 500, starts at 1921 and ends in the third round, at 3921; then it stops
    runs_s, submitted = pl.Series([1000.0, 2500.0, 2000.0, 10.0]), [0.0, 0.0, 500.0]
    read = [gavel._before_idle(pl.Series([*submitted, last_s]), runs_s) for last_s in (3900, 3922)]
    assert read == [4, 3]


@pytest.mark.parametrize("seed", range(5))
def test_job_types_of_the_workload_are_kept(seed: int, exported: Exporter) -> None:
    types = pl.Series(["A3C", "LM (batch size 5)", "no such type", None, None])
    named = replace(TINY, jobs=TINY.frames["jobs"].with_columns(job_type=types))
    exported("gavel", workload=named, seed=seed, partial=True)
    written = [line.split("\t")[0] for line in lines(exported.out)]
    assert written[:2] == ["A3C", "LM (batch size 5)"]
    assert "no such type" not in written


TIRESIAS, FILES = (
    tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))
    for name in ("tiresias", "files")
)


@pytest.mark.parametrize("case", FILES["export"], ids=lambda case: case["dialect"])
def test_files_without_drawn_fields(case: dict[str, Any], exported: Exporter) -> None:
    options: dict[str, Any] = {"gpus": case.get("gpus")}
    if "machines" in case:
        options = {"machines": [Machine(**machine) for machine in case["machines"]]}
    exported(case["format"], case["dialect"], **options)
    for name, text in case.get("files", {}).items():
        assert (exported.out / name).read_bytes().decode() == text
    if "nodes" in case:
        nodes = pickle.loads((exported.out / "vc_dict_homo.pkl").read_bytes())  # noqa: S301
        assert nodes == case["nodes"] and 8 * sum(nodes.values()) == case["gpus"]


@pytest.mark.parametrize("dialect", TIRESIAS)
def test_columns_of_tiresias_and_its_dialects(dialect: str, exported: Exporter) -> None:
    exported("tiresias", dialect, gpus=32, partial=True)
    written = pl.read_csv(exported.out / ("jobs.csv" if dialect == "tiresias" else ""))
    assert ",".join(written.columns) == TIRESIAS[dialect]["header"]
    expected = pl.read_csv(TIRESIAS[dialect]["rows"].encode())
    assert_frame_equal(written.select(expected.columns), expected, check_dtypes=False)


def test_tiresias(exported: Exporter) -> None:
    exported("tiresias", gpus=32)
    assert {r["model_name"] for r in records(exported.out / "jobs.csv")} <= {
        "vgg19", "vgg16", "vgg11", "alexnet", "resnet152", "resnet101", "resnet50", "inception4",
        "inception3",
    }  # fmt: skip
    sample = [int(r["duration"]) for r in records(exported.out / "yarn-gput1000.csv")]
    # five jobs, so a fifth of the quantiles each
    assert sample == [s for s in (600, 800, 16_000, 86_400, 288_000) for _ in range(200)]


def test_muri(exported: Exporter) -> None:
    exported("tiresias", "muri", partial=True)
    rows = records(exported.out)
    for row in rows:  # each takes 1.5 % longer than profiled
        each_ms = 1.015 * int(row["iteration_time"])
        assert int(row["iterations"]) == round(int(row["duration"]) / each_ms)
    # milliseconds of the data, GPU and network stages on one GPU, as published
    published = {
        "vgg19": ("16", 109, 114, 80, 0),
        "vgg16": ("16", 107, 117, 68, 0),
        "shufflenet_v2_x1_0": ("128", 798, 706, 59, 0),
        "resnet18": ("128", 779, 711, 110, 0),
        "bert": ("4", 178, 0.5, 160, 0),
        "gpt2": ("4", 426, 0.6, 410, 0),
        "dqn": ("128", 490, 446, 8, 0),
        "a2c": ("64", 517, 514, 14, 0),
    }
    first = rows[0]
    assert published[first["model_name"]] == (
        first["batch_size"],
        *(float(first[k]) for k in list(first)[8:12]),
    )


def test_elasticflow_draws_batches_and_deadlines(exported: Exporter) -> None:
    exported("tiresias", "elasticflow", partial=True)
    for row in records(exported.out):
        assert row["batch_size"] in {"64", "128"}
        slack = int(row["ddl"]) - int(row["submit_time"])
        assert 0.5 * int(row["duration"]) - 1 <= slack <= 1.5 * int(row["duration"])


@pytest.mark.parametrize("name", ["pollux", "sia"])
def test_pollux_and_sia(name: str, exported: Exporter) -> None:
    exported(name)
    rows = records(exported.out)
    head = ["name", "time", "application", "num_replicas", "batch_size"]
    assert list(rows[0]) == head + ["category"] * (name == "sia")
    assert [r["time"] for r in rows] == ["0", "10", "20", "20", "1000"]
    assert [r["num_replicas"] for r in rows] == ["1", "2", "4", "8", "12"]
    # GPU hours: 0.17, 0.22, 4.4, 80, 24
    classes = [{"cifar10", "ncf"}, {"cifar10", "ncf"}, {"deepspeech2", "bert"}, {"yolov3"}]
    limits = {
        "cifar10": (128, 4096), "ncf": (256, 32768), "deepspeech2": (20, 640),
        "bert": (12, 384), "yolov3": (8, 512), "imagenet": (200, 12800),
    }  # fmt: skip
    for row, allowed in zip(rows, [*classes, {"yolov3"}], strict=True):
        assert row["application"] in allowed
        low, high = limits[row["application"]]
        assert int(row["batch_size"]) == min(low * int(row["num_replicas"]), high)


def test_pollux_generator(exported: Exporter) -> None:
    done = exported("pollux", "generator")
    assert (done.jobs_read, done.gpu_h_read) == (5, None)
    # the generator ignores jobs of less than a minute, and of 1,000 GPU hours or more
    minute = moved("a", "ended_at", at(5 + 60))
    assert exported("pollux", "generator", minute, force=True).jobs_read == 5
    # the only job of at least 100 GPU hours may run for exactly a day
    day = moved("d", "ended_at", at(30 + 24 * 3600))
    assert exported("pollux", "generator", day, force=True).jobs_read == 5
    short = moved("a", "ended_at", at(5 + 59))
    short = replace(short, attempts=short.frames["attempts"].filter(pl.col("job_id") != "d"))
    for workload, message in (
        # 8 GPUs for 30 hours: the only job of at least 100 GPU hours, and not within a day
        (
            moved("d", "ended_at", at(30 + 30 * 3600)),
            "1 jobs of 100 to 1000 GPU hours, but none of them",
        ),
        (short, r"would accept 3 of 4 jobs .* of tiny"),
        (moved("d", "ended_at", at(30 + 125 * 3600)), "would accept 4 of 5 jobs .* of tiny"),
    ):
        with pytest.raises(ExportError, match=message):
            exported("pollux", "generator", workload, force=True)


@pytest.mark.parametrize(
    ("comes_s", "dialect", "read"),
    [
        (35_000, "gavel", 5),
        (35_000, "shockwave", 5),
        (86_400, "gavel", 5),
        (86_400, "shockwave", 4),
    ],
)
def test_shockwave_accepts_jobs_up_to_an_idle_round(
    comes_s: int, dialect: str, read: int, exported: Exporter
) -> None:
    # d, which runs longest, is gone after 36,000 s; e comes then, or a day later
    workload = moved("e", "submitted_at", at(comes_s))
    options = {"gangs": "round", "gpus": 40, "partial": True}
    assert exported("gavel", dialect, workload, **options).jobs_read == read


def test_synergy(exported: Exporter) -> None:
    exported("synergy", partial=True)
    rows = [line.split(",") for line in lines(exported.out)]
    assert [r[0] for r in rows] == ["4000", "4001", "4002", "4003"]  # no header
    assert [float(r[2]) for r in rows] == [0, 10, 20, 20]
    assert [r[4] for r in rows] == ["1", "2", "4", "8"]
    # seconds per iteration, as published
    iteration_s = {
        "alexnet": 0.60, "res18": 0.64, "res50": 0.78, "mobilenet": 0.71, "shufflenet": 0.615,
        "m5": 0.60, "deepspeech": 0.757, "gnmt": 0.12, "transformer": 0.67, "lstm": 0.011,
    }  # fmt: skip
    for row, run_s in zip(rows, SMALL_RUNS, strict=True):
        assert int(row[3]) == round(run_s / iteration_s[row[1]])


def test_synergy_draws_models_by_the_split_of_tasks(exported: Exporter) -> None:
    count = 3000
    exported(
        "synergy",
        workload=workload_of("many", [(f"{i:04}", 1, 0, [(0, 9)]) for i in range(count)]),
    )
    rows = [line.split(",") for line in lines(exported.out)]
    # it measures 4000 to 4999: those in the middle
    assert [int(row[0]) for row in rows] == list(range(3000, 6000))
    models = [row[1] for row in rows]
    for task, share in (
        (("alexnet", "res18", "res50", "mobilenet", "shufflenet"), 0.2),
        (("gnmt", "transformer", "lstm"), 0.7),
        (("m5", "deepspeech"), 0.1),
    ):
        got = sum(m in task for m in models) / count
        assert abs(got - share) < 4 * (share * (1 - share) / count) ** 0.5


def test_too_few_nodes_for_virtual_clusters_raise(exported: Exporter) -> None:
    with pytest.raises(ExportError, match=r"2 virtual clusters need 3 nodes .* the cluster has 2"):
        exported("helios", "native", gpus=16)


@pytest.mark.parametrize(
    ("name", "dialect", "days"),
    [
        ("helios", "helios", 61),
        ("helios", "native", 31),
        ("lucid", "lucid", 7),
        ("lucid", "venus", 26),
    ],
)
def test_windows_start_at_the_first_job(
    name: str, dialect: str, days: int, exported: Exporter
) -> None:
    late = moved("e", "submitted_at", at(days * 86_400))
    with pytest.raises(ExportError, match=r"would accept 4 of 5 jobs .* of tiny.*a higher --load"):
        exported(name, dialect, late, gpus=40)
    done = exported(name, dialect, late, gpus=40, partial=True)
    assert (done.jobs, done.jobs_read) == (5, 4)
    assert any(s.startswith("5 nodes of 8 GPUs, 40 in all") for s in done.assumed)
    assert done.gpu_h_read == pytest.approx((600 + 800 + 16_000 + 288_000) / 3600)


def test_jobs_before_the_window_are_moved_into_it(exported: Exporter) -> None:
    earlier = TINY.frames["jobs"].with_columns(pl.col("submitted_at") - pl.duration(days=30))
    runs = TINY.frames["attempts"].with_columns(
        pl.col("started_at", "ended_at") - pl.duration(days=30)
    )
    done = exported("helios", workload=replace(TINY, jobs=earlier, attempts=runs))
    rows = records(exported.out / "cluster_log.csv")
    assert [r["submit_time"] for r in rows][:2] == ["2017-10-01 00:00:00", "2017-10-01 00:00:10"]
    assert any("moved" in sentence for sentence in done.assumed)


def test_lucid(exported: Exporter) -> None:
    exported("lucid", gpus=40)
    rows = records(exported.out / "cluster_full_log.csv")
    keys = ["dataset", "model", "batchsize", "amp", "speed", "gpu_util", "gmem_util", "gmem"]
    jobs = ["job_id", "user", "vc", "gpu_num", "state", "submit_time", "duration"]
    assert list(rows[0]) == jobs + keys
    assert {r["vc"] for r in rows} == {"philly"}
    assert {tuple(r[k] for k in keys) for r in rows} <= {
        ("SQuAD", "BERT", "32", "0", "84.872", "99.689", "62.484", "20162.0"),
        ("MovieLens", "NeuMF", "64", "1", "12173.612", "9.836", "2.009", "2050.0"),
    }
    for name in ("lgb.csv", "ebm.csv"):
        assert lines(exported.out / name)[0] == "job_id,priority"
    forecast = records(exported.out / "throughput_pred.csv")
    # from the first job on, by ten minutes, for a week: four jobs of 15 GPUs, then one of 12
    assert [r["time"] for r in forecast][:2] == ["2017-10-03 07:00:00", "2017-10-03 07:10:00"]
    assert len(forecast) == 7 * 144
    seen = [(r["submit_gpu_job"], r["submit_gpu_num"], float(r["pred_gpu_job"])) for r in forecast]
    assert seen[:3] == [("4", "15", 4), ("1", "12", 1), ("0", "0", 0)]


@pytest.mark.parametrize(("dialect", "spelling"), [("v4", "delay"), ("v5", "DelayProfile")])
def test_batsim(dialect: str, spelling: str, exported: Exporter) -> None:
    exported("batsim", dialect, gpus=64)
    workload = json.loads(exported.out.read_text())
    assert workload["nb_res"] == 64
    assert [(j["id"], j["subtime"], j["res"]) for j in workload["jobs"]] == [
        ("a", 0, 1), ("b", 10, 2), ("c", 20, 4), ("d", 20, 8), ("e", 1000, 12),
    ]  # fmt: skip
    assert [j.get("walltime") for j in workload["jobs"]] == [None, 900, None, None, None]
    delays = [workload["profiles"][j["profile"]] for j in workload["jobs"]]
    assert delays == [{"type": spelling, "delay": s} for s in (600, 400, 4000, 36000, 7200)]


def schema(table: pa.Table) -> str:
    """Return a table's columns and types; a question mark follows nullable ones."""
    return ", ".join(f"{f.name} {f.type}{'?' * f.nullable}" for f in table.schema)


def test_opendc(exported: Exporter) -> None:
    exported("opendc")
    tasks = pq.read_table(exported.out / "tasks.parquet")
    assert schema(tasks) == (
        "id int32, name string?, submission_time timestamp[ms, tz=UTC], duration int64, "
        "cpu_count int32, cpu_capacity double, mem_capacity int64, gpu_count int32?, "
        "gpu_capacity double?"
    )
    rows = tasks.to_pylist()
    assert [r["name"] for r in rows] == ["a", "b", "c", "d", "e"]
    assert [r["duration"] for r in rows] == [600e3, 400e3, 4000e3, 36000e3, 7200e3]
    assert rows[1]["submission_time"].replace(tzinfo=None) == datetime(2017, 10, 3, 7, 0, 10)
    assert [r["cpu_count"] for r in rows] == [3, 6, 12, 24, 36]
    assert rows[0]["mem_capacity"] == 62.5 * 2**20  # kB
    fragments = pq.read_table(exported.out / "fragments.parquet")
    assert schema(fragments) == "id int32, duration int64, cpu_usage double, gpu_usage double?"
    # no samples: one fragment a job, busy throughout
    assert [f["gpu_usage"] for f in fragments.to_pylist()] == [r["gpu_capacity"] for r in rows]


def test_the_last_opendc_fragment_takes_the_remainder() -> None:
    capacity = {"cpu_capacity": 4.0, "gpu_capacity": 2.0}
    tasks = pl.DataFrame(
        [{"id": 1, "duration": 100, **capacity}, {"id": 2, "duration": 7} | capacity]
    )
    samples = pl.DataFrame({"id": [1, 1, 1, 2], "gpu_frac": [0.5, 0.25, 1.0, 0.5]})
    assert opendc._fragments(tasks, samples).rows() == [
        (1, 33, 2.0, 1.0),
        (1, 33, 1.0, 0.5),
        (1, 34, 4.0, 2.0),
        (2, 7, 2.0, 1.0),
    ]


@pytest.mark.parametrize("batch", [7, opendc._BATCH])
def test_opendc_fragments_are_the_utilisation_samples(
    batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opendc, "_BATCH", batch)
    # m0 has 4 GPUs at 10, 20, off, 40 %; a holds GPU 0 in minutes 5-14, b GPUs 1 and 2 in
    # 1-4 and 8-13, c all of m1 (50 %) from minute 4 until the log ends in minute 15, of which
    # minute 14 has no sample
    util = {"m0": [10.0, 20.0, None, 40.0], "m1": [50.0] * 8}
    samples = [(t, m, util[m]) for t in range(20) for m in util if (t, m) != (14, "m1")]
    trace = paper_trace(tmp_path / "trace", gpu_samples=table_of("gpu_samples", samples))
    export(trace, "opendc", tmp_path / "out")
    tasks = pq.read_table(tmp_path / "out" / "tasks.parquet").to_pylist()
    fragments = pq.read_table(tmp_path / "out" / "fragments.parquet").to_pylist()
    for task, each_ms, busy in zip(tasks, (60_000, 60_000, 66_000), (0.1, 0.2, 0.5), strict=True):
        mine = [f for f in fragments if f["id"] == task["id"]]
        assert [f["duration"] for f in mine] == [each_ms] * 10
        assert {round(f["gpu_usage"] / task["gpu_capacity"], 9) for f in mine} == {busy}
