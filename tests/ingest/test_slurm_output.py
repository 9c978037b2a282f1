"""Compare ingest of real Slurm output, in every form, with a plain-Python reader."""

import gzip
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pytest

from philly_analysis import ingest
from philly_analysis.analyses import overview
from philly_analysis.errors import InputError
from philly_analysis.ingest.raw_tables import RAW_TABLES
from philly_analysis.ingest.slurm import accounting_json, printed
from philly_analysis.ingest.slurm.rejoin import Header
from philly_analysis.ingest.sql import create_table_of
from philly_analysis.slurm_text import expand_hosts
from philly_analysis.trace.manifest import Manifest
from philly_analysis.trace.trace import Trace
from tests.ingest.conftest import Ingest, account, assert_equal_tables, write_files
from tests.support.slow import quick_first

PRINTED = Path(__file__).parent / "slurm_output"
OPEN = ("RUNNING", "PENDING", "SUSPENDED")
Record = dict[str, str]
Row = dict[str, Any]
TABLES = ("jobs", "attempts", "placements", "machines")

ENDS = {
    state: state.lower()
    for state in ("COMPLETED", "FAILED", "OUT_OF_MEMORY", "PREEMPTED", "REQUEUED")
}
ENDS |= {"CANCELLED": "killed", "RESIZING": "resized", "NODE_FAIL": "node_failure"}
ENDS |= dict.fromkeys(("TIMEOUT", "DEADLINE"), "time_limit")
STATUS = {"COMPLETED": "Pass", "CANCELLED": "Killed"}
STATUS |= dict.fromkeys(("FAILED", "OUT_OF_MEMORY", "TIMEOUT", "DEADLINE", "NODE_FAIL"), "Failed")


@cache
def text(name: str) -> str:
    return gzip.decompress((PRINTED / f"{name}.gz").read_bytes()).decode("utf-8", "replace")


@cache
def records() -> list[Record]:
    """The -D print whose delimiter is a control character, which stands in its last texts only."""
    header, *_ = text("wide_D_us.txt").split("\n", 1)
    names = header.split("\x1f")
    whole = re.split(r"\n(?=\d+\x1f\d[^\x1f\n]*\x1f(?:alpha|beta)\x1f)", text("wide_D_us.txt"))[1:]
    return [dict(zip(names, record.split("\x1f"), strict=False)) for record in whole]


def moment(value: str) -> datetime | None:
    return datetime.fromisoformat(value) if value[:2] == "20" else None


def count_gpus(tres: str) -> int:
    listed = dict(part.split("=") for part in tres.split(",") if part)
    return int(listed.get("gres/gpu", 0))


@cache
def plain_reading() -> tuple[dict[str, Row], dict[tuple[str, int], Row]]:
    """Jobs and attempts, as the -D print has them."""
    by_job: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in records():
        by_job[record["Cluster"], record["JobIDRaw"]].append(record)
    users = {(r["Cluster"], r["UID"]): r["User"] for r in records()}
    jobs, attempts = {}, {}
    for (cluster, number), made in by_job.items():
        made.sort(key=lambda r: r["Submit"])
        job_id = f"{cluster}:{number}"
        states = [r["State"].split()[0] for r in made]
        for i, (r, state) in enumerate(zip(made, states, strict=True), 1):
            code, signal = map(int, r["ExitCode"].split(":"))
            by = r["State"].partition(" by ")[2]
            # what was refused, or cancelled before it ran, has no server and ends as it starts
            idle = r["NodeList"] == "None assigned" and r["Start"] == r["End"]
            refused = idle and state == "FAILED"
            h, m, s = map(int, r["Suspended"].split(":"))
            ended = state not in OPEN
            attempts[job_id, i] = {
                "started_at": None if idle else moment(r["Start"]),
                "ended_at": moment(r["End"]) if ended else None,
                "run_s": float(r["ElapsedRaw"]) if h + m + s and ended else None,
                "gpus": count_gpus(r["AllocTRES"] or r["ReqTRES"]),
                "end_reason": "rejected" if refused else ENDS.get(state),
                "exit_code": 128 + signal if signal else code,
                "ended_by": "root" if by == "0" else users.get((cluster, by)),
                "eligible_at": moment(r["Eligible"]),
                "wait_reason": None if r["Reason"] == "None" else r["Reason"],
                "open": not ended,
            }
        first = made[0]
        limit = first["TimelimitRaw"]
        jobs[job_id] = {
            "vc": f"{cluster}:{first['Partition']}",
            "user": first["User"],
            "gpus": max(count_gpus(r["AllocTRES"] or r["ReqTRES"]) for r in made),
            "submitted_at": moment(first["Submit"]),
            "status": None if refused else STATUS.get(states[-1]),
            "time_limit_s": 60.0 * int(limit) if limit.isdigit() else None,
            "cluster": cluster,
            "scheduler_id": first["JobID"].partition("_[")[0],
            "account": first["Account"] or None,
            "qos": first["QOS"],
            "open": any(s in OPEN for s in states),
        }
    return jobs, attempts


def read(trace: Path) -> tuple[dict[str, Row], dict[tuple[str, int], Row]]:
    with Trace(trace) as opened:
        jobs = opened.sql("from jobs").pl().to_dicts()
        attempts = opened.sql("from attempts").pl().to_dicts()
    return {j["job_id"]: j for j in jobs}, {(a["job_id"], a["attempt"]): a for a in attempts}


def rejected(manifest: Manifest) -> dict[str, int]:
    return dict(account(manifest, "attempts").rejected)


def folder(at: Path, files: Iterable[str]) -> Path:
    paths = [path for name in files for path in PRINTED.glob(f"{name}.gz")]
    return write_files(at, {path.name: path.read_bytes() for path in paths})


def differences(trace: Path, lacks: Sequence[str] = ()) -> list[str]:
    """How a trace differs from the plain reading in what had ended as that was printed.

    What ran or waited may have moved on; nothing else may differ but what the print lacks.
    """
    problems: list[str] = []
    (want_jobs, want_attempts), (jobs, attempts) = plain_reading(), read(trace)
    both: list[tuple[dict[Any, Row], dict[Any, Row]]]
    both = [(want_jobs, jobs), (want_attempts, attempts)]
    for want, got in both:
        still = {key for key, row in want.items() if row["open"]}
        # a task of an array that waited had no number yet; a requeued job waits as another record
        problems += [f"{key} is missing" for key in want.keys() - still - got.keys()]
        problems += [
            f"{row} is new"
            for row in (got[key] for key in got.keys() - want.keys())
            if row.get("end_reason") == "completed"
            and row["ended_at"] < datetime(2026, 11, 21, 22, 1)
        ]
        for key in (want.keys() - still) & got.keys():
            for column in want[key].keys() - {"open", *lacks}:
                if want[key][column] != got[key][column]:
                    problems.append(f"{key} {column}: {want[key][column]} and {got[key][column]}")
    return problems


OLD_JSON = ("user", "exit_code")
"""The JSON of 22.05 names no user without an account, and gives codes other than 0 as 0."""


SERVERS = [
    "scontrol_show_node.alpha.txt",
    "sinfo_N.*.txt",
    "sinfo_states.alpha.txt",
    "sinfo.*.json",
]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the trace of the text and of lists of servers in several forms."""
    out = tmp_path_factory.mktemp("served")
    ingest("slurm", folder(out / "raw", ["wide_D.txt", *SERVERS]), out / "t")
    return out / "t"


READINGS: list[tuple[list[str], Sequence[str]]] = [
    (["wide_D_epoch.txt"], ()),
    (["sacct_D.*.json"], OLD_JSON),
    # a file without a header is known by one beside it
    (["wide_D_noheader.txt", "wide_noD.txt"], ()),
]
SLOW_READINGS: list[tuple[list[str], Sequence[str]]] = [
    (["wide_D.txt"], ()),
    (["safe_D.txt"], ("user", "ended_by")),
    *(([f"wide_D_{x}.txt"], ()) for x in ("us", "parsable", "caret", "semi", "tab")),
    *(([f"wide_D_{x}.txt"], ()) for x in ("noconvert", "steps")),
    # without UID it is not known who bears a number
    (["documented_caret_D.txt"], ("ended_by",)),
    (["xdmod_*.txt"], ("wait_reason", "run_s")),
    (["one_cluster_wide_D.*.txt"], ()),
    (["sacct_D.alpha.json", "one_cluster_wide_D.beta.txt"], OLD_JSON),
    (["wide_D.txt", "wide_D_us.txt", "sacct_D.*.json", "xdmod_*.txt", "wide_noD.txt"], ()),
    (["windows/*", "live/*", "wide_D.txt"], ()),
]


@pytest.mark.parametrize(("files", "lacks"), quick_first([*READINGS, *SLOW_READINGS]))
def test_every_reading_of_a_run_gives_one_trace(
    tmp_path: Path, files: list[str], lacks: tuple[str, ...]
) -> None:
    ingest("slurm", folder(tmp_path / "raw", files), tmp_path / "t")
    assert differences(tmp_path / "t", lacks) == []


@pytest.mark.parametrize(
    "version",
    quick_first(["v0.0.40", "v0.0.40+complex", "v0.0.41", "v0.0.42+complex"]),
)
def test_json_of_every_parser_is_read_as_the_text(tmp_path: Path, version: str) -> None:
    printed = "newer/one_cluster_wide_D.tundra.txt"
    ingest("slurm", PRINTED / f"{printed}.gz", tmp_path / "text")
    ingest("slurm", PRINTED / f"newer/sacct_D.tundra.{version}.json.gz", tmp_path / "json")
    assert read(tmp_path / "json") == read(tmp_path / "text")
    assert_equal_tables(tmp_path / "text", tmp_path / "json", ("placements", "machines"))


@pytest.mark.slow
def test_json_of_servers_is_read_as_the_text(tmp_path: Path, ingested: Ingest) -> None:
    machines = []
    for servers in ("scontrol_show_node_o.tundra.txt", "nodes.tundra.*.json", "sinfo.tundra.json"):
        files = ["newer/one_cluster_wide_D.tundra.txt", f"newer/{servers}"]
        raw = folder(tmp_path / servers[:5], files)
        machines.append(ingested("slurm", raw, raw / "t").rows("from machines"))
    assert machines[0] == machines[1] == machines[2]
    assert sum(row[2] for row in machines[0]) == 3 * 4 + 2 * 2


@pytest.mark.slow
def test_fields_may_stand_in_any_order_with_names_among_them(tmp_path: Path) -> None:
    ingest("slurm", folder(tmp_path / "raw", ["name_in_middle.txt", "one_*"]), tmp_path / "t")
    # both clusters got a job 1 in the same second, and this print does not say of which one is
    assert all("'job_id': '1'," in line for line in differences(tmp_path / "t"))


@pytest.mark.slow
def test_names_that_hold_the_delimiter_are_taken_apart_or_counted(tmp_path: Path) -> None:
    manifest = ingest(
        "slurm", folder(tmp_path / "raw", ["name_first.txt"]), tmp_path / "t"
    ).manifest
    # JobName|User: whether a piece between them belongs to one or the other cannot be known
    [(reason, n)] = rejected(manifest).items()
    assert reason == "a delimiter within a text, and user could end in two places"
    assert n == sum("|" in r["User"] for r in records())
    jobs, _ = read(tmp_path / "t")
    named = [j for j, want in plain_reading()[0].items() if "|" not in want["user"]]
    assert {jobs[j]["user"] for j in named} == {
        r["User"] for r in records() if "|" not in r["User"]
    }


@pytest.mark.slow
def test_a_delimiter_that_lists_hold_costs_few_records(tmp_path: Path) -> None:
    manifest = ingest(
        "slurm", folder(tmp_path / "raw", ["wide_D_comma.txt"]), tmp_path / "t"
    ).manifest
    jobs, _ = read(tmp_path / "t")
    assert sum(rejected(manifest).values()) < 10
    for job_id, want in plain_reading()[0].items():
        if job_id in jobs and not want["open"]:
            assert jobs[job_id]["gpus"] == want["gpus"]


@pytest.mark.slow
def test_a_run_without_clusters_keeps_its_jobs_apart_by_user_and_time(tmp_path: Path) -> None:
    manifest = ingest("slurm", PRINTED / "module_docstring_caret_D.txt.gz", tmp_path / "t").manifest
    _, attempts = read(tmp_path / "t")
    [(reason, n)] = rejected(manifest).items()
    assert "of which Cluster?" in reason
    assert len(attempts) + n >= len(records())
    for (job_id, attempt), row in attempts.items():
        after = attempts.get((job_id, attempt + 1))
        if after and after["started_at"] and row["ended_at"]:
            assert row["ended_at"] <= after["started_at"]


@pytest.mark.slow
def test_steps_and_files_that_are_none_are_counted(tmp_path: Path) -> None:
    files = ["wide_D_steps.txt", "default_P.txt", "default_columns.txt", "squeue.alpha.json"]
    manifest = ingest("slurm", folder(tmp_path / "raw", files), tmp_path / "t").manifest
    lines = text("wide_D_steps.txt").split("\n")
    steps = sum(bool(re.match(r"\d+\.\w+\|", line)) for line in lines)
    assert rejected(manifest)["a step of a job, not a job"] == steps
    assert rejected(manifest)["a file that is no output of sacct"] == 3
    for name in files[1:]:
        assert any(note.startswith(f"{name}.gz was passed over") for note in manifest.notes)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("default_P.txt", "lacks the fields Submit, Start, End"),
        ("default_columns.txt", "in columns for people"),
        ("long_P.txt", "lacks the fields Submit, Start, End"),
        ("tres_usage_steps.txt", "lacks the fields Submit, Start, End"),
        ("wide_D_noheader.txt", "no list of fields known"),
        ("squeue.alpha.json", "no finished job"),
        ("sacctmgr_event.txt", "has no record of sacct"),
        ("scontrol_show_node.alpha.txt", "servers and no jobs"),
    ],
)
def test_what_is_no_accounting_is_refused_with_the_command_to_run(
    tmp_path: Path, name: str, says: str
) -> None:
    with pytest.raises(InputError, match=rf"(?s){says}.*TZ=UTC sacct -a -X -D -P"):
        ingest("slurm", PRINTED / f"{name}.gz", tmp_path / "t")
    assert not (tmp_path / "t").exists()


WAITS = {"State": "PENDING", "Start": "Unknown", "End": "Unknown", "AllocTRES": ""}
WAITS |= {"NodeList": "None assigned", "ElapsedRaw": "0", "ExitCode": "0:0"}


def seen(at: datetime, until: datetime, made: Iterable[Record]) -> list[Record]:
    """What sacct shows of a window as it ends: what waited or ran in it, as it then stood."""
    page = []
    for r in made:
        submit, start, end = moment(r["Submit"]), moment(r["Start"]), moment(r["End"])
        assert submit
        if submit >= until or (end and end < at):
            continue
        if (start and start >= until) or (not start and (not end or end > until)):
            page.append(r | WAITS)
        elif not end or end > until:
            assert start
            elapsed = str(int((until - start).total_seconds()))
            runs = {"State": "RUNNING", "End": "Unknown", "ElapsedRaw": elapsed, "ExitCode": "0:0"}
            page.append(r | runs)
        else:
            page.append(r)
    return page


def write(file: Path, made: Iterable[Record]) -> None:
    names = list(records()[0])
    lines = ["\x1f".join(names), *("\x1f".join(r[n] for n in names) for r in made)]
    file.write_text("\n".join(lines) + "\n", "utf-8", newline="")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_windows_printed_as_time_goes_give_the_trace_of_one_print(
    tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    ended = [r for r in records() if r["State"].split()[0] not in OPEN]
    first = datetime(2026, 11, 21, 21, 49)
    cuts = sorted(rng.sample(range(1, 13 * 60), rng.randint(1, 12)))
    edges = [0, *cuts, 14 * 60]
    raw = tmp_path / "raw"
    raw.mkdir()
    names = [f"{i:02}.txt" for i in range(2 * len(edges))]
    rng.shuffle(names)
    for low, high in pairwise(edges):
        # some overlap, and some are printed twice
        early = max(low - rng.choice((0, 30, 300)), 0)
        page = seen(first + timedelta(seconds=early), first + timedelta(seconds=high), ended)
        for _ in range(rng.choice((1, 1, 2))):
            write(raw / names.pop(), page)
    write(tmp_path / "once.txt", ended)
    ingest("slurm", tmp_path / "once.txt", tmp_path / "once")
    ingest("slurm", raw, tmp_path / "cut")
    assert_equal_tables(tmp_path / "once", tmp_path / "cut", TABLES)


@pytest.mark.slow
def test_a_print_again_changes_nothing_and_is_counted(tmp_path: Path) -> None:
    ingest("slurm", folder(tmp_path / "one", ["wide_D_us.txt"]), tmp_path / "t1")
    twice = folder(tmp_path / "two", ["wide_D_us.txt"])
    (twice / "again.txt.gz").write_bytes((PRINTED / "wide_D_us.txt.gz").read_bytes())
    manifest = ingest("slurm", twice, tmp_path / "t2").manifest
    assert rejected(manifest) == {"the same record, printed again": len(records())}
    assert_equal_tables(tmp_path / "t1", tmp_path / "t2", TABLES)
    with Trace(tmp_path / "t2") as trace:
        said = overview.compute(trace)
    # two comments of jobstats in the run are broken
    assert (said.fact("rows_again"), said.fact("rows_rejected")) == (len(records()), 2)


@pytest.mark.parametrize(
    "servers",
    quick_first(
        [
            "",
            *("scontrol_show_node.*.txt", "scontrol_show_node_o.*.txt"),
            *("sinfo_N.*.txt", "sinfo.*.json"),
        ]
    ),
)
def test_servers_are_those_that_slurm_lists(tmp_path: Path, served: Path, servers: str) -> None:
    made = tmp_path / "t" if servers else served
    if servers:
        ingest("slurm", folder(tmp_path / "raw", ["wide_D.txt", servers]), made)
    else:
        assert differences(made) == []
    listed = {}
    for cluster in ("alpha", "beta"):
        for line in text(f"scontrol_show_node_o.{cluster}.txt").splitlines():
            said = dict(part.split("=", 1) for part in line.split() if "=" in part)
            _, model, gpus = said["Gres"].split(":") if ":" in said["Gres"] else ("", None, 0)
            mem_gb = round(int(said["RealMemory"]) * 2**20 / 1e9, 6)
            name = f"{cluster}:{said['NodeName']}"
            listed[name] = (cluster, int(gpus), model, float(said["CPUTot"]), mem_gb)
    with Trace(made) as trace:
        got = trace.sql(
            "select machine_id, cluster, gpus, gpu_model, cpus, round(mem_gb, 6), gpus_listed "
            "from machines"
        ).fetchall()
        pools = trace.sql(
            "select distinct jobs.pool = machines.pool from placements join jobs using (job_id) "
            "join machines using (machine_id) join attempts using (job_id, attempt) "
            "where jobs.pool like '%/%' and attempts.attempt = "
            "(select max(attempt) from attempts as a where a.job_id = jobs.job_id)"
        ).fetchall()
    assert {row[0]: row[1:6] for row in got} == listed
    assert all(row[2] == row[6] for row in got)
    assert pools == [(True,)]
    assert not any("No list of servers" in note for note in Manifest.read(made).notes)


def test_placements_name_servers_and_share_out_the_gpus(served: Path) -> None:
    want: Counter[tuple[str, str, str, int | None]] = Counter()
    for r in records():
        gpus = count_gpus(r["AllocTRES"])
        named = expand_hosts(r["NodeList"])
        if not gpus or not moment(r["Start"]) or r["State"] in OPEN:
            continue
        models = re.search(r"a100=(\d+),gres/gpu:v100=(\d+)", r["AllocTRES"])
        parts = [(named, gpus)]
        if models:  # a server has GPUs of one model
            a100 = [n for n in named if n[0] == "a"]
            others = [n for n in named if n[0] != "a"]
            parts = [(a100, int(models[1])), (others, int(models[2]))]
        for mine, total in parts:
            share = total // len(mine) if total % len(mine) == 0 else None
            want.update((r["Cluster"], r["JobIDRaw"], f"{r['Cluster']}:{n}", share) for n in mine)
    with Trace(served) as trace:
        got = trace.sql(
            "select cluster, split_part(job_id, ':', 2), machine_id, p.gpus, p.gpu "
            "from placements as p join jobs using (job_id) join attempts as a "
            "on p.job_id = a.job_id and p.attempt = a.attempt where a.ended_at is not null"
        ).fetchall()
    assert Counter(row[:4] for row in got) == want
    assert all(row[4] is None for row in got)


def test_a_hold_after_a_requeue_is_no_queueing(served: Path) -> None:
    """Slurm holds a requeued job for two minutes: it was eligible then, and not before."""
    with Trace(served) as trace:
        rows = trace.sql(
            "select w.wait_s, w.held_s, seconds_between(w.since_at, a.eligible_at) "
            "from waits as w join attempts as a using (job_id, attempt) join attempts as b "
            "on b.job_id = a.job_id and b.attempt = a.attempt - 1 and b.end_reason = 'requeued'"
        ).fetchall()
    assert len(rows) >= 8
    for wait_s, held_s, hold_s in rows:
        assert held_s == hold_s >= 100
        assert 0 <= wait_s - held_s < 60


def test_resources_of_accounting_in_json_are_those_with_a_count() -> None:
    listed = [
        {"type": "cpu", "name": "", "count": 8},
        {"type": "gres", "name": "gpu:a100", "count": 4},
        {"type": "mem", "count": 500},
        {"type": "node", "count": 0},
        {"type": "billing", "count": None},
    ]
    assert accounting_json._resources(listed) == "cpu=8,gres/gpu:a100=4,mem=500M"
    assert accounting_json._resources([]) is None


@pytest.mark.parametrize("seed", range(5))
def test_lines_of_any_bytes_keep_their_numbers_across_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    draw = random.Random(seed)
    pieces = [
        b"\n",
        b"\n",
        b"\r",
        b"|",
        b"1",
        b"\x00",
        "€".encode(),
        b"\xe2\x82",
        b"\xff",
        b"\xf0\x9f",
    ]
    data = b"".join(draw.choices(pieces, k=400))
    (file := tmp_path / "sacct.txt").write_bytes(data)
    monkeypatch.setattr(printed, "_BLOCK_BYTES", 7)
    header = Header(("JobIDRaw", "State", "Submit"), "|", ends=False, lines=0)
    with duckdb.connect() as con:
        create_table_of(con, "sacct", RAW_TABLES["sacct"])
        printed._insert_lines(con, header, {"jobidraw": 1, "state": 2, "submit": 3}, file)
        rows = con.sql("select source_line, raw from sacct order by source_line").fetchall()
    lines = data.removesuffix(b"\n").split(b"\n")
    texts = [line.decode("utf-8", "replace").rstrip("\r") for line in lines]
    assert rows == list(enumerate(texts, 1))
