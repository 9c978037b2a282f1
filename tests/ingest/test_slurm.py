"""Check ingest of Slurm accounting logs."""

import gzip
import random
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from philly_analysis.errors import InputError
from philly_analysis.ingest.slurm.fields import slurm_command
from philly_analysis.slurm_text import expand_hosts
from tests.ingest.conftest import Ingest, assert_equal_tables, write_files
from tests.support.slow import quick_first

PRINTED = Path(__file__).parent / "slurm_output"
HEADER = (
    "JobIDRaw|JobID|Partition|User|State|ExitCode|Submit|Eligible|Start|End|TimelimitRaw|"
    "NNodes|NCPUS|ReqTRES|AllocTRES|NodeList"
)
# a typed and a generic count of the same GPUs; only typed ones; requeued and running; a wait
LINES = (
    "1|1|gpu|ann|COMPLETED|0:0|2026-01-01T00:00:00|2026-01-01T00:01:00|2026-01-01T00:05:00|"
    "2026-01-01T01:05:00|120|1|8||cpu=8,gres/gpu:a100=4,gres/gpu=4,mem=500G|g1",
    "2|2_7|gpu|bob|CANCELLED by 1001|0:15|2026-01-01T00:10:00|Unknown|2026-01-01T00:20:00|"
    "2026-01-01T00:50:00||2|16||gres/gpu:a100=8,gres/gpu:v100=8,mem=1024M|g[1-2]",
    "3|3|gpu|bob|RUNNING|0:0|2026-01-01T00:50:01|Unknown|2026-01-01T01:20:00|Unknown||1|1||"
    "gres/gpu=1|g3",
    "3|3|gpu|bob|PREEMPTED|0:0|2026-01-01T00:10:00|Unknown|2026-01-01T00:20:00|"
    "2026-01-01T00:50:00||1|1||gres/gpu=1|g3",
    "4|4|cpu|eve|PENDING|0:0|2026-01-01T00:50:01|Unknown|Unknown|Unknown||1|1|||None assigned",
)


def write(folder: Path, *lines: str, header: str = HEADER, delimiter: str = "|") -> Path:
    file = folder / "sacct.txt"
    file.write_text("".join(f"{x.replace('|', delimiter)}\n" for x in (header, *lines)))
    return file


@pytest.fixture
def sacct(tmp_path: Path, ingested: Ingest) -> Ingest:
    """Return a function that ingests these lines of sacct."""
    return lambda *lines, **form: ingested("slurm", write(tmp_path, *lines, **form))


def at(clock: str) -> datetime:
    return datetime.fromisoformat(f"2026-01-01T{clock}")


WHEN = ("2026-01-01T00:00:00", "2026-01-01T00:00:05", "2026-01-01T01:00:00")


def record(number: str, when: Sequence[str] = WHEN, **fields: str) -> str:
    """Return a line of a job that completed on one GPU, with some fields replaced."""
    submit, start, end = when
    line = (
        f"{number}|{number}|gpu|ann|COMPLETED|0:0|{submit}|{submit}|{start}|{end}|60|1|1||"
        "gres/gpu=1|g1"
    )
    return "|".join((dict(zip(HEADER.split("|"), line.split("|"), strict=True)) | fields).values())


DELIMITERS = pytest.mark.parametrize("delimiter", quick_first(["|", "^|^", ";|;", "\x1f"]))


@DELIMITERS
def test_records_become_jobs_and_attempts(sacct: Ingest, delimiter: str) -> None:
    got = sacct(*LINES, delimiter=delimiter)
    assert got.rows(
        "select job_id, vc, gpus, status, eligible_at, time_limit_s, round(mem_gb, 3) "
        "from jobs order by all"
    ) == [
        ("1", "gpu", 4, "Pass", at("00:01:00"), 7200.0, 536.871),  # 500 x 2^30 bytes
        ("2", "gpu", 16, "Killed", None, None, 1.074),
        ("3", "gpu", 1, None, None, None, None),
        ("4", "cpu", 0, None, None, None, None),
    ]
    assert got.rows(
        "select job_id, attempt, started_at, ended_at, end_reason, exit_code "
        "from attempts order by all"
    ) == [
        ("1", 1, at("00:05:00"), at("01:05:00"), "completed", 0),
        ("2", 1, at("00:20:00"), at("00:50:00"), "killed", 128 + 15),
        ("3", 1, at("00:20:00"), at("00:50:00"), "preempted", 0),
        ("3", 2, at("01:20:00"), None, None, 0),
        ("4", 1, None, None, None, 0),
    ]
    waits = [("1", 1, 300.0), ("2", 1, 600.0), ("3", 1, 600.0), ("3", 2, 1800.0)]
    assert got.rows("select job_id, attempt, wait_s from waits order by all") == waits
    # a server has at least as many GPUs as were held on it at once
    machines = [("g1", 4 + 8), ("g2", 8), ("g3", 1)]
    assert got.rows("select machine_id, gpus from machines order by all") == machines


@pytest.mark.slow
def test_fields_of_an_attempt_that_other_fields_decide(sacct: Ingest) -> None:
    """Run time of suspended jobs, clocks that step back, signals, and the user who cancelled."""
    header = "JobIDRaw|UID|User|State|ExitCode|Submit|Eligible|Start|End|ElapsedRaw|Suspended"
    midnight, one, two = (f"2026-01-01T0{hour}:00:00" for hour in range(3))
    lines = (
        f"1|7|ann|COMPLETED|0:0|{midnight}|{midnight}|{midnight}|{two}|3600|01:00:00",
        f"2|7|ann|COMPLETED|3:0|{one}|{midnight}|{one}|{two}|3600|00:00:00",
        f"3|8||CANCELLED by 7|0:9|{midnight}|{one}|{one}|{two}|3600|00:00:00",
        f"4|9|bob|CANCELLED by 0|0:0|{midnight}|{midnight}|{one}|{two}|3600|00:00:00",
        f"5|9|bob|CANCELLED by 8|0:0|{midnight}|{midnight}|{one}|{two}|3600|00:00:00",
        f"6|9|bob|RUNNING|0:0|{midnight}|{midnight}|{one}|Unknown|1800|00:30:00",
    )
    got = sacct(*lines, header=header)
    query = "select job_id, run_s, exit_code, ended_by, eligible_at from attempts order by all"
    assert got.rows(query) == [
        ("1", 3600.0, 0, None, at("00:00:00")),
        ("2", None, 3, None, at("01:00:00")),
        ("3", None, 128 + 9, "ann", at("01:00:00")),
        ("4", None, 0, "root", at("00:00:00")),
        ("5", None, 0, "8", at("00:00:00")),
        ("6", None, 0, None, at("00:00:00")),
    ]


def test_lines_that_are_not_jobs_are_rejected(sacct: Ingest) -> None:
    wrong = {
        LINES[0].replace("|1|", "|1.batch|", 1): "a step of a job, not a job",
        LINES[0].replace(
            "a100=4", "a100=4|4"
        ): "the line has another number of fields than the header",
        LINES[0].replace("2026-01-01T00:00:00", "yesterday"): "Submit is not a time",
        LINES[0].replace("01T01:05:00", "01T00:04:00"): "it ended before it started",
    }
    got = sacct(*LINES, *wrong)
    assert (got.account("attempts").read, got.account("attempts").kept) == (9, 5)
    assert got.rejects("attempts") == list(enumerate(wrong.values(), 7))


@pytest.mark.parametrize(
    ("lines", "header", "message"),
    quick_first(
        [
            ((), LINES[0][3:], "fit no list of fields known here"),
            (
                LINES,
                HEADER.replace("State", "Flags").replace("End", "X"),
                "lacks the fields State, End",
            ),
            ([record("1.0")] * 2, HEADER, "nothing in .* can be kept: 2 a step of a job"),
        ]
    ),
)
def test_a_file_without_known_jobs_is_refused(
    sacct: Ingest, tmp_path: Path, ingested: Ingest, lines: Sequence[str], header: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        sacct(*lines, header=header)
    with pytest.raises(InputError, match="no sacct output"):
        ingested("slurm", tmp_path / "nowhere")
    assert not (tmp_path / "t").exists()


@pytest.mark.slow
@DELIMITERS
def test_a_documented_list_of_fields_needs_no_header(
    tmp_path: Path, ingested: Ingest, delimiter: str
) -> None:
    ingested("slurm", write(tmp_path, *LINES, delimiter=delimiter), tmp_path / "with")
    bare = write(tmp_path, *LINES[1:], header=LINES[0], delimiter=delimiter)
    ingested("slurm", bare, tmp_path / "without")
    assert_equal_tables(
        tmp_path / "with", tmp_path / "without", ("jobs", "attempts", "placements", "machines")
    )


@pytest.mark.slow
def test_a_job_number_that_is_used_again_is_another_job_or_attempt(sacct: Ingest) -> None:
    """Draw records at the boundaries of what is the same job, and number them in a loop.

    The same job is submitted again from its end to a day later; without a known end, in 30 days.
    """
    rng = random.Random(3)
    day, second = timedelta(days=1), timedelta(seconds=1)
    lines, expected = [], []
    for number in map(str, range(40)):
        job, attempt, user, submit, end = "", 0, "", datetime(2026, 1, 1), None
        for _ in range(4):
            before, user = user, rng.choice(("ann", "ann", "ann", "bob"))
            same, late = user == before, rng.choice((0 * second, second))
            if end is not None:
                early = rng.choice((True, False))
                submit = end - late if early else end + day + late
            elif attempt:
                submit += 30 * day + late
            job = job if same and not late else number + (f"@{submit.isoformat()}" if job else "")
            attempt = attempt + 1 if same and not late else 1
            end = rng.choice((None, submit + 3600 * second))
            expected.append((job, attempt, user, number))
            stop = end.isoformat() if end else "Unknown"
            when = (submit.isoformat(), (submit + second).isoformat(), stop)
            lines.append(record(number, when, User=user, State="REQUEUED" if end else "NODE_FAIL"))
    got = sacct(*lines)
    query = 'select job_id, attempt, "user", scheduler_id from attempts join jobs using (job_id)'
    assert got.rows(f"{query} order by all") == sorted(expected)


@pytest.mark.slow
def test_two_ends_of_a_record_in_one_file_are_two_clusters(
    tmp_path: Path, ingested: Ingest
) -> None:
    ends = [(*WHEN[:2], end) for end in ("2026-01-01T02:00:00", "2026-01-01T03:00:00")]
    raw = write(tmp_path, *(record("7", when) for when in ends))
    [reason] = ingested("slurm", raw).account("attempts").rejected
    assert reason.endswith("of which Cluster?")
    (apart := tmp_path / "apart").mkdir()
    for day, when in enumerate(ends):
        write(tmp_path, record("7", when)).rename(apart / f"{day}.txt")
    [reason] = ingested("slurm", apart, force=True).account("attempts").rejected
    assert reason == "an earlier reading of a record"


@pytest.mark.slow
def test_mig_slices_and_shards_are_fractions_of_gpus(ingested: Ingest) -> None:
    held = {
        ("gres/gpu:a100_2g.10gb=1,gres/gpu=1", "g1"): (1, 2 / 7),
        ("gres/gpu:1g.6gb=2", "g2"): (2, 1 / 4),
        ("gres/shard=2", "s1"): (1, 2 / 8),
        ("gres/shard=2", "s2"): (0, None),
        ("gres/gpu:7g.40gb=1", "g3"): (1, None),
    }
    lines = [
        record(str(i), AllocTRES=f"cpu=1,{gres}", NodeList=node)
        for i, (gres, node) in enumerate(held)
    ]
    nodes = "NodeName=s1 CPUTot=8 RealMemory=1000 Gres=gpu:t4:2(S:0),shard:t4:16(S:0)"
    files = {"nodes.txt": f"{nodes} Partitions=gpu\n", "sacct.txt": "\n".join([HEADER, *lines, ""])}
    got = ingested("slurm", files)
    assert got.rows("select gpus, gpu_frac from jobs order by job_id") == list(held.values())
    assert got.note("attempts held shards").startswith("1 ")


@pytest.mark.slow
def test_gpus_that_do_not_divide_among_their_servers_are_not_shared_out(sacct: Ingest) -> None:
    fields = [("7", "3"), ("8", "4")]
    lines = (
        record(number, AllocTRES=f"gres/gpu={gpus}", NodeList="n[1-2]") for number, gpus in fields
    )
    got = sacct(*lines)
    placed = got.rows("select job_id, machine_id, gpus from placements order by all")
    assert placed == [("7", "n1", None), ("7", "n2", None), ("8", "n1", 2), ("8", "n2", 2)]


@pytest.mark.slow
def test_a_listed_server_without_jobs_is_a_machine(ingested: Ingest) -> None:
    files = {"nodes.txt": "NodeName=idle Gres=gpu:2\n", "sacct.txt": f"{HEADER}\n{record('1')}\n"}
    got = ingested("slurm", files)
    assert got.rows("select gpus from machines where machine_id = 'idle'") == [(2,)]


def test_a_listed_server_counts_once_without_a_column_of_clusters(ingested: Ingest) -> None:
    nodes = "".join(f"NodeName=g{i} CPUTot=8 RealMemory=1000 Gres=gpu:4\n" for i in (1, 2))
    both = record("2", AllocTRES="gres/gpu=8", NNodes="2", NodeList="g[1-2]")
    log = "\n".join([HEADER, record("1", AllocTRES="gres/gpu=4"), both, ""])
    got = ingested("slurm", {"nodes.txt": nodes, "sacct.txt": log})
    assert got.rows("select job_id, servers from jobs order by job_id") == [("1", 1), ("2", 2)]
    placed = got.rows("select job_id, machine_id, gpus from placements order by all")
    assert placed == [("1", "g1", 4), ("2", "g1", 4), ("2", "g2", 4)]


@pytest.mark.slow
def test_each_component_of_a_heterogeneous_job_is_a_job(sacct: Ingest) -> None:
    components = [record(f"{9 + i}", JobID=f"9+{i}") for i in range(3)]
    got = sacct(*components)
    expected = [("10", "9+1"), ("11", "9+2"), ("9", "9+0")]
    assert got.rows("select job_id, scheduler_id from jobs order by all") == expected


@pytest.mark.slow
def test_a_truncated_file_is_skipped_with_a_note(ingested: Ingest) -> None:
    packed = (PRINTED / "wide_D.txt.gz").read_bytes()
    files = {"cut.txt.gz": packed[: len(packed) // 2], "complete.txt.gz": packed}
    got = ingested("slurm", files)
    assert got.note("cut.txt.gz was passed over")
    assert got.manifest.rows["attempts"] == 665


def test_the_printed_command_requests_fields_that_slurm_has() -> None:
    command = slurm_command("2026-01-01", "2026-02-01", "alpha")
    assert " --clusters=alpha -S 2026-01-01 -E 2026-02-01 " in command
    fields = command.split(" -o ")[1].split(",")
    assert {"JobIDRaw", "Cluster", "Submit", "AllocTRES", "NodeList", "Reason"} <= set(fields)
    offered = gzip.decompress((PRINTED / "wide_D.txt.gz").read_bytes()).decode("utf-8", "replace")
    assert set(fields) <= set(offered.split("\n")[0].split("|"))


@pytest.mark.slow
def test_indices_of_gpus_have_at_most_three_digits(ingested: Ingest) -> None:
    """Longer ones are damage: a server has no thousand GPUs."""
    job = record("3", AllocTRES="gres/gpu=2")
    shown = f"JobId=3 JobName=x\n   StartTime={WHEN[1]} EndTime={WHEN[2]}\n"
    shown += "     Nodes=g1 CPU_IDs=0-1 Mem=1 GRES=gpu:2(IDX:998-999,1000,5-1001)\n"
    files = {"sacct.txt": f"{HEADER}\n{job}\n", "running.txt": shown}
    got = ingested("slurm", files)
    assert got.rows("select gpu from placements order by all") == [(998,), (999,)]


@pytest.mark.slow
def test_gpus_of_running_jobs_are_those_of_scontrol(tmp_path: Path, ingested: Ingest) -> None:
    shown = sorted(PRINTED.glob("running/*_scontrol_show_job_d*"))
    files = {file.name: file.read_bytes() for file in shown}
    files["sacct.txt.gz"] = (PRINTED / "wide_D_us.txt.gz").read_bytes()
    expected, printed = set(), set()
    for file in shown:
        text = gzip.decompress(file.read_bytes()).decode("utf-8", "replace")
        cluster = "alpha" if "alpha" in file.name else "beta"
        for job in re.split(r"(?:^|\n)(?=JobId=\d)", text)[1:]:
            number = job.split()[0].removeprefix("JobId=")
            ids = re.findall(r"(?:JobId|ArrayJobId)=(\d+) ", job)
            printed.add((cluster, *ids))
            gres = r"\sNodes=(\S+) CPU_IDs=.*?GRES=gpu:\w+:\d\(IDX:(\S+)\)"
            for nodes, gpus in re.findall(gres, job):
                first, _, last = gpus.partition("-")
                for node in expand_hosts(nodes):
                    for gpu in range(int(first), int(last or first) + 1):
                        expected.add((f"{cluster}:{number}", f"{cluster}:{node}", gpu))
    assert len(expected) >= 20
    raw = write_files(tmp_path / "raw", files)
    got = ingested("slurm", raw)
    indexed = got.rows("select job_id, machine_id, gpu from placements where gpu is not null")
    assert set(indexed) == expected
    assert len(indexed) == len(expected)
    accounting = gzip.decompress(files["sacct.txt.gz"]).decode("utf-8", "replace")
    printed_ids = set(re.findall(r"\n(\d+)\x1f(\d+)[^\x1f]*\x1f(\w+)\x1f", accounting))
    known_ids = {(cluster, number) for *numbers, cluster in printed_ids for number in numbers}
    # jobs that never became eligible are in prints of the queue only
    lacking = [job for cluster, *job in printed if not any((cluster, n) in known_ids for n in job)]
    assert got.manifest.rows["attempts"] == 665 + len(lacking)
    assert len(lacking) == 7
    held = got.rows(
        "select job_id, attempt, machine_id, sum(coalesce(gpus, 1)) from placements group by all"
    )
    plain = ingested("slurm", raw / "sacct.txt.gz", tmp_path / "plain").rows(
        "select job_id, attempt, machine_id, gpus from placements where gpus is not null"
    )
    # each server has as many as sacct prints
    assert set(plain) <= set(held)
