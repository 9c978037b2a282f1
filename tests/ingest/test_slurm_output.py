"""Compare ingest of real Slurm output, in every form, with a plain-Python reader."""

import gzip
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from philly_analysis import ingest
from philly_analysis.analyses import overview
from philly_analysis.errors import InputError
from philly_analysis.trace.manifest import Manifest
from philly_analysis.trace.trace import Trace

PRINTED = Path(__file__).parent / "slurm_output"
OPEN = ("RUNNING", "PENDING", "SUSPENDED")
Record = dict[str, str]
Row = dict[str, Any]

ENDS = {
    "COMPLETED": "completed",
    "FAILED": "failed",
    "OUT_OF_MEMORY": "out_of_memory",
    "CANCELLED": "killed",
    "PREEMPTED": "preempted",
    "REQUEUED": "requeued",
    "RESIZING": "resized",
    "TIMEOUT": "time_limit",
    "DEADLINE": "time_limit",
    "NODE_FAIL": "node_failure",
}
STATUS = {
    "COMPLETED": "Pass",
    "CANCELLED": "Killed",
    **dict.fromkeys(("FAILED", "OUT_OF_MEMORY", "TIMEOUT", "DEADLINE", "NODE_FAIL"), "Failed"),
}


def text(name: str) -> str:
    return gzip.decompress((PRINTED / f"{name}.gz").read_bytes()).decode("utf-8", "replace")


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


def plain_reading(prefixed: bool = True) -> tuple[dict[str, Row], dict[tuple[str, int], Row]]:
    """Jobs and attempts, as the -D print has them."""
    by_job: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in records():
        by_job[record["Cluster"], record["JobIDRaw"]].append(record)
    users = {(r["Cluster"], r["UID"]): r["User"] for r in records()}
    jobs, attempts = {}, {}
    for (cluster, number), made in by_job.items():
        made.sort(key=lambda r: r["Submit"])
        job_id = f"{cluster}:{number}" if prefixed else number
        states = [r["State"].split()[0] for r in made]
        for i, (r, state) in enumerate(zip(made, states, strict=True), 1):
            code, signal = map(int, r["ExitCode"].split(":"))
            by = r["State"].partition(" by ")[2]
            h, m, s = map(int, r["Suspended"].split(":"))
            ended = state not in OPEN
            attempts[job_id, i] = {
                "started_at": moment(r["Start"]),
                "ended_at": moment(r["End"]) if ended else None,
                "run_s": float(r["ElapsedRaw"]) if h + m + s and ended else None,
                "gpus": count_gpus(r["AllocTRES"] or r["ReqTRES"]),
                "end_reason": ENDS.get(state),
                "exit_code": 128 + signal if signal else code,
                "ended_by": "root" if by == "0" else users.get((cluster, by)),
                "eligible_at": moment(r["Eligible"]),
                "wait_reason": None if r["Reason"] == "None" else r["Reason"],
                "open": not ended,
            }
        first = made[0]
        limit = first["TimelimitRaw"]
        jobs[job_id] = {
            "vc": f"{cluster}:{first['Partition']}" if prefixed else first["Partition"],
            "user": first["User"],
            "gpus": max(count_gpus(r["AllocTRES"] or r["ReqTRES"]) for r in made),
            "submitted_at": moment(first["Submit"]),
            "status": STATUS.get(states[-1]),
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


def account(manifest: Manifest, table: str = "attempts") -> dict[str, int]:
    [found] = [a for a in manifest.accounts if a.table == table]
    return dict(found.rejected)


def folder(at: Path, files: Iterable[str]) -> Path:
    at.mkdir()
    for name in files:
        for path in PRINTED.glob(f"{name}.gz"):
            (at / path.name).write_bytes(path.read_bytes())
    return at


def differences(trace: Path, lacks: Sequence[str] = ()) -> list[str]:
    """How a trace differs from the plain reading in what had ended as that was printed.

    What ran or waited may have moved on; nothing else may differ but what the print lacks.
    """
    found: list[str] = []
    (want_jobs, want_attempts), (jobs, attempts) = plain_reading(), read(trace)
    both: list[tuple[dict[Any, Row], dict[Any, Row]]] = [
        (want_jobs, jobs),
        (want_attempts, attempts),
    ]
    for want, got in both:
        still = {key for key, row in want.items() if row["open"]}
        # a task of an array that waited had no number yet; a requeued job waits as another record
        found += [f"{key} is missing" for key in want.keys() - still - got.keys()]
        new = [got[key] for key in got.keys() - want.keys()]
        found += [
            f"{row} is new"
            for row in new
            if row.get("end_reason") == "completed"
            and row["ended_at"] < datetime(2026, 11, 21, 22, 1)
        ]
        for key in (want.keys() - still) & got.keys():
            for column in want[key].keys() - {"open", *lacks}:
                if want[key][column] != got[key][column]:
                    found.append(f"{key} {column}: {want[key][column]} and {got[key][column]}")
    return found


OLD_JSON = ("user", "exit_code")
"""The JSON of 22.05 names no user without an account, and gives codes other than 0 as 0."""


@pytest.mark.parametrize(
    ("files", "lacks"),
    [
        (["wide_D.txt"], ()),
        pytest.param(["wide_D_us.txt"], (), marks=pytest.mark.slow),
        pytest.param(["wide_D_parsable.txt"], (), marks=pytest.mark.slow),
        pytest.param(["wide_D_caret.txt"], (), marks=pytest.mark.slow),
        pytest.param(["wide_D_semi.txt"], (), marks=pytest.mark.slow),
        pytest.param(["wide_D_tab.txt"], (), marks=pytest.mark.slow),
        (["wide_D_epoch.txt"], ()),
        pytest.param(["wide_D_noconvert.txt"], (), marks=pytest.mark.slow),
        pytest.param(["wide_D_steps.txt"], (), marks=pytest.mark.slow),
        # without UID it is not known who bears a number
        pytest.param(["documented_caret_D.txt"], ("ended_by",), marks=pytest.mark.slow),
        (["safe_D.txt"], ("user", "ended_by")),
        pytest.param(["xdmod_*.txt"], ("wait_reason", "run_s"), marks=pytest.mark.slow),
        pytest.param(["one_cluster_wide_D.*.txt"], (), marks=pytest.mark.slow),
        (["sacct_D.*.json"], OLD_JSON),
        pytest.param(
            ["sacct_D.alpha.json", "one_cluster_wide_D.beta.txt"], OLD_JSON, marks=pytest.mark.slow
        ),
        pytest.param(
            ["wide_D.txt", "wide_D_us.txt", "sacct_D.*.json", "xdmod_*.txt", "wide_noD.txt"],
            (),
            marks=pytest.mark.slow,
        ),
        # a file without a header is known by one beside it
        (["wide_D_noheader.txt", "wide_noD.txt"], ()),
        pytest.param(["windows/*", "live/*", "wide_D.txt"], (), marks=pytest.mark.slow),
    ],
)
def test_every_reading_of_a_run_gives_one_trace(
    tmp_path: Path, files: list[str], lacks: tuple[str, ...]
) -> None:
    ingest("slurm", folder(tmp_path / "raw", files), tmp_path / "t")
    assert differences(tmp_path / "t", lacks) == []


@pytest.mark.parametrize(
    "version",
    [
        "v0.0.40",
        *(
            pytest.param(v, marks=pytest.mark.slow)
            for v in ("v0.0.40+complex", "v0.0.41", "v0.0.42+complex")
        ),
    ],
)
def test_json_of_every_parser_is_read_as_the_text(tmp_path: Path, version: str) -> None:
    printed = "newer/one_cluster_wide_D.tundra.txt"
    ingest("slurm", PRINTED / f"{printed}.gz", tmp_path / "text")
    ingest("slurm", PRINTED / f"newer/sacct_D.tundra.{version}.json.gz", tmp_path / "json")
    for want, got in zip(read(tmp_path / "text"), read(tmp_path / "json"), strict=True):
        assert got == want
    with Trace(tmp_path / "text") as one, Trace(tmp_path / "json") as other:
        assert one.sql("from placements").pl().equals(other.sql("from placements").pl())
        assert one.sql("from machines").pl().equals(other.sql("from machines").pl())


def test_json_of_servers_is_read_as_the_text(tmp_path: Path) -> None:
    machines = []
    for i, servers in enumerate(
        ("scontrol_show_node_o.tundra.txt", "nodes.tundra.*.json", "sinfo.tundra.json")
    ):
        files = ["newer/one_cluster_wide_D.tundra.txt", f"newer/{servers}"]
        ingest("slurm", folder(tmp_path / f"raw{i}", files), tmp_path / f"t{i}")
        with Trace(tmp_path / f"t{i}") as trace:
            machines.append(trace.sql("from machines").fetchall())
    assert machines[0] == machines[1] == machines[2]
    assert sum(row[2] for row in machines[0]) == 3 * 4 + 2 * 2


def test_fields_may_stand_in_any_order_with_names_among_them(tmp_path: Path) -> None:
    ingest("slurm", folder(tmp_path / "raw", ["name_in_middle.txt", "one_*"]), tmp_path / "t")
    # both clusters got a job 1 in the same second, and this print does not say of which one is
    assert all("'job_id': '1'," in line for line in differences(tmp_path / "t"))


def test_names_that_hold_the_delimiter_are_taken_apart_or_counted(tmp_path: Path) -> None:
    manifest = ingest("slurm", folder(tmp_path / "raw", ["name_first.txt"]), tmp_path / "t")
    # JobName|User: whether a piece between them belongs to one or the other cannot be known
    [(reason, n)] = account(manifest).items()
    assert reason == "a delimiter within a text, and user could end in two places"
    assert n == sum("|" in r["User"] for r in records())
    jobs, _ = read(tmp_path / "t")
    named = [j for j, want in plain_reading()[0].items() if "|" not in want["user"]]
    assert {jobs[j]["user"] for j in named} == {
        r["User"] for r in records() if "|" not in r["User"]
    }


def test_a_delimiter_that_lists_hold_costs_few_records(tmp_path: Path) -> None:
    manifest = ingest("slurm", folder(tmp_path / "raw", ["wide_D_comma.txt"]), tmp_path / "t")
    jobs, _ = read(tmp_path / "t")
    assert sum(account(manifest).values()) < 10
    for job_id, want in plain_reading()[0].items():
        if job_id in jobs and not want["open"]:
            assert jobs[job_id]["gpus"] == want["gpus"]


def test_a_run_without_clusters_keeps_its_jobs_apart_by_user_and_time(tmp_path: Path) -> None:
    manifest = ingest(
        "slurm", folder(tmp_path / "raw", ["module_docstring_caret_D.txt"]), tmp_path / "t"
    )
    _, attempts = read(tmp_path / "t")
    [(reason, n)] = account(manifest).items()
    assert "of which Cluster?" in reason
    assert len(attempts) + n >= len(records())
    for (job_id, attempt), row in attempts.items():
        after = attempts.get((job_id, attempt + 1))
        if after and after["started_at"] and row["ended_at"]:
            assert row["ended_at"] <= after["started_at"]


def test_steps_and_files_that_are_none_are_counted(tmp_path: Path) -> None:
    files = ["wide_D_steps.txt", "default_P.txt", "default_columns.txt", "squeue.alpha.json"]
    manifest = ingest("slurm", folder(tmp_path / "raw", files), tmp_path / "t")
    lines = text("wide_D_steps.txt").split("\n")
    steps = sum(bool(re.match(r"\d+\.\w+\|", line)) for line in lines)
    assert account(manifest)["a step of a job, not a job"] == steps
    assert account(manifest)["a file that is no output of sacct"] == 3
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
        ("sacctmgr_event.txt", "does not name the fields"),
        ("scontrol_show_node.alpha.txt", "servers and no jobs"),
    ],
)
def test_what_is_no_accounting_is_refused_with_the_command_to_run(
    tmp_path: Path, name: str, says: str
) -> None:
    with pytest.raises(InputError, match=rf"(?s){says}.*TZ=UTC sacct -a -X -D -P"):
        ingest("slurm", PRINTED / f"{name}.gz", tmp_path / "t")
    assert not (tmp_path / "t").exists()


def seen(at: datetime, until: datetime, made: Iterable[Record]) -> list[Record]:
    """What sacct shows of a window as it ends: what waited or ran in it, as it then stood."""
    page = []
    for r in made:
        submit, start, end = moment(r["Submit"]), moment(r["Start"]), moment(r["End"])
        assert submit
        if submit >= until or (end and end < at):
            continue
        if (start and start >= until) or (not start and (not end or end > until)):
            waits = {
                "State": "PENDING",
                "Start": "Unknown",
                "End": "Unknown",
                "AllocTRES": "",
                "NodeList": "None assigned",
                "ElapsedRaw": "0",
                "ExitCode": "0:0",
            }
            page.append(r | waits)
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
@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (1, 2, 3))])
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
    for table in ("jobs", "attempts", "placements", "machines"):
        with Trace(tmp_path / "once") as once, Trace(tmp_path / "cut") as cut:
            assert cut.sql(f"from {table}").pl().equals(once.sql(f"from {table}").pl()), table


def test_a_print_again_changes_nothing_and_is_counted(tmp_path: Path) -> None:
    ingest("slurm", folder(tmp_path / "one", ["wide_D_us.txt"]), tmp_path / "t1")
    twice = folder(tmp_path / "two", ["wide_D_us.txt"])
    (twice / "again.txt.gz").write_bytes((PRINTED / "wide_D_us.txt.gz").read_bytes())
    manifest = ingest("slurm", twice, tmp_path / "t2")
    assert account(manifest) == {"the same record, printed again": len(records())}
    for table in ("jobs", "attempts", "placements", "machines"):
        with Trace(tmp_path / "t1") as one, Trace(tmp_path / "t2") as two:
            assert one.sql(f"from {table}").pl().equals(two.sql(f"from {table}").pl())
    with Trace(tmp_path / "t2") as trace:
        said = overview.compute(trace)
    # two comments of jobstats in the run are broken
    assert (said.fact("rows_again"), said.fact("rows_rejected")) == (len(records()), 2)


@pytest.mark.parametrize(
    "servers",
    [
        pytest.param(["scontrol_show_node.*.txt"], marks=pytest.mark.slow),
        pytest.param(["scontrol_show_node_o.*.txt"], marks=pytest.mark.slow),
        pytest.param(["sinfo_N.*.txt"], marks=pytest.mark.slow),
        pytest.param(["sinfo.*.json"], marks=pytest.mark.slow),
        ["scontrol_show_node.alpha.txt", "sinfo_N.*.txt", "sinfo_states.alpha.txt", "sinfo.*.json"],
    ],
)
def test_servers_are_those_that_slurm_lists(tmp_path: Path, servers: list[str]) -> None:
    raw = folder(tmp_path / "raw", ["wide_D.txt", *servers])
    manifest = ingest("slurm", raw, tmp_path / "t")
    listed = {}
    for cluster in ("alpha", "beta"):
        for line in text(f"scontrol_show_node_o.{cluster}.txt").splitlines():
            said = dict(part.split("=", 1) for part in line.split() if "=" in part)
            _, model, gpus = said["Gres"].split(":") if ":" in said["Gres"] else ("", None, 0)
            listed[f"{cluster}:{said['NodeName']}"] = (
                cluster,
                int(gpus),
                model,
                float(said["CPUTot"]),
                round(int(said["RealMemory"]) * 2**20 / 1e9, 6),
            )
    with Trace(tmp_path / "t") as trace:
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
    assert not any("No list of servers" in note for note in manifest.notes)


def test_placements_name_servers_and_share_out_the_gpus(tmp_path: Path) -> None:
    ingest("slurm", folder(tmp_path / "raw", ["wide_D.txt", "sinfo_N.*.txt"]), tmp_path / "t")
    hosts: dict[str, list[str]] = {
        "a[01-02]": ["a01", "a02"],
        "v[01-02]": ["v01", "v02"],
        "b[01-02]": ["b01", "b02"],
        "a[02-03]": ["a02", "a03"],
        "a[01-02],v02": ["a01", "a02", "v02"],
        "a03,v[01-02]": ["a03", "v01", "v02"],
    }
    want: Counter[tuple[str, str, str, int | None]] = Counter()
    for r in records():
        gpus = count_gpus(r["AllocTRES"])
        named = hosts.get(r["NodeList"], r["NodeList"].split(","))
        if gpus and moment(r["Start"]) and r["State"] not in OPEN:
            a100 = re.search(r"a100=(\d+),gres/gpu:v100=(\d+)", r["AllocTRES"])
            if a100:
                # a server has GPUs of one model
                for model, total in zip("av", a100.groups(), strict=True):
                    mine = [n for n in named if (n[0] == "a") == (model == "a")]
                    each = int(total) // len(mine)
                    want.update(
                        (r["Cluster"], r["JobIDRaw"], f"{r['Cluster']}:{n}", each) for n in mine
                    )
                continue
            share = gpus // len(named) if gpus % len(named) == 0 else None
            want.update((r["Cluster"], r["JobIDRaw"], f"{r['Cluster']}:{n}", share) for n in named)
    with Trace(tmp_path / "t") as trace:
        got = trace.sql(
            "select cluster, split_part(job_id, ':', 2), machine_id, p.gpus, p.gpu "
            "from placements as p join jobs using (job_id) join attempts as a "
            "on p.job_id = a.job_id and p.attempt = a.attempt where a.ended_at is not null"
        ).fetchall()
    assert Counter(row[:4] for row in got) == want
    assert all(row[4] is None for row in got)


Ask = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterable[Ask]:
    at = tmp_path_factory.mktemp("slurm")
    ingest("slurm", folder(at / "raw", ["wide_D.txt", "sinfo_N.*.txt"]), at / "t")
    with Trace(at / "t") as trace:
        yield lambda sql: trace.sql(sql).fetchall()


def test_a_hold_after_a_requeue_is_no_queueing(ask: Ask) -> None:
    """Slurm holds a requeued job for two minutes: it was eligible then, and not before."""
    rows = ask(
        "select w.wait_s, w.held_s, seconds_between(w.since_at, a.eligible_at) "
        "from waits as w join attempts as a using (job_id, attempt) join attempts as b "
        "on b.job_id = a.job_id and b.attempt = a.attempt - 1 and b.end_reason = 'requeued'"
    )
    assert len(rows) >= 8
    for wait_s, held_s, hold_s in rows:
        assert held_s == hold_s >= 100
        assert 0 <= wait_s - held_s < 60


def test_what_the_scheduler_ended_has_not_failed(ask: Ask) -> None:
    [(attempts,)] = ask("select attempts from failure_statuses where ending = 'all'")
    jobs, _ = plain_reading()
    failed = sum(
        r["State"].split()[0] in ("FAILED", "OUT_OF_MEMORY", "TIMEOUT", "DEADLINE")
        for r in records()
        if jobs[f"{r['Cluster']}:{r['JobIDRaw']}"]["gpus"]  # findings are about jobs on GPUs
    )
    assert attempts == failed


def test_waits_are_told_apart_as_slurm_gives_their_reasons(ask: Ask) -> None:
    """Of what waited until it started: before Eligible, after it, and all under an array's `%`."""
    jobs, attempts = plain_reading()
    told = {
        row[:2]: row[2:]
        for row in ask(
            "select job_id, attempt, wait_s, held_s, throttled_s, refused_s, pending_s, reason "
            "from wait_spans where outcome = 'started'"
        )
    }
    reasons: Counter[str | None] = Counter()
    for (job_id, n), a in attempts.items():
        if a["open"]:
            continue
        since = attempts[job_id, n - 1]["ended_at"] if n > 1 else jobs[job_id]["submitted_at"]
        if not a["started_at"] or not jobs[job_id]["gpus"] or since is None:
            assert (job_id, n) not in told
            continue
        wait_s = (a["started_at"] - since).total_seconds()
        eligible = a["eligible_at"] or since
        held_s = min(max((eligible - since).total_seconds(), 0), wait_s)
        reasons[a["wait_reason"]] += 1
        throttled = a["wait_reason"] == "JobArrayTaskLimit"
        expected = (0, wait_s, 0, 0) if throttled else (held_s, 0, 0, wait_s - held_s)
        assert told[job_id, n] == (wait_s, *expected, a["wait_reason"])
    assert reasons["JobArrayTaskLimit"] > 20 and reasons["BeginTime"] > 20
    [(waiting, held)] = ask(
        "select count(*), count(*) filter (held_s = wait_s) from wait_spans "
        "where outcome <> 'started' and reason in ('JobHeldUser', 'BeginTime')"
    )
    assert waiting == held > 0, "what never started is held by what holds it"


def test_attempts_are_lost_to_servers_where_slurm_says_so(ask: Ask) -> None:
    jobs, attempts = plain_reading()
    lost = {
        key
        for key, a in attempts.items()
        if a["end_reason"] == "node_failure" and a["started_at"] and jobs[key[0]]["gpus"]
    }
    assert set(ask("select job_id, attempt from lost_attempts")) == lost != set()


def test_findings_that_need_servers_answer(ask: Ask) -> None:
    [(used, free)] = ask(
        "select count(*), count(*) filter (free_after < 0 or free_after > gpus) from machine_use"
    )
    assert used > 0
    assert free == 0
    for r in records():
        if r["NodeList"] == "a[01-02]" and r["AllocTRES"].count("gres/gpu:a100=8"):
            [(servers, whole, gpus)] = ask(
                "select servers, whole, gpus from attempt_servers "
                f"where job_id = '{r['Cluster']}:{r['JobIDRaw']}'"
            )
            assert (servers, whole, gpus) == (2, True, 8)
    # a server that one attempt holds whole says which GPUs these are
    [(indexed,)] = ask("select count(*) from indexed_gpus")
    [(whole,)] = ask(
        "select sum(p.gpus) from placements as p join machines as m using (machine_id) "
        "where p.gpus = m.gpus_listed"
    )
    assert indexed == whole > 0
