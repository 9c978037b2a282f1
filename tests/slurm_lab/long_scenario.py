"""A scenario of 25 minutes, whose jobs run much longer than the delays of Slurm's daemons."""

from random import Random

from tests.slurm_lab import recorder
from tests.slurm_lab.scenario import GANGS, USERS, Step, Steps, one_server, servers

SUBMITTED_S = 640
"""Seconds from the start to the last submission of a random job: more than the servers can run."""

END_S = 1380
"""Seconds from the first submission to the last snapshot."""

LIFE_S = END_S + 180
"""Seconds after which each daemon ends, whatever became of this program."""

SNAPSHOTS: recorder.Snapshots = {
    kind: (interval_s, recorder.SNAPSHOTS[kind][1])
    for kind, interval_s in {
        "scontrol-job": 20,
        "squeue": 4,
        "scontrol-node": 10,
        "scontrol-reservation": 2,
        "sprio": 20,
    }.items()
}

_ACTIVITY = (8, 4, 2, 1)
"""Relative numbers of jobs of the users of an account."""


def scenario(seed: int = 53) -> list[Step]:
    """Return the steps of the scenario, in the order of time."""
    steps = Steps(seed)
    for part in (_random_jobs, _limits, _held, _servers, _preempted):
        part(steps)
    return sorted(steps.steps, key=lambda step: step.at_s)


def _random_jobs(steps: Steps) -> None:
    draw = steps.random
    weights, gangs = zip(*GANGS, strict=True)
    accounts = list(USERS)
    for at_s in _arrivals(draw, 215):
        account = draw.choices(accounts, (15, 55, 30))[0]
        gang = draw.choices(gangs, weights)[0]
        if account == "prod":  # its limit is 8 GPUs
            gang = one_server(draw.choice((1, 1, 2, 4)))
        _submit(steps, at_s, *gang, account=account)
    for at_s in _arrivals(draw, 80):
        gpus, kind = draw.choice((1, 1, 1, 2, 2, 4)), draw.choice(("", "v100"))
        account = draw.choices(accounts, (10, 50, 40))[0]
        _submit(steps, at_s, "--partition=batch", *one_server(gpus, kind), account=account)
    for at_s in _arrivals(draw, 30):
        options = ("--partition=short", "--time=1", *one_server(1))
        steps.submit(at_s, *options, run_s=draw.uniform(20, 50))


def _arrivals(draw: Random, number: int) -> list[float]:
    return sorted(draw.uniform(0, SUBMITTED_S) for _ in range(number))


def _submit(steps: Steps, at_s: float, *options: str, account: str = "research") -> None:
    """Submit a job of 20 to 120 seconds, whose limit is up to three minutes longer.

    The first users of an account submit most jobs, as on real clusters.
    """
    draw = steps.random
    user = draw.choices(USERS[account], _ACTIVITY[: len(USERS[account])])[0]
    run_s = min(max(draw.lognormvariate(3.9, 0.5), 20), 118)
    minutes = int(run_s // 60) + draw.choice((1, 1, 2, 3))
    steps.submit(at_s, f"--time={minutes}", *options, run_s=run_s, account=account, user=user)


def _limits(steps: Steps) -> None:
    """Submit more than limits of accounts, QOS and users allow."""
    for burst_s in (60, 260, 460):
        for number in range(8):
            _submit(steps, burst_s + 2 * number, *one_server(4), account="prod")
    for number in range(6):
        _submit(steps, 100 + 3 * number, "--qos=capped", *one_server(2))
        options = ("--qos=few", *one_server(1))
        steps.submit(300 + 3 * number, "--time=2", *options, run_s=50, user="games")
        options = ("--partition=batch", *one_server(1))
        steps.submit(
            400 + 3 * number, "--time=2", *options, run_s=45, account="teaching", user="irc"
        )


def _held(steps: Steps) -> None:
    """Hold jobs by begin times and dependencies, and limit the tasks of an array."""
    for number in range(4):
        steps.submit(120 * number, "--time=2", "--begin=now+60", *one_server(2), run_s=40)
        first = steps.submit(100 + 120 * number, "--time=2", *one_server(2), run_s=50)
        dependency = f"--dependency=afterok:{{{first}}}"
        steps.submit(102 + 120 * number, "--time=2", dependency, *one_server(4), run_s=40)
    steps.submit(250, "--time=1", "--array=0-7%2", *one_server(1), run_s=40)


def _servers(steps: Steps) -> None:
    """Strand GPUs, drain a server, reserve servers."""
    for number in range(4):
        strand = ("--nodes=1", "--gres=gpu:1", "--cpus-per-task=28", "--time=2")
        steps.submit(130 + 120 * number, *strand, run_s=60)
    steps.submit(200, *servers(3, 8), "--time=1", run_s=50)
    steps.do(350, "scontrol", "update", "NodeName=a2", "State=DRAIN", "Reason=check")
    steps.do(450, "scontrol", "update", "NodeName=a2", "State=RESUME")
    create = ("scontrol", "create", "reservation")
    maintenance = ("ReservationName=maintenance", "StartTime=now+120", "Duration=2", "Nodes=a3")
    steps.do(600, *create, *maintenance, "Users=root", "Flags=MAINT,IGNORE_JOBS")
    course = ("ReservationName=course", "StartTime=now+60", "Duration=3", "Nodes=v3")
    steps.do(500, *create, *course, "Accounts=teaching", "Flags=IGNORE_JOBS")
    for number in range(4):
        options = ("--partition=batch", "--reservation=course", "--time=1", *one_server(1))
        steps.submit(505 + number, *options, run_s=40, account="teaching", user="list")


def _preempted(steps: Steps) -> None:
    """Fill a partition with jobs of a low QOS, then preempt them by a high one."""
    for begin_s in (200, 500):
        for number in range(6):
            options = ("--partition=batch", "--qos=low", "--time=3", *one_server(1))
            steps.submit(begin_s + 2 * number, *options, run_s=100)
        for number in range(3):
            options = ("--partition=batch", "--qos=high", "--time=1", *one_server(4))
            steps.submit(begin_s + 50 + 5 * number, *options, run_s=40)
    for number in range(4):
        steps.submit(150 + 120 * number, "--qos=high", "--time=2", *one_server(2), run_s=60)
