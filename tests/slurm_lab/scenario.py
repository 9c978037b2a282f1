"""The jobs of the laboratory and what is done to them, in the order of time."""

import random
from dataclasses import dataclass, replace
from itertools import accumulate

USERS = {
    "prod": ("mail", "news", "uucp"),
    "research": ("games", "man", "proxy", "backup"),
    "teaching": ("list", "irc"),
}
"""Users by account: they exist on every Debian."""

ACCOUNTING = (
    ("add", "qos", "low", "priority=0"),
    ("add", "qos", "high", "priority=100", "preempt=low"),
    ("add", "qos", "capped", "GrpTRES=gres/gpu=4"),
    ("add", "qos", "few", "MaxJobsPerUser=2"),
    ("add", "qos", "share", "MaxTRESPerUser=gres/gpu=2"),
    ("add", "account", "prod", "fairshare=40"),
    ("add", "account", "research", "fairshare=40"),
    ("add", "account", "teaching", "fairshare=20"),
    *(
        ("add", "user", user, f"account={account}")
        for account, users in USERS.items()
        for user in users
    ),
    (
        "modify",
        "account",
        "where",
        "account=prod,research,teaching",
        "set",
        "qos=normal,high,low,capped,few,share",
    ),
    ("modify", "account", "where", "account=prod", "set", "GrpTRES=gres/gpu=8"),
    ("modify", "user", "where", "user=irc", "set", "MaxJobs=3"),
)
"""Arguments of ``sacctmgr``: accounts, users and limits."""

TRACEBACK = 'Traceback (most recent call last):\\n  File "train.py", line 88, in <module>\\n    '
EXCERPTS = {
    "memory": TRACEBACK + "loss.backward()\\ntorch.OutOfMemoryError: CUDA out of memory.",
    "import": TRACEBACK + "import apex\\nModuleNotFoundError: No module named 'apex'",
    "file": TRACEBACK + "open(path)\\nFileNotFoundError: [Errno 2] No such file or directory: 'a'",
}
"""Text that failing jobs print, by what is wrong."""

SUBMITTED_S = 235
"""Seconds from the start to the last submission of a random job."""


@dataclass(frozen=True, slots=True)
class Step:
    """A command at a time; a step with a name submits the job of this name."""

    at_s: float
    command: tuple[str, ...]
    user: str | None = None
    name: str = ""


class Steps:
    """Collect steps; names of jobs in braces stand for their numbers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.steps: list[Step] = []

    def do(self, at_s: float, *command: str, user: str | None = None) -> None:
        """Add a command, as root or as a user."""
        self.steps.append(Step(at_s, command, user))

    def submit(
        self,
        at_s: float,
        *options: str,
        run_s: float = 8,
        account: str = "research",
        user: str = "",
        code: str = "0",
        text: str = "",
        name: str = "",
    ) -> str:
        """Add a submission; return the name of the job."""
        name = name or f"j{len(self.steps)}"
        job = ("job.sh", f"{run_s:.1f}", code, text)
        owner = user or self.random.choice(USERS[account])
        command = ("sbatch", "--parsable", f"--job-name={name}", f"--account={account}")
        self.steps.append(Step(at_s, (*command, *options, *job), owner, name))
        return name


def one_server(gpus: int, kind: str = "") -> tuple[str, ...]:
    """Return the options of a job on one server, with four CPUs for each GPU."""
    return ("--nodes=1", f"--gres=gpu:{kind and kind + ':'}{gpus}", f"--cpus-per-task={4 * gpus}")


def servers(number: int, gpus: int) -> tuple[str, ...]:
    """Return the options of a job on several servers."""
    return (
        f"--nodes={number}",
        "--ntasks-per-node=1",
        f"--gres=gpu:{gpus}",
        f"--cpus-per-task={4 * gpus}",
    )


GANGS = (
    (46, one_server(1)),
    (20, one_server(2)),
    (18, one_server(4)),
    (5, one_server(8)),
    (4, servers(2, 4)),
    (2, servers(2, 8)),
    (2, servers(3, 4)),
)
"""Weights and options of random jobs in the partition train."""


def scenario(seed: int = 52) -> list[Step]:
    """Return the steps of the scenario, in the order of time."""
    steps = Steps(seed)
    for part in (_random_jobs, _limits, _held, _arrays, _servers, _preempted, _ended, _failed):
        part(steps)
    return sorted(steps.steps, key=lambda step: step.at_s)


def shifted(steps: list[Step], seed: int) -> list[Step]:
    """Return the steps in their order, each shifted by up to half a second."""
    draw = random.Random(seed)
    times = [max(step.at_s + draw.uniform(-0.5, 0.5), 0.0) for step in steps]
    return [
        replace(step, at_s=at_s) for step, at_s in zip(steps, accumulate(times, max), strict=True)
    ]


def _random_jobs(steps: Steps) -> None:
    draw = steps.random
    weights, gangs = zip(*GANGS, strict=True)
    accounts = list(USERS)
    for at_s in _arrivals(draw, 52):
        account = draw.choices(accounts, (10, 60, 30))[0]
        gang = draw.choices(gangs, weights)[0]
        if account == "prod":  # its limit is 8 GPUs
            gang = one_server(draw.choice((1, 1, 2, 4)))
        steps.submit(at_s, *gang, _time_limit(draw), run_s=_run_s(draw), account=account)
    steps.submit(205, *servers(3, 8), run_s=8)
    for at_s in _arrivals(draw, 54):
        gpus, kind = draw.choice((1, 1, 1, 2, 2, 4)), draw.choice(("", "v100"))
        account = draw.choices(accounts, (10, 50, 40))[0]
        options = ("--partition=batch", _time_limit(draw), *one_server(gpus, kind))
        steps.submit(at_s, *options, run_s=_run_s(draw), account=account)
    for at_s in _arrivals(draw, 16):
        options = ("--partition=short", "--time=1", *one_server(1))
        steps.submit(at_s, *options, run_s=draw.uniform(2, 6))
    for at_s in _arrivals(draw, 6):
        steps.submit(at_s, "--cpus-per-task=4", run_s=_run_s(draw))


def _arrivals(draw: random.Random, number: int) -> list[float]:
    return sorted(draw.uniform(0, SUBMITTED_S) for _ in range(number))


def _run_s(draw: random.Random) -> float:
    return min(max(draw.lognormvariate(1.9, 0.6), 3), 40)


def _time_limit(draw: random.Random) -> str:
    return f"--time={draw.choice((1, 1, 1, 1, 2))}"


def _limits(steps: Steps) -> None:
    """Submit more than limits of QOS, users, licences and partitions allow."""
    for burst_s in (12, 92, 172):
        for number in range(17):
            gang = one_server(steps.random.choice((2, 4, 4)))
            steps.submit(burst_s + 0.7 * number, *gang, run_s=9, account="prod")
    for number in range(11):
        steps.submit(10 + number, "--qos=capped", *one_server(2), run_s=8)
        steps.submit(30 + number, "--qos=few", *one_server(1), run_s=6, user="games")
        steps.submit(50 + number, "--qos=share", *one_server(1), run_s=6, user="man")
        options = ("--licenses=solver:1", "--partition=batch", *one_server(1))
        steps.submit(70 + number, *options, run_s=7)
    for number in range(7):
        options = ("--partition=batch", *one_server(1))
        steps.submit(90 + number, *options, run_s=8, account="teaching", user="irc")
    short = ("--partition=short", *one_server(1))
    long = steps.submit(40, *short, "--time=5", run_s=5)
    steps.do(75, "scontrol", "update", f"JobId={{{long}}}", "TimeLimit=1")
    wide = steps.submit(42, "--partition=short", "--time=1", *servers(2, 1))
    steps.do(80, "scancel", f"{{{wide}}}")


def _held(steps: Steps) -> None:
    """Hold jobs by users, administrators, begin times and dependencies."""
    for number in range(4):
        held = steps.submit(15 + 30 * number, "--hold", *one_server(1), user="proxy")
        steps.do(40 + 30 * number, "scontrol", "release", f"{{{held}}}", user="proxy")
    for number in range(2):
        gang = ("--begin=now+3", *servers(2, 4))  # does not start before the hold
        held = steps.submit(20 + 50 * number, *gang, user="backup", run_s=5)
        steps.do(20.2 + 50 * number, "scontrol", "hold", f"{{{held}}}")
        steps.do(50 + 50 * number, "scontrol", "release", f"{{{held}}}")
    never = steps.submit(60, "--hold", *one_server(2), user="games")
    steps.do(120, "scancel", f"{{{never}}}", user="games")
    for number in range(6):
        steps.submit(25 * number, f"--begin=now+{20 + 5 * number}", *one_server(2), run_s=5)
    for number in range(4):
        first = steps.submit(12 + 40 * number, *one_server(2), run_s=15)
        second = steps.submit(13 + 40 * number, f"--dependency=afterok:{{{first}}}", *one_server(4))
        steps.submit(14 + 40 * number, f"--dependency=afterany:{{{second}}}", *one_server(1))
    for number in range(4):
        options = ("--dependency=singleton", "--partition=batch", *one_server(1))
        steps.submit(100 + number, *options, user="games", name="singleton", run_s=6)
    first = steps.submit(18, *one_server(1), run_s=5, code="1", text=EXCERPTS["import"])
    dead = steps.submit(19, f"--dependency=afterok:{{{first}}}", *one_server(1))
    steps.do(285, "scancel", f"{{{dead}}}")


def _arrays(steps: Steps) -> None:
    """Submit arrays with and without a limit of tasks, and heterogeneous jobs."""
    steps.submit(8, "--array=0-11%2", *one_server(1), run_s=6, account="research")
    steps.submit(65, "--array=1-8%3", "--partition=batch", *one_server(1), run_s=6)
    text = EXCERPTS["memory"]
    steps.submit(110, "--array=0-5", *one_server(1), run_s=5, code="1", text=text)
    for number in range(4):
        second = (":", "--partition=batch", *one_server(1, "v100"))
        steps.submit(22 + 45 * number, *one_server(2), *second, run_s=9)


def _servers(steps: Steps) -> None:
    """Strand GPUs, drain and down servers, reserve them."""
    for number in range(4):
        strand = ("--nodes=1", "--gres=gpu:1", "--cpus-per-task=28")
        steps.submit(35 + 50 * number, *strand, run_s=12)
        memory = ("--nodes=1", "--gres=gpu:1", "--cpus-per-task=2", "--mem=110000")
        steps.submit(55 + 50 * number, *memory, run_s=12)
    for at_s in (55, 155):
        steps.submit(at_s, "--exclusive", "--nodes=1", "--gres=gpu:1", run_s=8)
    steps.do(95, "scontrol", "update", "NodeName=a2", "State=DRAIN", "Reason=check")
    steps.submit(97, "--nodelist=a2", *one_server(2), run_s=5)
    steps.do(112, "scontrol", "update", "NodeName=a2", "State=RESUME")
    steps.do(176, "scontrol", "update", "NodeName=v2", "State=DOWN", "Reason=failed")
    steps.submit(178, "--partition=batch", "--nodelist=v2", *one_server(1), run_s=5)
    steps.do(205, "scontrol", "update", "NodeName=v2", "State=RESUME")
    maintenance = ("ReservationName=maintenance", "StartTime=now+12", "Duration=1", "Nodes=a3")
    create = ("scontrol", "create", "reservation")
    steps.do(60, *create, *maintenance, "Users=root", "Flags=MAINT,IGNORE_JOBS")
    steps.submit(62, "--nodelist=a3", *one_server(1), run_s=5)
    course = ("ReservationName=course", "StartTime=now+40", "Duration=1", "Nodes=v3")
    steps.do(100, *create, *course, "Accounts=teaching", "Flags=IGNORE_JOBS")
    for number in range(3):
        options = ("--partition=batch", "--reservation=course", "--time=1", *one_server(1))
        steps.submit(105 + number, *options, run_s=6, account="teaching", user="list")


def _preempted(steps: Steps) -> None:
    """Fill a partition with jobs of a low QOS, then preempt them by a high one."""
    for number in range(8):
        options = ("--partition=batch", "--qos=low", *one_server(1))
        steps.submit(110 + 0.5 * number, *options, run_s=45)
    for number in range(5):
        options = ("--partition=batch", "--qos=high", *one_server(4))
        steps.submit(138 + 3 * number, *options, run_s=8)
    for number in range(3):
        steps.submit(60 + 60 * number, "--qos=high", *one_server(2), account="research")


def _ended(steps: Steps) -> None:
    """Requeue, suspend, cancel jobs, and let some reach their time limits."""
    for number in range(4):
        job = steps.submit(28 + 40 * number, "--qos=high", *one_server(1), run_s=25)
        steps.do(40 + 40 * number, "scontrol", "requeue", f"{{{job}}}")
    job = steps.submit(130, "--qos=high", *one_server(1), run_s=25)
    steps.do(140, "scontrol", "requeuehold", f"{{{job}}}")
    steps.do(165, "scontrol", "release", f"{{{job}}}")
    finished = steps.submit(150, "--qos=high", *one_server(1), run_s=4)
    steps.do(162, "scontrol", "requeue", f"{{{finished}}}")
    paused = steps.submit(45, "--qos=high", *one_server(2), run_s=12)
    steps.do(50, "scontrol", "suspend", f"{{{paused}}}")
    steps.do(60, "scontrol", "resume", f"{{{paused}}}")
    for number in range(4):
        job = steps.submit(33 + 35 * number, "--qos=high", *one_server(2), run_s=40)
        steps.do(43 + 35 * number, "scancel", f"{{{job}}}")
    for number in range(4):
        job = steps.submit(47 + 40 * number, "--nice=5000", *servers(3, 8), run_s=10)
        steps.do(65 + 40 * number, "scancel", f"{{{job}}}")
    for number in range(3):
        options = ("--time=1", "--qos=high", "--partition=batch", *one_server(1))
        steps.submit(6 + 50 * number, *options, run_s=200)
    steps.submit(240, "--hold", *one_server(1), user="man")
    steps.submit(290, *one_server(1), run_s=100)


def _failed(steps: Steps) -> None:
    """Let jobs fail by several exit codes and a signal."""
    kinds = (("1", "memory"), ("1", "file"), ("2", "import"), ("137", ""), ("KILL", ""))
    for number in range(15):
        code, excerpt = kinds[number % len(kinds)]
        text = EXCERPTS.get(excerpt, "")
        at_s = 5 + 15 * number
        steps.submit(at_s, *one_server(1), run_s=4 + number % 3, code=code, text=text)
