"""Generate documents of each format, valid except for their mutations."""

import base64
import gzip
import io
import json
import tarfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from philly_analysis.failures import signatures
from philly_analysis.ingest.slurm.fields import DELIMITERS, LISTS, REQUESTED, STATES
from philly_analysis.ingest.table.table_map import SHIPPED
from philly_analysis.ingest.telemetry.metrics import DMON, METRICS
from philly_analysis.ingest.telemetry.nvidia_smi import DEFAULT_FIELDS as SMI
from tests.hostile.mutation import (
    NAMES,
    TEXTS,
    corrupt,
    encode,
    field_line,
    json_text,
    mutate,
    mutate_text,
)
from tests.ingest.conftest import HEADERS
from tests.support.repository import ROOT


@cache
def template(name: str) -> str:
    """Return a valid document, or part of one, from the folder ``templates``."""
    return (Path(__file__).parent / "templates" / name).read_text("utf-8")


def _count(rng: Random, least: int = 0, most: int = 8) -> range:
    return range(rng.randint(least, most))


def _name(rng: Random, plain: str, p: float) -> str:
    return rng.choice(NAMES) if rng.random() < p else f"{plain}{rng.randrange(4)}"


def _clock(rng: Random, sign: str = " ") -> str:
    minute = rng.randrange(60)
    return f"2017-10-{rng.randint(3, 28):02}{sign}{rng.randrange(24):02}:{minute:02}:00"


def _text_file(rng: Random, lines: Iterable[str], p: float, other: bytes = b"") -> bytes:
    """Return lines as the bytes of a file that may be corrupted, or spliced with another."""
    return corrupt(rng, encode("\n".join((*lines, ""))), p, other)


def _json_file(rng: Random, value: Any, p: float, other: bytes = b"") -> bytes:
    """Return a mutated value as the bytes of a JSON file that may be corrupted."""
    return corrupt(rng, encode(json_text(rng, mutate(rng, value, p), p)), p, other)


def _mutate_some(rng: Random, lines: Iterable[str], p: float) -> list[str]:
    return [mutate_text(rng, line) if rng.random() < p else line for line in lines]


def job_log(rng: Random, p: float) -> bytes:
    """``cluster_job_log`` of a few jobs."""

    def attempt() -> dict[str, Any]:
        held = [
            {"ip": _name(rng, "m", p), "gpus": [f"gpu{i}" for i in _count(rng, 0, 4)]}
            for _ in _count(rng, 0, 3)
        ]
        return {"start_time": _clock(rng), "end_time": _clock(rng), "detail": held}

    jobs = [
        {
            "status": rng.choice(("Pass", "Killed", "Failed")),
            "vc": _name(rng, "vc", p),
            "jobid": f"application_{i}" if rng.random() > p else rng.choice(NAMES),
            "attempts": [attempt() for _ in _count(rng, 0, 3)],
            "submitted_time": _clock(rng),
            "user": _name(rng, "u", p),
        }
        for i in _count(rng, 0, 6)
    ]
    return _json_file(rng, jobs, p, b'[{"jobid": "a"}]')


def machine_list(rng: Random, p: float) -> bytes:
    """``cluster_machine_list``."""
    rows = [field_line(rng, (_name(rng, "m", p), " 8", " 24GB"), ",", p) for _ in _count(rng)]
    return _text_file(rng, [HEADERS["cluster_machine_list"], *rows], p)


def utilisation(rng: Random, p: float, name: str) -> bytes:
    """One of the files of utilisation: ``cluster_gpu_util`` and its like."""
    wide = HEADERS[name].count(",") - 1
    rows = []
    for _ in _count(rng, 0, 20):
        at = f"{_clock(rng)} {rng.choice(('PDT', 'PST'))}"
        values = [rng.choice(("NA", "0.0", "51.5", "100", "")) for _ in range(wide)]
        if name == "cluster_gpu_util":
            values = [*values, ""]
        rows.append(field_line(rng, (at, _name(rng, "m", p), *values), ",", p))
    return _text_file(rng, [HEADERS[name], *rows], p, b"a,b\n")


def archive(rng: Random, p: float) -> bytes:
    """``trace-data.tar.gz``, whose members may have wrong names, sizes and types."""
    out = io.BytesIO()
    form = rng.choice((tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT))
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for name, data in (
            ("cluster_job_log", job_log(rng, p)),
            ("cluster_machine_list", machine_list(rng, p)),
            *((n, utilisation(rng, p, n)) for n in HEADERS if n.endswith("util")),
        ):
            member = tarfile.TarInfo(f"trace-data/{name}")
            member.size = len(data)
            if rng.random() < p:
                member.name = rng.choice((f"../{name}", f"/tmp/{name}", name, *NAMES))  # noqa: S108
            if rng.random() < p:
                member.type = rng.choice((tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, b"S"))
                member.linkname = rng.choice(("/etc/passwd", "../../x", name))
            if rng.random() < p and form == tarfile.PAX_FORMAT:
                member.pax_headers = {"size": rng.choice(TEXTS), "path": rng.choice(NAMES)}
            try:
                tar.addfile(member, io.BytesIO(data))
            except ValueError:  # this format of archive cannot store the name
                continue
    return corrupt(rng, gzip.compress(corrupt(rng, out.getvalue(), p / 2), 1), p / 2)


_SACCT_NAMES, _SACCT_VALUES = (line.split("|") for line in template("sacct.txt").splitlines())
SACCT = dict(zip(_SACCT_NAMES, _SACCT_VALUES, strict=True))


def jobstats(rng: Random, p: float) -> str:
    """A summary as jobstats leaves it in AdminComment."""
    summary = mutate(rng, json.loads(template("jobstats.json")), p)
    packed = gzip.compress(encode(json_text(rng, summary, p)), 1)
    return "JS1:" + base64.b64encode(corrupt(rng, packed, p / 2)).decode()


def sacct(rng: Random, p: float) -> bytes:
    """What sacct prints as text: any list of fields, any delimiter, with or without header."""
    names = list(rng.choice((*LISTS, REQUESTED, (*REQUESTED, "JobName"))))
    if rng.random() < p:
        rng.shuffle(names)
    if rng.random() < p:
        names.pop(rng.randrange(len(names)))
    delimiter = rng.choice(DELIMITERS)
    lines = [delimiter.join(names)] if rng.random() > 0.15 else []
    for i in _count(rng, 0, 8):
        record = SACCT | {"jobidraw": str(100 + i), "jobid": str(100 + i)}
        record["state"] = rng.choice(
            ("COMPLETED", "FAILED", "CANCELLED by 1001", "RUNNING", *STATES)
        )
        if rng.random() < 0.1:
            record["admincomment"] = jobstats(rng, p)
        if rng.random() < p:
            record["nodelist"] = rng.choice(TEXTS)
        fields = [record.get(name.lower(), "1") for name in names]
        lines.append(field_line(rng, fields, delimiter, p))
    if rng.random() < 0.2:
        lines = [line + delimiter for line in lines]
    return _text_file(rng, lines, p, b"JobID|State\n1|x\n")


_NUMBERS = [("array", "task_id"), ("time", "limit"), ("exit_code", "return_code")]
_NUMBERS += [("het", "job_offset"), ("required", "memory")]
"""Fields that are plain numbers in some versions of Slurm, and objects in others."""


def sacct_json(rng: Random, p: float) -> bytes:
    """What ``sacct --json`` prints."""

    jobs: list[dict[str, Any]] = []
    for i in _count(rng, 1, 4):
        job = json.loads(template("sacct_job.json"))
        job |= {"job_id": 100 + i, "name": _name(rng, "n", p), "user": _name(rng, "u", p)}
        job["state"]["current"] = rng.choice((["COMPLETED"], "FAILED"))
        if rng.random() < 0.2:
            job["comment"]["administrator"] = jobstats(rng, p)
        for group, field in _NUMBERS:
            if rng.random() < 0.5:
                job[group][field] = {"set": True, "infinite": False, "number": job[group][field]}
        jobs.append(job)
    whole = {"meta": {"plugin": {}}, "errors": [], "jobs": [mutate(rng, job, p) for job in jobs]}
    return corrupt(rng, encode(json_text(rng, mutate(rng, whole, p / 10), p)), p, b'{"jobs": [')


def servers(rng: Random, p: float) -> bytes:
    """Lists of servers: of scontrol, of sinfo, and either as JSON; GPUs of running jobs."""
    kind = rng.randrange(5)
    names = [_name(rng, "gpu0", p) for _ in _count(rng, 1, 4)]
    if kind == 0:
        more = ("CPUTot=16", "RealMemory=64000", "Gres=gpu:a100:4(S:0-1),shard:16")
        gap = rng.choice((" ", "\n   "))
        lines = [
            field_line(rng, (f"NodeName={n}", *more, "Partitions=gpu,low"), gap, p) for n in names
        ]
        return _text_file(rng, lines, p)
    if kind == 1:
        lines = [field_line(rng, (n, "gpu:a100:4", "16", "64000", "low*"), "|", p) for n in names]
        return _text_file(rng, ["NODELIST|GRES|CPUS|MEMORY|PARTITION", *lines], p)
    if kind == 2:
        start = "StartTime=2026-01-01T10:05:00 EndTime=Unknown"
        more = ("CPU_IDs=0-15", "Mem=1", "GRES=gpu:2(IDX:0-1)")
        lines = [
            f"JobId=10{i} JobName=x\n   {start}\n   "
            + field_line(rng, (f"Nodes={n}", *more), " ", p)
            for i, n in enumerate(names)
        ]
        return _text_file(rng, lines, p)
    if kind == 3:
        node = {"gres": "gpu:a100:4", "cpus": 16, "real_memory": 64_000, "partitions": ["gpu"]}
        return _json_file(rng, {"meta": {}, "nodes": [{"name": n, **node} for n in names]}, p)
    group = json.loads(template("sinfo.json")) | {"nodes": {"nodes": names}}
    return _json_file(rng, {"sinfo": [group]}, p)


def prometheus(rng: Random, p: float) -> bytes:
    """An answer of Prometheus' HTTP API."""
    series = [
        {
            "metric": {
                "__name__": rng.choice(tuple(METRICS)),
                "Hostname": _name(rng, "gpu0", p),
                "gpu": str(rng.randrange(4)),
                "UUID": "GPU-1",
                "pod": "job",
            },
            "values": [[1_790_000_000 + 30 * i, str(rng.randrange(100))] for i in _count(rng)],
        }
        for _ in _count(rng, 0, 3)
    ]
    answer = {"status": "success", "data": {"resultType": "matrix", "result": series}}
    return _json_file(rng, answer, p, b'{"result": [')


def scrape(rng: Random, p: float) -> bytes:
    """What an exporter prints."""
    lines = ["# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %)."]
    for _ in _count(rng):
        metric = rng.choice((*METRICS, "up"))
        labels = f'{{gpu="{rng.randrange(4)}",Hostname="{_name(rng, "gpu0", p)}"}}'
        value = rng.choice(("0", "51.5", "NaN", "+Inf", "2147483647"))
        lines.append(field_line(rng, (metric + labels, value, "1790000000000"), " ", p))
    return _text_file(rng, lines, p)


def nvidia_smi(rng: Random, p: float) -> bytes:
    """What nvidia-smi prints as CSV."""
    names = [*SMI, "memory.total", "name", "pci.bus_id"][: rng.randint(7, 10)]
    lines = [", ".join(names)] if rng.random() < 0.8 else []
    for i in _count(rng):
        first = (f"2026/01/31 12:00:{i:02}.123", str(i % 4), f"GPU-{i % 4}", "45 %", "3 %")
        more = ("1234 MiB", "250.10 W", "81920 MiB", "NVIDIA A100", "00000000:07:00.0")
        lines.append(field_line(rng, (first + more)[: len(names)], ", ", p))
    return _text_file(rng, lines, p)


def dmon(rng: Random, p: float) -> bytes:
    """What ``dcgmi dmon`` prints."""
    names = rng.sample(tuple(DMON), 4)
    at = rng.choice(("", "2026-01-31T12:00:00+0000 "))
    lines = [f"{at}#Entity   {'  '.join(names)}", f"{at}ID"]
    for i in _count(rng):
        values = [rng.choice(("0", "51.5", "N/A", "2147483632")) for _ in names]
        lines.append(field_line(rng, (f"{at}GPU {i % 4}", *values), "     ", p))
    return _text_file(rng, lines, p)


@cache
def _output_lines() -> tuple[str, ...]:
    examples = [rule.example for rule in signatures()]
    return (*examples, "epoch 3 step 100 loss 0.1", "INFO ok", "", "x" * 5_000, *NAMES, *TEXTS)


def output(rng: Random, p: float) -> bytes:
    """Output of a failed run: examples of signatures among other lines."""
    lines = (rng.choice(_output_lines()) for _ in _count(rng, 0, 12))
    return _text_file(rng, _mutate_some(rng, lines, p), p)


def failures(rng: Random, p: float, jobs: Sequence[str]) -> bytes:
    """Records of output, a line of JSON each."""
    lines = []
    for _ in _count(rng, 0, 4):
        text = output(rng, p).decode("utf-8", "replace")
        record = {"job_id": rng.choice(jobs), "attempt": rng.choice((None, 1, 2)), "text": text}
        lines.append(json_text(rng, mutate(rng, record, p), p).replace("\n", " "))
    return _text_file(rng, lines, p)


_KERNEL = template("kernel.log").splitlines()


def kernel_log(rng: Random, p: float) -> bytes:
    """A kernel log: what ``dmesg -T``, journalctl and syslog print."""
    lines = (rng.choice(_KERNEL) for _ in _count(rng))
    return _text_file(rng, _mutate_some(rng, lines, p), p)


@cache
def _maps() -> tuple[str, ...]:
    return (
        template("map.toml"),
        *(path.read_text("utf-8") for path in sorted(SHIPPED.glob("*.toml"))),
    )


def table_map(rng: Random, p: float) -> bytes:
    """A map of a table, in TOML."""
    lines = rng.choice(_maps()).split("\n")
    for i, line in enumerate(lines):
        if rng.random() < p:
            key, sign, _ = line.partition("=")
            more = "9" * 5_000, json.dumps(rng.choice(NAMES)), "[" * 500
            value = rng.choice((*template("values.txt").splitlines(), *more))
            lines[i] = rng.choice(
                (f"{key}{sign}{value}", mutate_text(rng, line), line + "\n" + line)
            )
    return corrupt(rng, encode("\n".join(lines)), p)


def table(rng: Random, p: float) -> bytes:
    """A table of jobs that the plain map reads."""
    lines = ["id,who,gpus,workers,submit,start,run,state"]
    for i in _count(rng):
        row = (f"j{i}", _name(rng, "u", p), "2", "3", _clock(rng), "3600", "61.5", "ok")
        lines.append(field_line(rng, row, ",", p))
    return _text_file(rng, lines, p)


def quotas(rng: Random, p: float) -> tuple[bytes, str]:
    """Quotas, and the name of their file."""
    rows = [(_name(rng, "vc", p), str(rng.choice((0, 8, 64)))) for _ in _count(rng, 1)]
    if rng.random() < 0.5:
        lines = ["vc,gpus", *(field_line(rng, row, ",", p) for row in rows)]
        return _text_file(rng, lines, p), "quotas.csv"
    named = _mutate_some(rng, (f"{json.dumps(vc)} = {n}" for vc, n in rows), p)
    return _text_file(rng, ["[quotas]", *named], p), "quotas.toml"


@cache
def _model() -> Any:
    return json.loads((ROOT / "philly_analysis/models/shipped/literature.json").read_text("utf-8"))


def model(rng: Random, p: float) -> bytes:
    """A workload model in JSON."""
    return corrupt(rng, encode(json_text(rng, mutate(rng, _model(), p / 10), p)), p / 2)


def manifest(rng: Random, p: float, valid: str) -> bytes:
    """A mutated manifest of a trace, without its own digest, so that it is parsed."""
    fields = json.loads(valid)
    fields.pop("sha256", None)
    return corrupt(rng, encode(json_text(rng, mutate(rng, fields, p), p)), p / 2)
