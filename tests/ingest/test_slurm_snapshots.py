"""Check what snapshots of Slurm's queue add to its accounting: reasons, GPUs, jobs, limits."""

import gzip
import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from philly_analysis import ingest
from philly_analysis.errors import InputError
from philly_analysis.ingest.slurm.unread import unread_print
from philly_analysis.slurm_text import expand_hosts
from tests.ingest.conftest import Ingest, account, assert_equal_tables, write_files

PRINTED = Path(__file__).parent / "slurm_output"
HEADER = (
    "JobIDRaw|JobID|Cluster|Partition|QOS|Account|User|UID|State|ExitCode|DerivedExitCode|Submit|"
    "Eligible|Start|End|ElapsedRaw|TimelimitRaw|Suspended|NNodes|NCPUS|ReqTRES|AllocTRES|NodeList|"
    "Reason|Flags|Priority|AdminComment"
)


def unpacked(name: str) -> str:
    return gzip.decompress((PRINTED / name).read_bytes()).decode("utf-8", "replace")


def sacct(
    number: str, submit: str, start: str, end: str, state: str = "COMPLETED", **fields: str
) -> str:
    """Return a line that sacct prints with the fields of HEADER, for a job of a GPU."""
    day = "2026-11-27T"
    row = dict.fromkeys(HEADER.split("|"), "") | {
        "JobIDRaw": number,
        "JobID": number,
        "Cluster": "lab",
        "Partition": "train",
        "QOS": "normal",
        "Account": "prod",
        "User": "mail",
        "UID": "8",
        "State": state,
        "ExitCode": "0:0",
        "Submit": day + submit,
        "Eligible": day + submit,
        "Start": day + start if start[:1].isdigit() else start,
        "End": day + end,
        "NNodes": "1",
        "NCPUS": "4",
        "ReqTRES": "billing=4,cpu=4,gres/gpu=1,mem=4000M,node=1",
        "AllocTRES": "billing=4,cpu=4,gres/gpu=1,mem=4000M,node=1",
        "NodeList": "a1",
        "Reason": "None",
        "Suspended": "00:00:00",
    }
    return "|".join((row | fields).values())


def at(clock: str) -> datetime:
    return datetime.fromisoformat(f"2026-11-27T{clock}")


def job(number: str, state: str, reason: str, submit: str, **more: str) -> str:
    """Return the lines of a job that scontrol prints."""
    fields = {
        "ids": f"JobId={number} JobName=x",
        "StartTime": "Unknown",
        "RunTime": "00:00:00",
        "Eligible": f"2026-11-27T{submit}",
        "nodes": "",
    } | more
    return (
        f"{fields['ids']}\n   UserId=mail(8) GroupId=mail(8) MCS_label=N/A\n"
        "   Priority=2022 Nice=0 Account=prod QOS=normal\n"
        f"   JobState={state} Reason={reason} Dependency=(null)\n"
        f"   RunTime={fields['RunTime']} TimeLimit=00:20:00 TimeMin=N/A\n"
        f"   SubmitTime=2026-11-27T{submit} EligibleTime={fields['Eligible']}\n"
        f"   StartTime={fields['StartTime']} EndTime=Unknown Deadline=N/A\n"
        f"   Partition=train AllocNode:Sid=localhost:0\n   NodeList={fields['nodes']}\n"
        "   TRES=cpu=4,mem=4000M,node=1,billing=4,gres/gpu=1\n\n"
    )


def test_each_print_of_a_real_queue_is_covered_by_the_reason_that_it_gives(
    ingested: Ingest,
) -> None:
    names = ("215009_scontrol_show_job_d.alpha", "215609_scontrol_show_job_d_o.alpha")
    files: dict[str, str | bytes] = {
        f"{name}.txt": unpacked(f"running/{name}.txt.gz") for name in names
    }
    files["sacct.txt.gz"] = (PRINTED / "wide_D_us.txt.gz").read_bytes()
    got = ingested("slurm", files)
    spans = got.rows("select job_id, since_at, until_at, reason from queue_states")
    waited = dict(
        got.rows("select job_id, min(coalesce(started_at, ended_at)) from attempts group by job_id")
    )
    seen = 0
    for name in names:
        moment = datetime.strptime(f"2026-11-21 {name[:6]}", "%Y-%m-%d %H%M%S")
        pattern = r"JobId=(\d+) JobName=.*?JobState=PENDING Reason=(\w+)"
        for text in re.split(r"\n(?=JobId=)", str(files[f"{name}.txt"])):
            if not (record := re.match(pattern, text, re.DOTALL)) or "ArrayTaskId" in text:
                continue
            job_id = f"alpha:{record[1]}"
            reasons = [
                r for j, since, until, r in spans if j == job_id and since <= moment <= until
            ]
            left = waited.get(job_id)
            if left is None or left > moment:
                assert reasons == [record[2]], job_id
                seen += 1
    assert seen >= 10


@pytest.mark.slow
def test_snapshots_in_local_time_are_converted_by_their_jobs(
    tmp_path: Path, ingested: Ingest
) -> None:
    def later(moment: re.Match[str]) -> str:
        return (datetime.fromisoformat(moment[0]) + timedelta(hours=5, minutes=30)).isoformat()

    names = ("215009_scontrol_show_job_d.alpha", "215609_scontrol_show_job_d_o.alpha")
    utc = "".join(unpacked(f"running/{name}.txt.gz") for name in names)
    local = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", later, utc)
    packed = (PRINTED / "wide_D_us.txt.gz").read_bytes()
    rows = []
    for folder, text in (("utc", utc), ("local", local)):
        raw = write_files(tmp_path / folder, {"sacct.txt.gz": packed, "queue.txt": text})
        got = ingested("slurm", raw, tmp_path / f"{folder}-trace")
        rows.append([got.rows(f"from {t} order by all") for t in ("placements", "queue_states")])
        rows[-1].append(got.rows("select * exclude (wait_reason) from attempts order by all"))
    assert rows[0] == rows[1]
    assert any(gpu is not None for *_, gpu, _, _ in rows[0][0])
    note = "files of snapshots, such as queue.txt, are 5.5 hours later than the times of sacct"
    assert note in " ".join(got.manifest.notes)


def test_a_reason_stands_from_halfway_to_the_print_before_until_halfway_to_the_next(
    ingested: Ingest,
) -> None:
    """Draw four prints, a minute apart, of a job that waits for a limit and then for its turn."""
    prints = []
    for minute, reason in enumerate(("AssocGrpGRES", "AssocGrpGRES", "Priority")):
        prints.append(f"# 2026-11-27T16:0{minute}:00Z\n" + job("7", "PENDING", reason, "15:59:50"))
    # a job that sacct lacks waits in the first print only; another never waited
    prints[0] += job("8", "PENDING", "JobHeldUser", "15:59:00", Eligible="Unknown")
    prints.append("# 2026-11-27T16:03:00Z\nNo jobs in the system\n")
    lines = [HEADER, sacct("7", "15:59:50", "16:02:20", "16:02:50"), ""]
    files = {"sacct.txt": "\n".join(lines), "queue.txt": "".join(prints), "none.txt": ""}
    got = ingested("slurm", files | {"empty.txt": "No jobs in the system\n"})
    assert got.rows("select * from queue_states order by all") == [
        ("7", at("15:59:50"), at("16:01:30"), "AssocGrpGRES"),
        ("7", at("16:01:30"), at("16:02:20"), "Priority"),
        ("8", at("15:59:30"), at("16:00:30"), "JobHeldUser"),
    ]
    # the job left the queue by the second print
    columns = "attempts.job_id, started_at, ended_at, user, account, jobs.gpus, status, wait_reason"
    query = f"select {columns} from attempts join jobs using (job_id) where attempts.job_id = '8'"
    assert got.rows(query) == [("8", None, at("16:01:00"), "mail", "prod", 1, None, "JobHeldUser")]
    assert got.account("attempts").rejected == {}


@pytest.mark.slow
def test_an_append_of_snapshots_equals_one_ingest_of_all(tmp_path: Path) -> None:
    """The first ingest sees a job in snapshots only; sacct lists the job later."""
    prints = [
        f"# 2026-11-27T16:0{n}:00Z\n"
        + job("7", "PENDING", reason, "15:59:50")
        + job("8", "PENDING", "JobHeldUser", "15:59:00", Eligible="Unknown")
        for n, reason in enumerate(("AssocGrpGRES", "AssocGrpGRES", "Priority", "Priority"))
    ]
    pages = [
        [sacct("6", "15:58:00", "15:59:00", "16:00:00")],
        [sacct("7", "15:59:50", "16:03:20", "16:04:00")],
    ]
    whole, out = tmp_path / "whole", tmp_path / "t"
    for n, page in enumerate(pages):
        files = {
            f"sacct{n}.txt": "\n".join([HEADER, *page, ""]),
            f"queue{n}.txt": "".join(prints[2 * n : 2 * n + 2]),
            f"again{n}.txt": prints[0],
        }
        write_files(whole, files)
        made = ingest("slurm", write_files(tmp_path / str(n), files), out, append=n > 0).manifest
    ingest("slurm", whole, tmp_path / "one")
    assert_equal_tables(tmp_path / "one", out, ("jobs", "attempts", "queue_states"))
    counted = account(made, "attempts")
    assert counted.read == counted.kept + sum(counted.rejected.values()) == 3


@pytest.mark.slow
def test_tasks_of_an_array_get_the_reason_of_their_array(ingested: Ingest) -> None:
    """squeue and scontrol print the pending tasks as one job, whose number the last task gets."""
    lines = [
        sacct(raw, "16:00:00", f"16:0{minute}:00", "16:09:00", JobID=f"118_{task}")
        for raw, task, minute in (("119", 1, 1), ("120", 5, 3), ("121", 7, 3), ("118", 9, 4))
    ]
    ids = "JobId=118 ArrayJobId=118 ArrayTaskId=5-9:2%1 JobName=x"
    shown = "# 2026-11-27T16:02:00Z\n" + job(
        "118", "PENDING", "JobArrayTaskLimit", "16:00:00", ids=ids
    )
    queue = (
        "JOBID|JOBID|ARRAY_JOB_ID|ARRAY_TASK_ID|STATE|REASON|SUBMIT_TIME|START_TIME\n"
        "119|118_1|118|1|RUNNING|None|2026-11-27T16:00:00|2026-11-27T16:01:00\n"
        "118|118_9|118|9|PENDING|Nodes required for job are DOWN, DRAINED|2026-11-27T16:00:00|N/A\n"
    )
    files = {"sacct.txt": "\n".join([HEADER, *lines, ""]), "queue.txt": shown}
    got = ingested("slurm", files | {"squeue-20261127T160300.897Z.txt": queue})
    # the prints are a minute apart
    assert got.rows("select * from queue_states order by all") == [
        ("118", at("16:01:30"), at("16:02:30"), "JobArrayTaskLimit"),
        ("118", at("16:02:30"), at("16:03:30"), "Nodes_required_for_job_are_DOWN"),
        ("120", at("16:01:30"), at("16:02:30"), "JobArrayTaskLimit"),
        ("121", at("16:01:30"), at("16:02:30"), "JobArrayTaskLimit"),
    ]


@pytest.mark.slow
def test_a_snapshot_of_unknown_time_is_refused_with_what_to_do(ingested: Ingest) -> None:
    lines = [HEADER, sacct("7", "16:00:00", "16:02:00", "16:03:00"), ""]
    files = {
        "sacct.txt": "\n".join(lines),
        "queue.txt": "JOBID PARTITION NAME USER ST TIME NODES NODELIST(REASON)\n"
        "    7     train  my x mail PD 0:00     1 (AssocGrpGRES)\n",
    }
    got = ingested("slurm", files)
    assert "date -u" in got.note("queue.txt was passed over: nothing tells when it was printed")


@pytest.mark.parametrize(
    ("first", "command"),
    [
        ("          JOBID PARTITION   PRIORITY       SITE        AGE  FAIRSHARE", "sprio"),
        ("LicenseName=solver Total=2 Used=0", "scontrol show license"),
        ("             Account       User  RawShares  NormShares", "sshare"),
    ],
)
def test_prints_of_other_commands_are_named(first: str, command: str) -> None:
    assert str(unread_print(first)).startswith(command)


@pytest.mark.slow
def test_a_default_print_of_squeue_is_read(ingested: Ingest) -> None:
    lines = [HEADER, sacct("7", "16:00:00", "16:02:00", "16:03:00"), ""]
    # of squeue --long, twice in one file
    header = "JOBID PARTITION NAME USER STATE TIME TIME_LIMI NODES NODELIST(REASON)"
    jobs = (
        "    7  train     my x     mail  PENDING  0:00  20:00   1 (AssocGrpGRES)\n"
        "    6  train        y     mail  RUNNING  0:10  20:00   1 a1\n"
    )
    queue = "".join(f"Fri Nov 27 16:0{n}:00 2026\n   {header}\n{jobs}" for n in (0, 1))
    got = ingested("slurm", {"sacct.txt": "\n".join(lines), "squeue.txt": queue})
    assert got.rows("from queue_states") == [("7", at("16:00:00"), at("16:01:30"), "AssocGrpGRES")]


ASSOCIATIONS = """\
Cluster|Account|Par Name|User|Partition|Share|GrpJobs|GrpTRES|MaxJobs
lab|root||||1|||
lab|root||root||1|||
lab|prod|root|||40||cpu=64,gres/gpu=12,gres/gpu:a100=8|
lab|prod|root|mail||1|||
lab|vision|prod|||10||mem=500G|
lab|vision|prod|news||1|5||3
"""
QOS = """\
Name|Priority|Flags|GrpTRES|GrpJobs|MaxTRES|MaxTRESPU|MaxJobsPU|MaxSubmitPU|MaxTRESPA|MaxJobsPA
normal|0||license/solver=2|||||||
capped|0||gres/gpu=4||gres/gpu=2|||9||
share|0|||||gres/gpu=2|2||node=3|
"""
PARTITIONS = """\
PartitionName=train
   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL
   AllocNodes=ALL Default=YES QoS=N/A
   Nodes=a[1-4]

PartitionName=short
   AllocNodes=ALL Default=NO QoS=capped
   Nodes=a4
"""


def test_limits_are_those_on_what_runs_at_once(ingested: Ingest) -> None:
    lines = [HEADER, sacct("7", "16:00:00", "16:02:00", "16:03:00"), ""]
    files = {"assoc.txt": ASSOCIATIONS, "qos.txt": QOS, "partitions.txt": PARTITIONS}
    got = ingested("slurm", files | {"sacct.txt": "\n".join(lines)})
    assert got.account("attempts").rejected == {}
    expected = [
        # an account's limit counts the jobs of the accounts below it
        ("account prod: 12 GPUs", "account", "prod", None, None, None, None, "gpus", 12),
        ("account prod: 12 GPUs", "account", "vision", None, None, None, None, "gpus", 12),
        ("account prod: 64 CPUs", "account", "prod", None, None, None, None, "cpus", 64),
        ("account prod: 64 CPUs", "account", "vision", None, None, None, None, "cpus", 64),
        ("account prod: 8 a100 GPUs", "account", "prod", None, None, None, None, "gpus", 8),
        ("account prod: 8 a100 GPUs", "account", "vision", None, None, None, None, "gpus", 8),
        ("account vision user news: 3 jobs", "user", "vision", "news", None, None, None, "jobs", 3),
        ("account vision user news: 5 jobs", "user", "vision", "news", None, None, None, "jobs", 5),
        (
            "account vision: 536.871 GB",
            "account",
            "vision",
            None,
            None,
            None,
            None,
            "mem_gb",
            536.871,
        ),
        ("partition short: 4 GPUs", "partition", None, None, None, "short", None, "gpus", 4),
        ("QOS capped: 4 GPUs", "qos", None, None, "capped", None, None, "gpus", 4),
        (
            "QOS share, each account: 3 servers",
            "qos",
            None,
            None,
            "share",
            None,
            "account",
            "servers",
            3,
        ),
        ("QOS share, each user: 2 GPUs", "qos", None, None, "share", None, "user", "gpus", 2),
        ("QOS share, each user: 2 jobs", "qos", None, None, "share", None, "user", "jobs", 2),
    ]
    query = (
        "select name, scope, account, user, qos, vc, per, resource, round(amount, 3) from limits "
        "order by lower(name), account"
    )
    assert got.rows(query) == expected
    models = "select distinct name, gpu_model from limits where gpu_model is not null"
    assert got.rows(models) == [("account prod: 8 a100 GPUs", "a100")]
    [note] = [note for note in got.manifest.notes if "not read" in note]
    assert note.startswith("Limits on license/solver are not read")


@pytest.mark.slow
def test_jobs_that_never_ran_have_no_start_and_rejected_ones_a_state_of_their_own(
    ingested: Ingest,
) -> None:
    never = {"AllocTRES": "", "NodeList": "None assigned", "ElapsedRaw": "0"}
    lines = [
        sacct("1", "16:00:00", "16:00:00", "16:00:00", "FAILED", **never, ExitCode="1:0"),
        sacct("2", "16:00:00", "16:00:30", "16:00:30", "CANCELLED by 0", **never),
        sacct("3", "16:00:00", "16:00:30", "16:00:30", "FAILED"),
        # it ran, and its start was lost; of the second its run time, too
        sacct("4", "16:00:00", "None", "16:05:00", ElapsedRaw="60", Suspended="00:00:30"),
        sacct("5", "16:00:00", "None", "16:05:00", ElapsedRaw="0"),
    ]
    got = ingested("slurm", {"sacct.txt": "\n".join([HEADER, *lines, ""])})
    query = "select job_id, started_at, end_reason, status, attempts.flag from attempts "
    assert got.rows(f"{query} join jobs using (job_id) order by all") == [
        ("1", None, "rejected", None, None),
        ("2", None, "killed", "Killed", None),
        ("3", at("16:00:30"), "failed", "Failed", None),
        ("4", at("16:03:30"), "completed", "Pass", None),
        ("5", None, "completed", "Pass", "start_unknown"),
    ]
    assert got.note("1 submissions were rejected by Slurm")


@pytest.mark.slow
def test_an_end_that_slurm_overwrote_is_cut_at_the_requeue(ingested: Ingest) -> None:
    """Requeue a finished job: its first record gets the end of the second run."""
    lines = [
        sacct("7", "16:00:00", "16:00:10", "16:20:00"),
        sacct("7", "16:10:00", "16:12:00", "16:20:00"),
        sacct("8", "16:00:00", "16:00:10", "16:30:00", AllocTRES="gres/gpu=3"),
    ]
    got = ingested("slurm", {"sacct.txt": "\n".join([HEADER, *lines, ""])})
    query = "select job_id, attempt, started_at, ended_at, flag from attempts order by all"
    assert got.rows(query) == [
        ("7", 1, at("16:00:10"), at("16:10:00"), "end_overwritten"),
        ("7", 2, at("16:12:00"), at("16:20:00"), None),
        ("8", 1, at("16:00:10"), at("16:30:00"), None),
    ]
    assert got.rows("select gpus from machines") == [(4,)]
    assert got.note("1 attempts have the end of a later attempt")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("listed", "sizes"),
    [
        (
            "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
            "train*       up      10:00      3    mix a[1-3]\n"
            "short        up       1:00      1   idle a4\n",
            (None, None),
        ),
        (
            "Fri Nov 27 16:08:35 2026\n"
            "NODELIST NODES PARTITION   STATE CPUS  S:C:T MEMORY TMP_DISK WEIGHT AVAIL_FE REASON\n"
            "a1           1    train* allocated 32   32:1:1 128000        0      1   (null) none\n"
            "a2           1    train*     mixed 32   32:1:1 128000        0      1   (null) none\n"
            "a3           1    train*   mixed 32 32:1:1 128000        0      1   (null) not used\n"
            "a4           1     short      idle 32   32:1:1 128000        0      1   (null) none\n",
            (32.0, 134.218),
        ),
    ],
)
def test_plain_sinfo_lists_servers_without_their_gpus(
    ingested: Ingest, listed: str, sizes: tuple[float | None, float | None]
) -> None:
    lines = [HEADER, sacct("7", "16:00:00", "16:02:00", "16:03:00", AllocTRES="gres/gpu=2"), ""]
    got = ingested("slurm", {"sacct.txt": "\n".join(lines), "sinfo.txt": listed})
    query = "select machine_id, gpus, gpus_listed, cpus, round(mem_gb, 3), pool from machines"
    assert got.rows(f"{query} order by all") == [
        (node, 2 if node == "a1" else 0, None, *sizes, "short" if node == "a4" else "train")
        for node in expand_hosts("a[1-4]")
    ]


def test_a_queue_alone_is_no_accounting(tmp_path: Path, ingested: Ingest) -> None:
    shown = "# 2026-11-27T16:02:00Z\n" + job("7", "PENDING", "Priority", "16:00:00")
    with pytest.raises(InputError, match="sacct"):
        ingested("slurm", {"queue.txt": shown})
