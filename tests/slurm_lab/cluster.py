"""A real Slurm on this machine: every daemon on loopback, every file in one temporary folder."""

import os
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

DAEMONS = ("munged", "mariadbd", "mariadb-install-db", "slurmdbd", "slurmctld", "slurmd")
"""Programs of the Debian packages munge, mariadb-server, slurmdbd and slurm-wlm."""

LIFE_S = 590
"""Seconds after which ``timeout`` ends each daemon of the short scenario."""

SERVERS = dict.fromkeys(("a1", "a2", "a3", "a4"), ("a100", 8)) | dict.fromkeys(
    ("v1", "v2", "v3"), ("v100", 4)
)
"""GPU type and number of GPUs of each server."""

CPUS_PER_GPU, MB_PER_GPU = 4, 16_000
ETC = Path(__file__).parent / "etc"
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def missing() -> str | None:
    """Return why no Slurm can run here, or None."""
    absent = [name for name in DAEMONS if shutil.which(name, path=PATH) is None]
    if absent:
        return f"no {', '.join(absent)}: apt-get install slurm-wlm slurmdbd mariadb-server munge"
    return "Slurm runs jobs of several users only as root" if os.geteuid() else None


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running Slurm: its folder, the environment of its commands, its daemons.

    Attributes
    ----------
    life_s
        Seconds after which ``timeout`` ends each daemon, whatever became of this program.
    """

    folder: Path
    env: dict[str, str]
    life_s: float = LIFE_S
    daemons: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def command(self, *arguments: str, user: str | None = None) -> str:
        """Return what a command prints; as root, or as a user of the machine.

        Raises
        ------
        RuntimeError
            The command failed.
        """
        process = subprocess.run(
            arguments,
            env=self.env,
            cwd="/",
            user=user,
            group=user and "nogroup",
            extra_groups=[] if user else None,
            capture_output=True,
            text=True,
            timeout=60,
        )
        if process.returncode:
            raise RuntimeError(f"{' '.join(arguments)}: {process.stderr.strip()}")
        return process.stdout


@contextmanager
def running_cluster(life_s: float = LIFE_S) -> Iterator[Cluster]:
    """Start a cluster of `SERVERS`; end all its processes and remove its folder afterwards.

    A termination signal, and the end of the cluster's life, interrupt what runs on it.
    """
    folder = Path(tempfile.mkdtemp(prefix="slurm-lab-"))
    env = {"PATH": PATH, "TZ": "UTC", "LC_ALL": "C", "SLURM_CONF": str(folder / "slurm.conf")}
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        cluster = Cluster(folder, env, life_s)
        stack.callback(_end_processes, cluster)
        for number in (signal.SIGTERM, signal.SIGALRM):
            stack.callback(signal.signal, number, signal.signal(number, _interrupt))
        stack.callback(signal.alarm, 0)
        signal.alarm(int(life_s) - 10)
        _start(cluster)
        yield cluster


def _interrupt(number: int, _: object) -> None:
    raise InterruptedError(f"signal {signal.Signals(number).name} stopped the laboratory")


def _start(cluster: Cluster) -> None:
    folder = cluster.folder
    folder.chmod(0o755)
    for name in ("munge", "log", "spool", "state", "devices", "mariadb"):
        (folder / name).mkdir()
    for gpu in range(8):
        os.mknod(folder / "devices" / f"gpu{gpu}", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    ports = _free_ports(3 + len(SERVERS))
    values = {
        "folder": str(folder),
        "host": socket.gethostname(),
        "password": secrets.token_hex(16),
        "mariadb_port": str(ports[0]),
        "slurmdbd_port": str(ports[1]),
        "slurmctld_port": str(ports[2]),
        "nodes": "\n".join(map(_node, SERVERS, ports[3:])),
    }
    for template in ETC.iterdir():
        file = folder / template.name
        file.touch(mode=0o600 if template.name == "slurmdbd.conf" else 0o644)
        file.write_text(Template(template.read_text()).substitute(values))
    _start_munge(cluster)
    _start_mariadb(cluster, values)
    _start_daemon(cluster, "slurmdbd", "-D")
    _wait(lambda: cluster.command("sacctmgr", "list", "cluster"))
    cluster.command("sacctmgr", "-i", "add", "cluster", "lab")
    _start_daemon(cluster, "slurmctld", "-D")
    for server in SERVERS:
        _start_daemon(cluster, "slurmd", "-D", "-N", server)
    _wait(lambda: cluster.command("sinfo", "-h", "-t", "idle", "-o", "%D").split() == ["7"])


def _node(name: str, port: int) -> str:
    model, gpus = SERVERS[name]
    cpus, memory = gpus * CPUS_PER_GPU, gpus * MB_PER_GPU
    return (
        f"NodeName={name} NodeHostname={socket.gethostname()} NodeAddr=127.0.0.1 Port={port} "
        f"CPUs={cpus} RealMemory={memory} Gres=gpu:{model}:{gpus} State=UNKNOWN"
    )


def _start_munge(cluster: Cluster) -> None:
    folder = cluster.folder / "munge"
    key = folder / "key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))
    _start_daemon(
        cluster,
        "munged",
        "--foreground",
        f"--socket={folder / 'socket'}",
        f"--key-file={key}",
        f"--pid-file={folder / 'pid'}",
        f"--seed-file={folder / 'seed'}",
        f"--log-file={folder / 'log'}",
        "--num-threads=2",
    )
    _wait((folder / "socket").exists)


def _start_mariadb(cluster: Cluster, values: dict[str, str]) -> None:
    folder = cluster.folder / "mariadb"
    cluster.command(
        "mariadb-install-db",
        "--no-defaults",
        f"--datadir={folder}",
        "--user=root",
        "--skip-test-db",
        "--auth-root-authentication-method=socket",
    )
    _start_daemon(
        cluster,
        "mariadbd",
        "--no-defaults",
        "--user=root",
        f"--datadir={folder}",
        f"--socket={folder / 'socket'}",
        "--bind-address=127.0.0.1",
        f"--port={values['mariadb_port']}",
        "--innodb-use-native-aio=0",
        "--innodb-flush-log-at-trx-commit=2",
        "--innodb-buffer-pool-size=64M",
    )
    grant = (
        "create database slurm_acct_db;"
        f"create user slurm@'%' identified by '{values['password']}';"
        "grant all on slurm_acct_db.* to slurm@'%'"
    )
    client = ("mariadb", "--no-defaults", f"--socket={folder / 'socket'}", "-e")
    _wait(lambda: cluster.command(*client, "select 1"))
    cluster.command(*client, grant)


def _start_daemon(cluster: Cluster, *command: str) -> None:
    log = cluster.folder / "log" / f"{command[0]}.out"
    with log.open("a") as output:
        daemon = subprocess.Popen(
            ["timeout", "--kill-after=5", str(cluster.life_s), *command],
            env=cluster.env,
            cwd=cluster.folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    cluster.daemons.append(daemon)


def _wait(condition: Callable[[], object], limit_s: float = 60) -> None:
    """Wait until a condition holds; an error of a command counts as false.

    Raises
    ------
    TimeoutError
        The condition does not hold within the limit.
    """
    limit, error = time.monotonic() + limit_s, ""
    while time.monotonic() < limit:
        try:
            if condition():
                return
        except RuntimeError as failure:
            error = str(failure)
        time.sleep(0.2)
    raise TimeoutError(f"Slurm did not start within {limit_s:g} s: {error}")


def _free_ports(number: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _end_processes(cluster: Cluster) -> None:
    """End the processes whose environment names the folder: daemons, and what jobs run."""
    for sent in (signal.SIGTERM, signal.SIGKILL):
        for process in processes(cluster.folder):
            try:
                os.kill(process, sent)
            except ProcessLookupError:
                continue
        limit = time.monotonic() + 8
        while processes(cluster.folder) and time.monotonic() < limit:
            time.sleep(0.2)
    for daemon in cluster.daemons:
        daemon.wait(timeout=5)


def processes(folder: Path) -> list[int]:
    """Return the processes of a cluster: daemons, and what its jobs run."""
    marker = f"SLURM_CONF={folder}/".encode()
    numbers = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and marker in (entry / "environ").read_bytes():
                numbers.append(int(entry.name))
        except OSError:  # the process has ended
            continue
    return [process for process in numbers if process != os.getpid()]
