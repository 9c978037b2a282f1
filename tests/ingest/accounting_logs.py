"""Write accounting logs of PBS, LSF and Grid Engine of a schedule made here, and its truth.

The schedule is plain first-in first-out on servers of eight GPUs; nothing of the package is used.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from random import Random

START = 1_770_000_000  # 2026-02-02 02:40:00 UTC
DAYS = 14
SERVERS = 4
GPUS = 8


@dataclass(frozen=True)
class Run:
    """A job that ran once: when, on which servers with how many GPUs each, and how it ended."""

    number: int
    user: str
    queue: str
    submitted: int
    started: int
    ended: int
    held: tuple[tuple[str, int], ...]
    exit_code: int
    limit: int

    @property
    def gpus(self) -> int:
        return sum(n for _, n in self.held)


def fortnight(seed: int, jobs: int = 400) -> list[Run]:
    """Return a fortnight of runs under first-in first-out; gangs of up to 16 GPUs."""
    random = Random(seed)
    free_at = {(f"gpu{s:02}", g): START for s in range(SERVERS) for g in range(GPUS)}
    submitted = sorted(START + random.randrange(DAYS * 86_400) for _ in range(jobs))
    runs, before = [], START
    for number, at in enumerate(submitted, 101):
        gpus = random.choice([0, 1, 1, 1, 2, 4, 8, 16])
        servers = max(1, gpus // GPUS)
        gpus_per_server = gpus // servers
        best: tuple[int, list[str]] | None = None
        for moment in sorted(
            {max(at, before), *(t for t in free_at.values() if t > max(at, before))}
        ):
            room = [
                f"gpu{s:02}"
                for s in range(SERVERS)
                if sum(free_at[f"gpu{s:02}", g] <= moment for g in range(GPUS)) >= gpus_per_server
            ]
            if len(room) >= servers:
                best = moment, room[:servers]
                break
        assert best is not None
        start, names = best
        before = start
        limit = random.choice([3_600, 14_400, 86_400])
        seconds = min(limit, random.randrange(60, 40_000))
        code = 143 if seconds == limit else random.choice([0, 0, 0, 1])
        for name in names:
            idle = [g for g in range(GPUS) if free_at[name, g] <= start][:gpus_per_server]
            for g in idle:
                free_at[name, g] = start + seconds
        held = tuple((name, gpus_per_server) for name in names)
        user, queue = random.choice(["ann", "bob"]), random.choice(["long", "short"])
        runs.append(Run(number, user, queue, at, start, start + seconds, held, code, limit))
    return runs


def shares(runs: list[Run]) -> dict[str, float]:
    """Return the percentages of the waiting time of GPU jobs by cause, from moment to moment."""
    jobs = [run for run in runs if run.gpus]
    moments = sorted({t for run in jobs for t in (run.submitted, run.started, run.ended)})
    seconds = dict.fromkeys(("too_few", "fragmented", "behind"), 0)
    for since, until in pairwise(moments):
        free = {f"gpu{s:02}": GPUS for s in range(SERVERS)}
        for run in jobs:
            for host, gpus in run.held if run.started <= since < run.ended else ():
                free[host] -= gpus
        for run in jobs:
            if run.submitted <= since < run.started:
                seconds[_cause(run, free)] += until - since
    total = sum(seconds.values())
    return {cause: 100 * s / total for cause, s in seconds.items()}


def _cause(run: Run, free: dict[str, int]) -> str:
    """Return why a job cannot start on the servers that it needs; behind: it could."""
    if sum(free.values()) < run.gpus:
        return "too_few"
    servers, each = len(run.held), run.held[0][1]
    return "behind" if sum(n >= each for n in free.values()) >= servers else "fragmented"


def pbs(runs: list[Run], zone_s: int = -7 * 3600) -> str:
    """Return PBS Professional's records Q, S and E of each run, in order of time."""

    def stamp(moment: int) -> str:
        return datetime.fromtimestamp(moment + zone_s, UTC).strftime("%m/%d/%Y %H:%M:%S")

    lines = []
    for run in runs:
        vnode = "+".join(f"({host}:ncpus=4:ngpus={n}:mem=1048576kb)" for host, n in run.held)
        keys = (
            f'user={run.user} group=g account="my lab" project=_pbs_project_default jobname=j '
            f"queue={run.queue} ctime={run.submitted} qtime={run.submitted} etime={run.submitted} "
            f"start={run.started} exec_host={'+'.join(h + '/0*4' for h, _ in run.held)} "
            f"exec_vnode={vnode} Resource_List.ncpus={4 * len(run.held)} "
            f"Resource_List.ngpus={run.gpus} Resource_List.nodect={len(run.held)} "
            f"Resource_List.walltime={run.limit // 3600:02}:00:00 session=9"
        )
        status = 271 if run.exit_code == 143 else run.exit_code
        used = run.ended - run.started
        end = (
            f" end={run.ended} Exit_status={status} resources_used.walltime="
            f"{used // 3600:02}:{used // 60 % 60:02}:{used % 60:02} run_count=1"
        )
        job = f"{run.number}.server"
        lines += [
            (run.submitted, f"{stamp(run.submitted)};Q;{job};queue={run.queue}"),
            (run.started, f"{stamp(run.started)};S;{job};{keys}"),
            (run.ended, f"{stamp(run.ended)};E;{job};{keys}{end}"),
        ]
    first = f"{stamp(START)};L;license;floating license hour:3 day:3 max:10"
    return "\n".join([first, *(line for _, line in sorted(lines)), ""])


def lsf(runs: list[Run]) -> str:
    """Return LSF's record JOB_FINISH of each run, as version 10.1 writes it."""
    lines = []
    for run in sorted(runs, key=lambda run: run.ended):
        hosts = " ".join(f'"4*{host}"' for host, _ in run.held)
        gpus_per_server = run.held[0][1]
        need = (
            f"select[type == local] rusage[ngpus_physical={gpus_per_server}.00]"
            if gpus_per_server
            else ""
        )
        state, why, wait = {0: (64, 0, 0), 143: (32, 5, 15)}.get(
            run.exit_code, (32, 0, run.exit_code << 8)
        )
        usage = " ".join(["0"] * 19)
        per_host = " ".join(f"{host} 10 0 5 5 0" for host, _ in run.held)
        lines.append(
            f'"JOB_FINISH" "10.1" {run.ended} {run.number} 1001 0 {4 * len(run.held)} '
            f"{run.submitted} 0 0 {run.started} "
            f'"{run.user}" "{run.queue}" "" "" "" "login" "/home" "" "out ""1""" "" "f" 0 '
            f'{len(run.held)} {hosts} {state} 1.0 "name" "#BSUB -gpu ""num=7""; run" {usage} '
            f'"" "lab" {wait} 4 "" "" 0 0 0 "" "" "" "" 0 "" {why} "" -1 "" "" "" "" -1 "" "" 0 "" '
            f'0 "" "" 0 {len(run.held)} {per_host} 0 {run.limit} 0 "{need}" "" -1 "" -1 0 "" 0 0 '
            '"" 0 "" 0'
        )
    return "\n".join([*lines, ""])


def grid_engine(runs: list[Run], unit: int) -> str:
    """Return Grid Engine's records, times in units of 1/`unit` s; a line per server of a gang."""
    lines = []
    for run in runs:
        per_slot = run.gpus // len(run.held) if run.gpus else 0
        resources = [f"h_rt={run.limit}"] + ([f"gpu={per_slot}"] if per_slot else [])
        environment = "mpi" if len(run.held) > 1 else "NONE"
        category = f"-u {run.user} -l {','.join(resources)}"
        category += f" -pe mpi {len(run.held)}" if len(run.held) > 1 else ""
        failed = 100 if run.exit_code == 143 else 0
        for place, (host, _) in enumerate(run.held):
            task = "NONE" if place == 0 else f"{place}.{host}"
            slots = len(run.held) if place == 0 else 1
            fields = [run.queue, host, "g", run.user, "name", run.number, "sge", 0]
            fields += [t * unit for t in (run.submitted, run.started, run.ended)]
            fields += [failed, run.exit_code, run.ended - run.started, *[0] * 17, "lab", "dep"]
            fields += [environment, slots, 0, 0, 0, 0, category, 0, task, 0, 0, 0]
            lines.append((run.ended, ":".join(map(str, fields))))
    return "\n".join(["# Version: 8.1.9", *(line for _, line in sorted(lines)), ""])
