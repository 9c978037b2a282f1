"""The causes of waiting that Slurm itself states, from repeated ``squeue``, in plain Python."""

import csv
import re
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path

CAUSES = {
    "held": (
        # not eligible: a begin time, a dependency, a hold by its user or an administrator
        # ("job requeued in held state", "launch failed requeued held")
        "BeginTime|Dependency|DependencyNeverSatisfied|JobHeldUser|JobHeldAdmin|JobHoldMaxRequeue"
        "|RequeueExitHold|Reservation|job|launch"
    ),
    "limit": (
        # of an account or user, a QOS, an array, a licence, a partition
        "Assoc.*|QOS.*|Max\\w+Per(Account|User)|AccountingPolicy|JobArrayTaskLimit|Licenses"
        "|Partition(Node|Time)Limit|AccountNotAllowed"
    ),
    "resources": "Resources|BadConstraints",
    "priority": "Priority",
    "server": (
        # a server that the job asks for is down, drained, reserved, or in use; or all of them
        "ReqNodeNotAvail|Nodes|NodeDown|Partition(Config|Down|Inactive)|FrontEndDown|BurstBuffer.*"
    ),
    "start-up": "None|Cleaning|Prolog|WaitingForScheduling|JobLaunchFailure|SystemFailure"
    "|InactiveLimit|NonZeroExitCode|TimeLimit",
}
"""Patterns of Slurm's reasons (``man squeue``, JOB REASON CODES) by the cause that they state."""


@dataclass(frozen=True, slots=True)
class Span:
    """Seconds of a job's waiting time with one reason in one snapshot."""

    job: str
    gpus: int
    reason: str
    since: float
    until: float

    @property
    def seconds(self) -> float:
        """Length of the span."""
        return self.until - self.since


def stated_causes(recording: Path, *, by_gpus: bool = False) -> dict[str, float]:
    """Return seconds of waiting, or GPU seconds, by stated cause."""
    causes: dict[str, float] = defaultdict(float, dict.fromkeys(CAUSES, 0.0))
    for reason, (seconds, gpu_seconds) in stated_reasons(recording).items():
        causes[cause_of(reason)] += gpu_seconds if by_gpus else seconds
    return dict(causes)


def stated_reasons(recording: Path) -> dict[str, tuple[float, float]]:
    """Return seconds and GPU seconds of waiting by Slurm's reason."""
    totals: dict[str, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
    for span in stated_spans(recording):
        seconds, gpu_seconds = totals[span.reason]
        totals[span.reason] = (seconds + span.seconds, gpu_seconds + span.seconds * span.gpus)
    return dict(totals)


def stated_spans(recording: Path) -> list[Span]:
    """Return the pending jobs of each snapshot.

    A snapshot stands from halfway after the one before to halfway before the next.
    """
    files = sorted((recording / "collected").glob("squeue-*.txt"))
    times = [snapshot_time(file) for file in files]
    bounds = [times[0], *((a + b) / 2 for a, b in pairwise(times)), times[-1]]
    spans = []
    for file, span in zip(files, pairwise(bounds), strict=True):
        lines = file.read_text().splitlines()[1:]
        for line in csv.reader(lines, delimiter="|", quoting=csv.QUOTE_NONE):
            _, job, _, _, _, _, _, _, state, reason, servers, gres, *_ = line
            if state == "PENDING":
                spans.append(Span(job, gpus(gres) * int(servers), reason_word(reason), *span))
    return spans


def snapshot_time(file: Path) -> float:
    """Return the Unix time in a snapshot's name."""
    text = file.stem.rpartition("-")[2]
    return datetime.strptime(text, "%Y%m%dT%H%M%S.%f%z").timestamp()


def reason_word(reason: str) -> str:
    """Return a reason without the list of servers, or the explanation, that follows it."""
    return re.split(r"[,(\s]", reason, maxsplit=1)[0]


def cause_of(reason: str) -> str:
    """Return the cause that a reason states.

    Raises
    ------
    ValueError
        The table `CAUSES` lacks the reason.
    """
    for cause, pattern in CAUSES.items():
        if re.fullmatch(pattern, reason):
            return cause
    raise ValueError(f"no cause is declared for the reason {reason}")


def gpus(gres: str) -> int:
    """Return the GPUs in a request such as ``gres:gpu:v100:2``; no number is one."""
    count = re.search(r"gpu(?::[a-z]\w*)?(?::(\d+))?", gres)
    return int(count[1] or 1) if count else 0
