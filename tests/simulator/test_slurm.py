"""Compare the policy slurm with schedules drawn by hand, and with what a real Slurm printed."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from philly_analysis.simulator.assumptions import constraint_notes
from philly_analysis.simulator.cluster.allocation import Allocation, Cluster, lowest_bits
from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS
from philly_analysis.simulator.cluster.request import Request
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.policies import Fifo, Policy
from philly_analysis.simulator.policies.limit import Limit
from philly_analysis.simulator.policies.slurm.never_ran import NeverRan
from philly_analysis.simulator.policies.slurm.policy import Slurm
from philly_analysis.simulator.policies.slurm.priority import FairTree, size_factor
from philly_analysis.simulator.policies.slurm.room import Rooms
from philly_analysis.simulator.policies.slurm.settings import (
    Partition,
    Qos,
    Share,
    read_settings,
)
from philly_analysis.simulator.policies.slurm.site import Closure, Site
from philly_analysis.workload import JobSpec, Machine
from tests.simulator.drawn import bars_of, job

NOBODY = frozenset[str]()


def limited(spec: JobSpec, limit_s: float, **fields: Any) -> JobSpec:
    return replace(spec, time_limit_s=limit_s, **fields)


def starts(jobs: list[JobSpec], gpus: list[int], site: Site, **knobs: Any) -> dict[str, float]:
    """Start of the last attempt of each job, in whole seconds."""
    policy = Slurm(epilog=0.0, batch_sched_delay=0.0, **knobs).at(site)
    return {name: int(bars[-1][0]) for name, bars in bars_of(jobs, gpus, policy).items()}


@pytest.mark.parametrize(
    ("per", "user", "second"), [(None, "u", 100), ("user", "u", 100), ("user", "v", 0)]
)
def test_job_beyond_a_limit_waits_and_blocks_no_other(
    per: str | None, user: str, second: int
) -> None:
    limit = Limit("account a: 2 GPUs", "a", None, None, None, per, "gpus", 2)
    jobs = [
        limited(job("a1", 0, 2, 100), 200, account="a"),
        limited(job("a2", 0, 2, 100), 200, account="a", user=user),
        limited(job("b", 0, 2, 100), 200, account="b"),
    ]
    assert starts(jobs, [6], Site(limits=(limit,))) == {"a1": 0, "a2": second, "b": 0}


@pytest.mark.parametrize(("backfill", "short"), [(True, 30), (False, 160)])
def test_backfill_starts_what_delays_no_planned_job(backfill: bool, short: int) -> None:
    jobs = [
        limited(job("first", 0, 3, 100), 120),
        limited(job("wide", 1, 4, 60), 120),
        limited(job("short", 2, 1, 40), 60),
        limited(job("long", 2, 1, 200), 240),
    ]
    got = starts(jobs, [4], Site(), backfill=backfill)
    assert got == {"first": 0, "wide": 100, "short": short, "long": 160}


def test_main_scheduler_stops_in_the_partition_of_a_job_that_does_not_fit() -> None:
    site = Site(of_partition={"p": 0b01, "q": 0b10})
    jobs = [
        limited(job("p1", 0, 3, 50, vc="p"), 60),
        limited(job("p2", 1, 2, 50, vc="p"), 60),
        limited(job("p3", 2, 1, 50, vc="p"), 60),
        limited(job("q", 2, 4, 50, vc="q"), 60),
    ]
    got = starts(jobs, [4, 4], site, backfill=False)
    assert got == {"p1": 0, "p2": 50, "p3": 50, "q": 2}


def test_qos_preempts_and_the_requeued_job_waits_for_its_credential() -> None:
    site = Site(qos={"high": Qos(1, frozenset({"low"})), "low": Qos()})
    jobs = [
        limited(job("victim", 0, 4, 100), 200, qos="low"),
        limited(job("urgent", 10, 4, 20), 60, qos="high"),
    ]
    got = starts(jobs, [4], site, preempt=True, cred_expire=40.0)
    assert got == {"urgent": 10, "victim": 50}
    assert starts(jobs, [4], site)["urgent"] == 100


def test_planned_starts_hold_where_qos_may_preempt() -> None:
    """A job whose QOS preempts nothing waits for a gap, as without preemption."""
    site = Site(qos={"high": Qos(1, frozenset({"low"})), "": Qos()})
    jobs = [
        limited(job("first", 0, 3, 100), 120),
        limited(job("wide", 1, 4, 60), 120),
        limited(job("long", 2, 1, 200), 240),
    ]
    got = starts(jobs, [4], site, preempt=True)
    assert got == {"first": 0, "wide": 100, "long": 160}


def test_job_that_never_ran_is_planned_until_it_was_cancelled() -> None:
    wide = limited(job("wide", 1, 4, 60), 120)
    site = Site(never_ran=(NeverRan(1, 50, Job(wide, 99)),))
    jobs = [limited(job("first", 0, 3, 100), 120), limited(job("long", 2, 1, 200), 240)]
    # wide is planned at 120, and long would run until 242; wide leaves at 50
    assert starts(jobs, [4], site)["long"] == 50
    assert starts(jobs, [4], Site())["long"] == 2


@pytest.mark.parametrize(
    ("gpus", "servers", "chosen"),
    [
        (1, 1, {0: 1}),  # of the runs 0-1 and 3-5 that with less room, 7 and 11; its fullest
        (3, 1, {0: 3}),
        (5, 1, {5: 5}),
        (6, 2, {0: 3, 1: 3}),
        (8, 2, {4: 4, 5: 4}),
    ],
)
def test_a_job_gets_the_tightest_run_of_servers(
    gpus: int, servers: int, chosen: dict[int, int]
) -> None:
    cluster = Cluster([Machine(f"n{i}", 8) for i in range(6)])
    for machine, free in enumerate((3, 4, 0, 2, 4, 5)):
        busy = lowest_bits(cluster.free_gpus[machine], 8 - free)
        cluster.allocate(Allocation(((machine, busy),), 8 - free))
    request = Request(gpus * GPU_UNITS, servers=(gpus // servers,) * servers)
    assert Rooms(cluster, request, 0b111111).counts() == chosen


def test_job_does_not_start_into_a_reservation() -> None:
    closure = Closure(50, 150, 0b1, NOBODY, NOBODY, known_s=-1, out=False)
    jobs = [limited(job("short", 0, 1, 30), 40), limited(job("long", 0, 1, 60), 80)]
    assert starts(jobs, [4], Site(closures=(closure,))) == {"short": 0, "long": 150}


def test_components_of_a_heterogeneous_job_start_together() -> None:
    site = Site(whole_of={"h0": "h", "h1": "h"}, of_partition={"p": 0b01, "q": 0b10})
    jobs = [
        limited(job("q", 0, 4, 100, vc="q"), 110),
        limited(job("h0", 1, 2, 10, vc="p"), 60),
        limited(job("h1", 1, 2, 10, vc="q"), 60),
    ]
    got = starts(jobs, [4, 4], site)
    assert got["h0"] == got["h1"] == 120  # the first backfill cycle after the end of q


def test_priority_orders_by_qos_or_by_age() -> None:
    site = Site(qos={"high": Qos(10), "": Qos()})
    jobs = [
        limited(job("running", 0, 4, 100), 100),
        limited(job("old", 1, 4, 10), 10),
        limited(job("new", 50, 4, 10), 10, qos="high"),
    ]
    by_qos = starts(jobs, [4], site, PriorityWeightQOS=100.0, PriorityWeightAge=1.0)
    assert (by_qos["new"], by_qos["old"]) == (100, 110)
    by_age = starts(jobs, [4], site, PriorityWeightAge=1000.0)
    assert (by_age["old"], by_age["new"]) == (100, 110)


@pytest.mark.parametrize(("policy", "noted"), [(Fifo(), 1), (Slurm(), 0)])
def test_notes_state_where_eligible_times_are_not_obeyed(policy: Policy, noted: int) -> None:
    frame = pl.DataFrame({"cluster": [None], "pool": [None], "gpu_model": [None]})
    workload: Any = SimpleNamespace(frames={"jobs": frame})
    specs = [replace(job("later", 0, 1, 10), eligible_s=5.0), job("now", 0, 1, 10)]
    notes = constraint_notes(workload, specs, policy)
    assert sum("1 job became eligible after the submission" in note for note in notes) == noted


def test_fair_shares_are_those_that_sshare_prints() -> None:
    """The table of ``sshare`` in tests/slurm_lab/recording.tar.xz."""
    shares = [Share(a, "", "", s) for a, s in (("prod", 40), ("research", 40), ("teaching", 20))]
    used = {
        ("root", "root"): (0, 1.0),
        ("prod", "mail"): (1563, 0.7),
        ("prod", "news"): (2016, 0.5),
        ("prod", "uucp"): (1926, 0.6),
        ("research", "backup"): (3325, 0.2),
        ("research", "games"): (4473, 0.1),
        ("research", "man"): (3184, 0.3),
        ("research", "proxy"): (2902, 0.4),
        ("teaching", "irc"): (1288, 0.9),
        ("teaching", "list"): (1452, 0.8),
    }
    tree = FairTree(shares, used)
    assert set(tree.factors().values()) == {1.0, 0.9}  # the user beside the accounts is first
    for owner, (usage, _) in used.items():
        tree.charge(owner, usage)
    assert tree.factors() == pytest.approx({owner: factor for owner, (_, factor) in used.items()})


def test_size_factor_is_that_of_sprio() -> None:
    """Of 7 servers and 176 CPUs, sprio prints 17 of 200 for 1 and 4, 47 for 2 and 32."""
    one = replace(job("one", 0, 1, 1), cpus=4.0, gpus_by_server=(1,))
    two = replace(job("two", 0, 8, 1), cpus=32.0, gpus_by_server=(4, 4))
    assert round(200 * size_factor(one, 7, 176, 44, small=False)) == 17
    assert round(200 * size_factor(two, 7, 176, 44, small=False)) == 47
    assert size_factor(one, 7, 176, 44, small=True) > size_factor(two, 7, 176, 44, small=True)


def test_settings_are_read_as_slurm_prints_them(tmp_path: Path) -> None:
    texts = {
        "config.txt": "Configuration data as of 2026-03-02T12:00:00\n"
        "AuthInfo                = socket=/run/munge,cred_expire=15\n"
        "PreemptType             = preempt/qos\n"
        "PriorityMaxAge          = 7-00:00:00\n"
        "PriorityWeightFairShare = 2000\n"
        "BOOT_TIME               = 2026-03-01T06:00:30\n"
        "SchedulerParameters     = bf_interval=3,bf_window=120,bf_continue\n",
        "partition.txt": "PartitionName=train\n   Nodes=a[1-3],b07\n   MaxTime=00:10:00\n"
        "   PriorityJobFactor=2 PriorityTier=3\n",
        "qos.txt": "Name|Priority|Preempt|GrpTRES|MaxJobsPU\nhigh|100|low||2\n",
        "assoc.txt": "Account|User|Share|GrpTRES\nprod||40|gres/gpu=8\nprod|mail|1|\n",
        "reservation-20260302T130000Z.txt": "No reservations in the system\n",
        "reservation-20260302T130010Z.txt": "ReservationName=r StartTime=2026-03-02T14:00:00 "
        "EndTime=2026-03-02T15:00:00 Nodes=a3 Users=root Accounts=(null)\n",
        "event.txt": "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
        "c|a2|2026-03-02T13:20:00|2026-03-02T13:40:00|DRAIN|disk|root(0)\n"
        "c|a1|2026-03-02T10:00:00|2026-03-02T11:00:00|DOWN|power|root(0)\n",
        "node-20260302T131000Z.txt": "NodeName=a1 State=IDLE\nNodeName=a2 State=MIXED+DRAIN "
        "Reason=disk [root@2026-03-02T13:05:00]\n",
        "node-20260302T133000Z.txt": "NodeName=a1 State=IDLE\nNodeName=a2 State=IDLE+DRAIN "
        "Reason=disk [root@2026-03-02T13:05:00]\n",
        "notes.txt": "something else\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    settings = read_settings(tmp_path)
    assert settings.knobs["cred_expire"] == 15
    assert settings.knobs["PriorityWeightFairshare"] == 2000
    assert settings.knobs["PriorityMaxAge"] == 7 * 86_400
    assert (settings.knobs["bf_interval"], settings.knobs["bf_window"]) == (3, 120)
    assert settings.knobs["preempt"]
    train = Partition(frozenset({"a1", "a2", "a3", "b07"}), 2.0, 3, 600.0)
    assert settings.partitions == {"train": train}
    assert settings.qos == {"high": Qos(100.0, frozenset({"low"}))}
    assert {(x.account, x.qos, x.per, x.resource, x.amount) for x in settings.limits} == {
        ("prod", None, None, "gpus", 8.0),
        (None, "high", "user", "jobs", 2.0),
    }
    assert settings.shares == (Share("prod", "", "", 40.0), Share("prod", "", "mail", 1.0))
    assert settings.booted_at == datetime(2026, 3, 1, 6, 0, 30)
    reservation, drained, down = settings.reservations
    # drained from the command on, while jobs still ran
    assert (drained.nodes, drained.out) == (frozenset({"a2"}), True)
    assert drained.start_at == drained.known_at == datetime(2026, 3, 2, 13, 5)
    assert drained.end_at == datetime(2026, 3, 2, 13, 40)
    assert (down.start_at.hour, down.end_at.hour) == (10, 11)
    assert reservation.known_at == datetime(2026, 3, 2, 13, 0, 5)
    assert reservation.nodes == {"a3"}
