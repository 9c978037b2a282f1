"""Run a real Grid Engine on loopback, and record its accounting log beside what its jobs wrote.

``python -m tests.grid_engine_lab.lab OUT`` takes two minutes and needs root and Debian's packages
gridengine-master, gridengine-exec and gridengine-client. The cluster is a cell of its own with its
own ports; one server has eight GPUs as a consumable resource.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path("/var/lib/gridengine")
CELL = "loopback-lab"
USER = "sgeadmin"
BOOTSTRAP = """\
Version: 6.2
admin_user {user}
default_domain none
ignore_fqdn false
spooling_method berkeleydb
spooling_lib libspoolb
spooling_params {spool}/spooldb
binary_path /usr/sbin
qmaster_spool_dir {spool}/qmaster
security_mode none
listener_threads 2
worker_threads 2
scheduler_threads 1
"""
RESOURCE = "gpu gpu INT <= YES JOB 0 0\n"
ENVIRONMENT = """\
pe_name smp
slots 64
user_lists NONE
xuser_lists NONE
start_proc_args NONE
stop_proc_args NONE
allocation_rule $pe_slots
control_slaves FALSE
job_is_first_task TRUE
urgency_slots min
accounting_summary FALSE
qsort_args NONE
"""
JOB = """\
#!/bin/sh
echo "$JOB_ID $SGE_TASK_ID $(date +%s.%N) start $(hostname) $GPUS" >> {truth}
{work}
echo "$JOB_ID $SGE_TASK_ID $(date +%s.%N) end" >> {truth}
exit {code}
"""
QUEUE = {
    "qname": "gpu.q",
    "hostlist": "{host}",
    "slots": "64",
    "rerun": "TRUE",
    "pe_list": "smp",
    "load_thresholds": "NONE",  # the machine may be busy with other work
}
SECONDS = 240
"""Most seconds that the jobs may take."""


class Lab:
    """A running Grid Engine: commands of its administrator, and jobs of its user."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "SGE_ROOT": str(ROOT),
            "SGE_CELL": CELL,
            "SGE_QMASTER_PORT": "16444",
            "SGE_EXECD_PORT": "16445",
        }
        self.host = os.uname().nodename
        self.truth = folder / "truth.txt"

    def run(self, *command: str, user: str = "") -> str:
        """Return what a command prints; as a user if one is named."""
        line = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups", *command]
        done = subprocess.run(
            line if user else command,
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        return done.stdout + done.stderr

    def submit(self, *options: str, work: str = "sleep 5", code: int = 0) -> str:
        """Submit a job, and return its number."""
        script = self.folder / f"job-{time.monotonic_ns()}.sh"
        script.write_text(JOB.format(truth=self.truth, work=work, code=code))
        script.chmod(0o755)
        printed = self.run(
            "qsub", "-terse", "-o", "/dev/null", "-e", "/dev/null", *options, str(script), user=USER
        )
        return printed.split(".")[0].split("\n")[0].strip()


@contextmanager
def running(folder: Path) -> Iterator[Lab]:
    """Start a Grid Engine whose files are in a folder; stop it at the end."""
    lab = Lab(folder)
    common = ROOT / CELL / "common"
    shutil.rmtree(ROOT / CELL, ignore_errors=True)
    common.mkdir(parents=True)
    spool = folder / "spool"
    for path in (spool / "qmaster" / "job_scripts", spool / "spooldb", spool / "execd"):
        path.mkdir(parents=True)
    lab.truth.touch()
    (common / "bootstrap").write_text(BOOTSTRAP.format(user=USER, spool=spool))
    (common / "act_qmaster").write_text(f"{lab.host}\n")
    (common / "host_aliases").write_text(f"{lab.host} localhost\n")
    for path in (folder, ROOT / CELL):
        subprocess.run(["chown", "-R", f"{USER}:{USER}", str(path)], check=True)
    create = "/usr/share/gridengine/scripts/init_cluster"
    try:
        lab.run("sh", create, str(ROOT), CELL, str(spool / "spooldb"), USER, user=USER)
        lab.run("/usr/sbin/sge_qmaster")
        time.sleep(4)
        configure(lab, spool)
        lab.run("/usr/sbin/sge_execd")
        time.sleep(6)
        yield lab
    finally:
        stop(spool)
        shutil.rmtree(ROOT / CELL, ignore_errors=True)


def stop(spool: Path) -> None:
    """End the daemons, by force after ten seconds."""
    files = [*spool.glob("execd/*/execd.pid"), spool / "qmaster/qmaster.pid"]
    pids = [int(file.read_text()) for file in files if file.exists()]
    for order, seconds in ((signal.SIGTERM, 10), (signal.SIGKILL, 1)):
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, order)
        until = time.monotonic() + seconds
        while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < until:
            time.sleep(0.2)


def configure(lab: Lab, spool: Path) -> None:
    """Create the server, the resource of GPUs, the parallel environment and the queue."""

    def change(option: str, text: str) -> None:
        file = lab.folder / "setting"
        file.write_text(text)
        lab.run("qconf", option, str(file))

    settings = lab.run("qconf", "-sconf").replace("\\\n", " ")
    lines = [line for line in settings.splitlines() if line and not line.startswith("#")]
    values = dict(line.split(None, 1) for line in lines)
    values |= {"min_uid": "100", "min_gid": "100", "execd_spool_dir": str(spool / "execd")}
    global_file = lab.folder / "global"
    global_file.write_text("".join(f"{k} {v}\n" for k, v in values.items()))
    lab.run("qconf", "-Mconf", str(global_file))
    change("-Mc", lab.run("qconf", "-sc") + RESOURCE)
    host = (
        f"hostname {lab.host}\nload_scaling NONE\ncomplex_values gpu=8\nuser_lists NONE\n"
        "xuser_lists NONE\nprojects NONE\nxprojects NONE\nusage_scaling NONE\n"
        "report_variables NONE\n"
    )
    change("-Ae", host)
    lab.run("qconf", "-as", lab.host)
    change("-Ap", ENVIRONMENT)
    queue = lab.run("qconf", "-sq").replace("\\\n", " ")
    fields = dict(line.split(None, 1) for line in queue.splitlines() if line.strip())
    fields |= {name: value.format(host=lab.host) for name, value in QUEUE.items()}
    change("-Aq", "".join(f"{name} {value}\n" for name, value in fields.items()))


def scenario(lab: Lab) -> dict[str, str]:
    """Submit jobs of every kind; return the job numbers by what happens to them."""
    jobs = {
        "plain": lab.submit("-l", "gpu=2", "-A", "lab"),
        "no gpu": lab.submit(),
        "fails": lab.submit("-l", "gpu=1", code=3),
        "array": lab.submit("-l", "gpu=1", "-t", "1-5", work="sleep 4"),
        "parallel": lab.submit("-pe", "smp", "4", "-l", "gpu=4", work="sleep 8"),
        "limit": lab.submit("-l", "gpu=1,h_rt=0:0:10", work="sleep 60"),
        "deleted": lab.submit("-l", "gpu=1", work="sleep 90"),
        "rescheduled": lab.submit("-l", "gpu=1", "-r", "y", work="sleep 25"),
        "segfault": lab.submit("-l", "gpu=1", work="kill -SEGV $$"),
        "whole": lab.submit("-l", "gpu=8", work="sleep 6"),
        "waiting": lab.submit("-l", "gpu=8", work="sleep 6"),
        "never": lab.submit("-h", "-l", "gpu=1"),
    }
    jobs["after"] = lab.submit("-hold_jid", jobs["plain"], "-l", "gpu=2")
    for number in range(20):
        jobs[f"small {number}"] = lab.submit("-l", f"gpu={number % 4 + 1}", work="sleep 3")
    time.sleep(20)
    lab.run("qdel", jobs["deleted"])
    lab.run("qmod", "-rj", jobs["rescheduled"])
    until = time.monotonic() + SECONDS
    while time.monotonic() < until and unfinished(lab) > 1:  # a held job never starts
        time.sleep(2)
    return jobs


def unfinished(lab: Lab) -> int:
    """Return how many jobs wait or run."""
    return sum(line.strip()[:1].isdigit() for line in lab.run("qstat", "-u", "*").splitlines())


def record(out: Path) -> None:
    """Write a recording: the accounting log, the scheduler's lists, and the jobs' own times."""
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="ge-") as folder, running(Path(folder)) as lab:
        Path(folder).chmod(0o755)
        jobs = scenario(lab)
        time.sleep(20)  # the accounting log is written every 15 s
        (out / "raw").mkdir()
        shutil.copy(ROOT / CELL / "common" / "accounting", out / "raw" / "accounting")
        (out / "raw" / "complexes.txt").write_text(lab.run("qconf", "-sc"))
        (out / "raw" / "environments.txt").write_text(lab.run("qconf", "-sp", "smp"))
        (out / "raw" / "hosts.txt").write_text(lab.run("qconf", "-se", lab.host))
        shutil.copy(lab.truth, out / "truth.txt")
        (out / "jobs.txt").write_text("".join(f"{n} {kind}\n" for kind, n in jobs.items()))


if __name__ == "__main__":
    record(Path(sys.argv[1]))
