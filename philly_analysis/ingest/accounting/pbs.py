"""Parse accounting records of PBS Professional, OpenPBS and Torque: ``date;E;id;key=value …``.

Source of the record types and of the keys: PBS Professional Administrator's Guide, "Accounting
Log"; Torque Administrator Guide, "Accounting Records". The date is local time; the times in keys
are seconds since 1970.
"""

import re
import shlex
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from philly_analysis.ingest.accounting.record import Record, memory_gb, moment_s, span_s, whole
from philly_analysis.ingest.raw_file import text_lines

_LINE = re.compile(r"(\d\d/\d\d/\d{4} \d\d:\d\d:\d\d(?:\.\d+)?);(\w+);([^;]*);(.*)", re.DOTALL)
_EVENTS = {
    "Q": "queued",
    "S": "started",
    "E": "ended",
    "R": "ended",
    "D": "deleted",
    "A": "deleted",
}
"""Types of records of jobs; R: the job will run again, A: the server aborted the job."""

_CHUNK = re.compile(r"\(([^()]*)\)")
_NODE_GPUS = re.compile(r"gpus?=(\d{1,4})")
_SIGTERM = 256 + 15
"""Exit status of a job that PBS ended by SIGTERM: qdel, or a limit."""
_RERUN = (-3, -12, -13)
"""Exit statuses after which PBS runs a job again: JOB_EXEC_RETRY and two of JOB_EXEC_RERUN."""


def parse(line: str) -> Record | None:
    """Return the record of a line; None for a line that is no accounting record.

    Records of servers, licences and reservations are rejected with a reason.
    """
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    stamp, kind, job, text = match.groups()
    try:
        local = datetime.strptime(stamp.split(".")[0], "%m/%d/%Y %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return Record(fault="its date is not valid")
    if kind not in _EVENTS:
        return Record(fault=f"a record of type {kind}, which does not describe a job's run")
    if not job:
        return Record(fault="it has no job identifier")
    keys = _keys(text)
    if kind in ("D", "A"):
        who = keys.get("requestor", "").partition("@")[0]
        return Record(
            event="deleted",
            job=job,
            local_s=local.timestamp(),
            ended_by=who or None,
            status="Killed",
        )
    started, ended = moment_s(keys.get("start")), moment_s(keys.get("end"))
    if kind in ("E", "R") and ended is None:
        ended = None if started is None else _after(started, keys)
    if kind in ("E", "R") and started is not None and ended is None:
        return Record(fault="it has neither an end nor a run time")
    hosts, host_gpus, gpu_indices = _placement(keys)
    exit_code, end_reason, status = _end(kind, keys)
    return Record(
        event=_EVENTS[kind],
        job=job,
        vc=keys.get("queue"),
        user=keys.get("user"),
        account=_account(keys),
        created_s=moment_s(keys.get("ctime")) or moment_s(keys.get("qtime")),
        eligible_s=moment_s(keys.get("etime")),
        started_s=started if kind != "Q" else None,
        ended_s=ended,
        local_s=local.timestamp(),
        gpus=_gpus(keys, host_gpus),
        cpus=_torque_cpus(keys) or whole(keys.get("Resource_List.ncpus")),
        mem_gb=memory_gb(keys.get("Resource_List.mem")),
        time_limit_s=span_s(keys.get("Resource_List.walltime")) or None,
        gpu_model=keys.get("Resource_List.gpu_type"),
        exit_code=exit_code,
        end_reason=end_reason,
        status=status,
        hosts=hosts,
        host_gpus=host_gpus,
        gpu_indices=gpu_indices,
    )


def _keys(text: str) -> dict[str, str]:
    """Return the keys of a record; quoted values may contain spaces."""
    try:
        words = shlex.split(text) if '"' in text else text.split()
    except ValueError:  # a quote without its end
        words = text.split()
    return dict(word.split("=", 1) for word in words if "=" in word)


def _account(keys: dict[str, str]) -> str | None:
    """Return the account, else the project that the user chose, else none."""
    project = keys.get("project")
    return keys.get("account") or (None if project == "_pbs_project_default" else project)


def _after(started: float, keys: dict[str, str]) -> float | None:
    seconds = span_s(keys.get("resources_used.walltime"))
    return None if seconds is None else started + seconds


def _end(kind: str, keys: dict[str, str]) -> tuple[int | None, str | None, str | None]:
    """Return the exit code as a shell counts it, how the attempt ended, and the job's status."""
    text = keys.get("Exit_status", "")
    if kind == "R":
        return None, "requeued", None
    if not re.fullmatch(r"-?\d{1,6}", text):
        return None, None, None
    status = int(text)
    used = span_s(keys.get("resources_used.walltime"))
    limit = span_s(keys.get("Resource_List.walltime"))
    if status == 0:
        return 0, "completed", "Pass"
    if status in _RERUN:
        return None, "requeued", None
    code = 128 + status - 256 if status > 256 else status
    if used is not None and limit and used >= limit:
        return code, "time_limit", "Failed"
    return (code, "killed", "Killed") if status == _SIGTERM else (code, "failed", "Failed")


def _gpus(keys: dict[str, str], host_gpus: list[int | None] | None) -> int:
    """Return the GPUs of a job: allocated GPUs, else requested GPUs, in the order of evidence."""
    if host_gpus and None not in host_gpus:
        return sum(n for n in host_gpus if n is not None)
    for name in ("nodes", "nodect"):
        if "gpu" in (request := keys.get(f"Resource_List.{name}", "")):
            counted = sum(_chunk_gpus(chunk) for chunk in request.split("+"))
            if counted:
                return counted
    for name in ("ngpus", "gpus", "gpu"):
        if (requested := whole(keys.get(f"Resource_List.{name}"), 100_000)) is not None:
            return requested
    return 0


def _chunk_gpus(chunk: str) -> int:
    """Return the GPUs of one part of Torque's node request.

    Examples
    --------
    >>> _chunk_gpus("2:ppn=28:gpus=4"), _chunk_gpus("node07:gpus=2"), _chunk_gpus("1:ppn=8")
    (8, 2, 0)
    """
    first, *properties = chunk.split(":")
    nodes = whole(first, 100_000)
    per_node = next((int(m[1]) for p in properties if (m := _NODE_GPUS.fullmatch(p))), 0)
    return per_node * (1 if nodes is None else nodes)


def _torque_cpus(keys: dict[str, str]) -> int | None:
    """Return the cores of Torque's node request: nodes times processors per node."""
    total = 0
    for chunk in keys.get("Resource_List.nodes", "").split("+"):
        match = re.match(r"(\d{1,5})(?::.*?)?:ppn=(\d{1,5})", chunk)
        total += int(match[1]) * int(match[2]) if match else 0
    return total or None


def _placement(
    keys: dict[str, str],
) -> tuple[list[str] | None, list[int | None] | None, list[int | None] | None]:
    """Return servers, GPUs on each, and GPU indices: from exec_gpus, exec_vnode or exec_host."""
    if gpus := keys.get("exec_gpus"):  # Torque: node01-gpu/0+node01-gpu/1
        named = [re.fullmatch(r"(.+)-gpu/(\d{1,3})", part) for part in gpus.split("+")]
        if all(named):
            held = [(m[1], int(m[2])) for m in named if m]
            return [h for h, _ in held], [1] * len(held), [i for _, i in held]
    if vnode := keys.get("exec_vnode"):
        counts: Counter[str] = Counter()
        for chunk in _CHUNK.findall(vnode):
            host = ""
            for part in chunk.split("+"):
                name, *resources = part.split(":")
                host = re.sub(r"(?<=.)\[\d+\]$", "", name)  # a virtual node of a server
                amounts = dict(r.split("=", 1) for r in resources if "=" in r)
                counts[host] += whole(amounts.get("ngpus"), 100_000) or 0
        return list(counts), list(counts.values()), [None] * len(counts)
    if exec_host := keys.get("exec_host"):
        hosts = list(dict.fromkeys(part.split("/")[0] for part in exec_host.split("+")))
        return hosts, [None] * len(hosts), [None] * len(hosts)
    return None, None, None


def read_nodes(path: Path) -> list[dict[str, object]] | None:
    """Return the servers of ``pbsnodes -av``; None for another file."""
    rows: list[dict[str, object]] = []
    for number, text in _node_blocks(path):
        lines = text.splitlines()
        pairs = (line.partition("=") for line in lines[1:])
        facts = {key.strip(): value.strip() for key, _, value in pairs}
        if "state" not in facts:
            continue
        available = {k.removeprefix("resources_available."): v for k, v in facts.items()}
        rows.append(
            {
                "source_line": number,
                "raw": lines[0],
                "node": available.get("host") or lines[0].strip(),
                "gpus": whole(available.get("ngpus") or facts.get("gpus"), 100_000),
                "cpus": whole(available.get("ncpus") or facts.get("np")),
                "mem_gb": memory_gb(available.get("mem")),
                "gpu_model": available.get("gpu_type") or available.get("gpu_model"),
            }
        )
    return rows or None


def _node_blocks(path: Path) -> list[tuple[int, str]]:
    """Return the blocks of a list of nodes: a name, then indented lines of ``key = value``."""
    blocks: list[tuple[int, list[str]]] = []
    for number, line in text_lines(path):
        if line.strip() and not line[0].isspace():
            blocks.append((number, [line]))
        elif line.strip() and blocks:
            blocks[-1][1].append(line)
    return [(number, "\n".join(lines)) for number, lines in blocks]
