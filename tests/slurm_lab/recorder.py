"""Run the scenario on a cluster and record the output of Slurm and of the jobs."""

import json
import re
import shutil
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from philly_analysis import slurm_command
from tests.slurm_lab.cluster import Cluster
from tests.slurm_lab.scenario import ACCOUNTING, Step, scenario

END_S = 325
"""Seconds from the first submission to the last snapshot."""

Snapshots = Mapping[str, tuple[int, tuple[str, ...]]]
"""Seconds between two snapshots, and the command, by kind."""

SNAPSHOTS: Snapshots = {
    "scontrol-job": (4, ("scontrol", "show", "job", "-d")),
    "squeue": (
        1,
        ("squeue", "--all", "--array", "-o", "%A|%i|%F|%K|%P|%a|%u|%q|%T|%r|%D|%b|%V|%S|%Q|%N"),
    ),
    "scontrol-node": (10, ("scontrol", "show", "node", "-d", "-o")),
    "scontrol-reservation": (2, ("scontrol", "show", "reservation", "-o")),
    "scontrol-license": (10, ("scontrol", "show", "license", "-o")),
    "sprio": (10, ("sprio", "-l")),
}

COLLECTED = {
    "sacctmgr-assoc": ("sacctmgr", "show", "assoc", "-P"),
    "sacctmgr-qos": ("sacctmgr", "show", "qos", "-P"),
    "scontrol-partition": ("scontrol", "show", "partition"),
    "scontrol-config": ("scontrol", "show", "config"),
    "sinfo-node": ("sinfo", "-N", "-l"),
    "sdiag": ("sdiag",),
    "sshare": ("sshare", "-a", "-l", "-P"),
    "sacctmgr-event": ("sacctmgr", "show", "event", "All_Clusters", "Start=now-1hour", "-P"),
}
"""Commands whose output is collected once, at the end, by the name of the file."""


def record(
    cluster: Cluster,
    folder: Path,
    steps: Sequence[Step] | None = None,
    *,
    end_s: float = END_S,
    snapshots: Snapshots = SNAPSHOTS,
) -> None:
    """Run the steps of a scenario and write a recording into a folder."""
    for name in ("collected", "other", "output", "truth"):
        (folder / name).mkdir(parents=True)
    written = {name: cluster.folder / name for name in ("output", "stamps")}
    for made in written.values():
        made.mkdir()
        made.chmod(0o1777)
    shutil.copy(Path(__file__).with_name("job.sh"), cluster.folder)
    cluster.env["LAB_STAMPS"] = str(written["stamps"])
    for arguments in ACCOUNTING:
        cluster.command("sacctmgr", "-i", *arguments)
    log = folder / "truth" / "steps.jsonl"
    with _snapshots(cluster, folder / "collected", snapshots):
        _run(cluster, scenario() if steps is None else steps, log, end_s)
    stamps = sorted(written["stamps"].iterdir())
    text = "".join(file.read_text() for file in stamps)
    (folder / "truth" / "stamps.txt").write_text(text)
    time.sleep(3)  # slurmctld sends what the stamps show to the database
    _collect(cluster, folder)
    shutil.copytree(written["output"], folder / "output", dirs_exist_ok=True)


def _run(cluster: Cluster, steps: Sequence[Step], log: Path, end_s: float) -> None:
    """Run each step at its time; write time, job and command, or why the command failed."""
    jobs: dict[str, str] = {}
    begin = time.time()
    output = str(cluster.folder / "output" / "slurm-%j.out")
    with log.open("w", buffering=1) as lines:
        for step in steps:
            time.sleep(max(0.0, begin + step.at_s - time.time()))
            command = [
                part.format_map(jobs) if part[:1] in "{-J" else part for part in step.command
            ]
            if step.name:
                array = any(part.startswith("--array") for part in command)
                pattern = output.replace("%j", "%A_%a") if array else output
                place = [f"--output={pattern}", f"--chdir={cluster.folder}"]
                command[1:1] = place
                command = [p.replace("job.sh", f"{cluster.folder}/job.sh") for p in command]
            row = {"at": time.time(), "user": step.user or "root", "name": step.name}
            try:
                printed = cluster.command(*command, user=step.user).strip()
            except RuntimeError as error:
                printed = f"failed: {error}"
            if step.name:
                jobs[step.name] = printed.split(";")[0]
            lines.write(json.dumps({**row, "command": step.command, "printed": printed}) + "\n")
        time.sleep(max(0.0, begin + end_s - time.time()))


@contextmanager
def _snapshots(cluster: Cluster, folder: Path, kinds: Snapshots) -> Iterator[None]:
    """Print the state of the cluster again and again, in a thread."""
    stop = threading.Event()

    def run() -> None:
        begin, ticks = time.monotonic(), 0
        while not stop.wait(max(0.0, begin + ticks - time.monotonic())):
            for kind, (interval_s, command) in kinds.items():
                if ticks % interval_s == 0:
                    at = datetime.now(UTC)
                    name = f"{kind}-{at:%Y%m%dT%H%M%S}.{at.microsecond // 1000:03}Z.txt"
                    (folder / name).write_text(cluster.command(*command))
            ticks += 1

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _collect(cluster: Cluster, folder: Path) -> None:
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    printed = slurm_command(today)
    for file, command in {
        "collected/sacct.txt": printed,
        "other/sacct-without-states.txt": re.sub(r" -s \S+", "", printed),
        "other/sacct.json": f"sacct -a -X -D -S {today} --json",
    }.items():
        (folder / file).write_text(cluster.command("bash", "-c", command))
    for name, parts in COLLECTED.items():
        (folder / "other" / f"{name}.txt").write_text(cluster.command(*parts))
