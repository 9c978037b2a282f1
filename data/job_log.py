"""The synthetic job log: what the small scheduler did, as the archive would tell it."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
from gangs import Attempt, Job, Server
from published import NO_END_FRAC, NO_START_FRAC, VCS

PACIFIC = ZoneInfo("America/Los_Angeles")
DAY_S = 86_400
WARM_UP_S = 3 * DAY_S
"""Jobs run before the first day; those that ended by then are left out, as in the archive."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to generate: the first day is centred so that 2017-11-05 falls inside."""

    seed: int
    days: int
    jobs: int
    machines: int

    @property
    def origin(self) -> datetime:
        """Midnight, Pacific, of the first day."""
        first = datetime(2017, 11, 5) - timedelta(days=self.days // 2)
        return first.replace(tzinfo=PACIFIC).astimezone(UTC)

    @property
    def sampled_s(self) -> tuple[int, int]:
        """Seconds after the origin between which utilisation was recorded: the middle half."""
        return (self.days // 4 * DAY_S, (self.days - self.days // 4) * DAY_S)

    @property
    def restarts_s(self) -> tuple[int, ...]:
        """When the resource manager restarted: before the log, and twice in it."""
        return (-40 * DAY_S - 4_987, 3 * DAY_S + 51_582, 7 * DAY_S + 8_384)


def clock(at: datetime) -> str:
    """Write a moment as the job log does: UTC, no zone."""
    return at.strftime("%Y-%m-%d %H:%M:%S")


class Log:
    """The job log: what the scheduler did, as the archive would tell it."""

    def __init__(self, plan: Plan, machines: list[Server], rng: np.random.Generator) -> None:
        self.plan, self.machines, self.rng = plan, machines, rng
        self.vcs = [rng.bytes(3).hex() for _ in VCS]
        self.sequence = dict.fromkeys(plan.restarts_s, 0)

    def at(self, seconds: float) -> str:
        """Write seconds after the origin."""
        return clock(self.plan.origin + timedelta(seconds=seconds))

    def job_id(self, submit_s: int) -> str:
        """Return ``application_<epoch ms of the manager's last restart>_<number since>``."""
        restart = max(r for r in self.plan.restarts_s if r <= submit_s)
        self.sequence[restart] += 1
        epoch_ms = round((self.plan.origin + timedelta(seconds=restart)).timestamp() * 1000) + 472
        return f"application_{epoch_ms}_{self.sequence[restart]:04d}"

    def user(self, job: Job) -> str:
        """Name a user by six hexadecimal digits."""
        return f"{(job.vc * 7919 + job.user + 1) * 2_654_435_761 % 2**24:06x}"

    def detail(self, attempt: Attempt) -> list[dict[str, object]]:
        """Write one entry per container; some gangs have several containers on one machine."""
        entries = []
        for i, gpus in attempt.held:
            # 81 of 4,206 multi-GPU jobs of the real log repeat a machine
            step = 1 if len(gpus) > 1 and self.rng.random() < 0.02 else len(gpus)
            entries += [
                {
                    "ip": self.machines[i].machine_id,
                    "gpus": [f"gpu{g}" for g in gpus[k : k + step]],
                }
                for k in range(0, len(gpus), step)
            ]
        return entries

    def entry(self, job: Job) -> dict[str, object]:
        """Write one job."""
        attempts = [
            {
                "start_time": self.at(a.start_s),
                "end_time": "None" if a.end_s is None else self.at(a.end_s),
                "detail": self.detail(a),
            }
            for a in job.attempts
        ]
        for position, attempt in enumerate(attempts):
            last = position == len(attempts) - 1
            if self.rng.random() < NO_START_FRAC:
                attempt["start_time"] = "None"
            if self.rng.random() < NO_END_FRAC * (0.5 if last else 3):
                attempt["end_time"] = "None"
        return {
            "status": job.status,
            "vc": self.vcs[job.vc],
            "jobid": self.job_id(job.submit_s),
            "attempts": attempts,
            "submitted_time": self.at(job.submit_s),
            "user": self.user(job),
        }


def fake_starts(log: Log) -> list[dict[str, object]]:
    """Return jobs of August that all start in the one second in which the archive says so."""
    entries = []
    for k, server in enumerate([s for s in log.machines if s.gpus == 8][:8]):
        submitted = datetime(2017, 8, 14, 20, 11, 7, tzinfo=UTC) + timedelta(hours=7.3 * k)
        started = datetime(2017, 9, 2, 3, 45, 2, tzinfo=UTC)
        gpus = [f"gpu{g}" for g in range((1, 1, 4, 1, 8, 1, 2, 1)[k])]
        entries.append({
            "status": ("Pass", "Killed")[k % 2],
            "vc": log.vcs[k % 4],
            "jobid": f"application_1501000000472_{k + 1:04d}",
            "attempts": [{
                "start_time": clock(started),
                "end_time": clock(started + timedelta(hours=9 * (k + 1), seconds=17 * k)),
                "detail": [{"ip": server.machine_id, "gpus": gpus}],
            }],
            "submitted_time": clock(submitted),
            "user": f"{k % 3 + 161:06x}",
        })  # fmt: skip
    return entries


def spoil_jobs(entries: list[dict[str, object]], rng: np.random.Generator) -> None:
    """Make a handful of entries wrong, in place; each should be a counted reject or a flag."""
    retried = [
        e for e in entries if len(e["attempts"]) > 1 and e["attempts"][0]["end_time"] != "None"
    ]
    overlaps, overlaps_too, backwards, holds_nothing = (
        retried[len(retried) * k // 4] for k in range(4)
    )
    for e in (overlaps, overlaps_too):  # the second starts before the first has ended
        second = datetime.fromisoformat(e["attempts"][1]["start_time"])
        e["attempts"][0]["end_time"] = clock(second + timedelta(seconds=30))
    e = backwards["attempts"][0]  # an attempt that ends before it starts
    e["end_time"] = clock(datetime.fromisoformat(e["start_time"]) - timedelta(seconds=61))
    holds_nothing["attempts"][1]["detail"] = []
    nameless, timeless, odd, twice = (len(entries) * k // 5 for k in range(1, 5))
    entries[nameless] = {k: v for k, v in entries[nameless].items() if k != "jobid"}
    entries[timeless]["submitted_time"] = "2017-13-45 99:00:00"
    entries[odd]["status"] = "Unknown"
    entries.append(dict(entries[twice]))  # a job twice
    entries.append("not a job")
    rng.shuffle(entries)


def write_log(plan: Plan, jobs: list[Job], log: Log, rng: np.random.Generator) -> str:
    """Return the text of ``cluster_job_log``."""
    kept = [j for j in jobs if j.submit_s >= 0 or (j.attempts and _end(j, plan) > 0)]
    entries = [log.entry(j) for j in kept]
    entries += fake_starts(log)
    spoil_jobs(entries, rng)
    return "[" + ",\n".join(json.dumps(e) for e in entries) + "]\n"


def _end(job: Job, plan: Plan) -> int:
    end_s = job.attempts[-1].end_s
    return plan.days * DAY_S if end_s is None else end_s
