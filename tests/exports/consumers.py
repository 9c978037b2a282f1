"""Write small files of measured speeds in the layouts of the programs that require them."""

import json
from pathlib import Path

import polars as pl

from philly_analysis.exports.profiles import read_profiles

_GAVEL_SCALES = (1, 2, 4, 8)
_ELASTICFLOW_GPUS = (1, 2, 4, 8, 16, 32, 64)


def steps_per_s(job_type: str, gpus: int) -> float:
    """Return the speed in the throughput file below."""
    return len(job_type) / 4 * gpus


def throughput_json(path: Path) -> Path:
    """Write a file like Gavel's ``simulation_throughputs.json``."""
    table = {
        f"('{job_type}', {gpus})": {"null": steps_per_s(job_type, gpus), "('A3C', 1)": [1.0, 1.0]}
        for job_type in read_profiles("gavel").table["job_type"].unique(maintain_order=True)
        for gpus in _GAVEL_SCALES
    }
    path.write_text(json.dumps({"k80": {}, "v100": table}))
    return path


def throughput_folder(path: Path) -> Path:
    """Write a folder like ElasticFlow's ``throughputs_A100``: 2 GPUs do twice what 1 does."""
    path.mkdir()
    head = "global_batch_size," + ",".join(map(str, _ELASTICFLOW_GPUS))
    speeds = ",".join(str(0.5 * g) for g in _ELASTICFLOW_GPUS)
    (path / "vgg16.csv").write_text(f"{head}\n64,{speeds}\n128,{speeds}\n")
    # a model without speeds on 16 GPUs or more, of so many batch sizes that one would be drawn
    slow = "".join(f"\n{batch},28.6,27.6,28.7,27.5,0,0,0" for batch in range(1, 60))
    (path / "resnet50_cifar10.csv").write_text(head + slow)
    return path


def single_data(path: Path) -> Path:
    """Write a file like Lucid's ``single_data.csv``."""
    pl.DataFrame(
        {
            "model": ["BERT", "NeuMF"],
            "dataset": ["SQuAD", "MovieLens"],
            "batchsize": [32, 64],
            "amp": [0, 1],
            "speed": [84.872, 12173.612],
            "gpu_util": [99.689, 9.836],
            "gmem_util": [62.484, 2.009],
            "gmem": [20162.0, 2050.0],
            "label": [2, 0],
        }
    ).write_csv(path)
    return path


def all_of(folder: Path) -> dict[tuple[str, str], Path]:
    """Write each of them and return its path by (format, dialect)."""
    folder.mkdir(exist_ok=True)
    gavel = throughput_json(folder / "throughputs.json")
    return {
        ("gavel", "gavel"): gavel,
        ("gavel", "shockwave"): gavel,
        ("tiresias", "elasticflow"): throughput_folder(folder / "throughputs"),
        ("lucid", "lucid"): single_data(folder / "single_data.csv"),
        ("lucid", "venus"): single_data(folder / "single_data.csv"),
    }
