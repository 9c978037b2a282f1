"""Read a cluster's scheduling from what Slurm prints: configuration, partitions, QOS, accounts."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import product
from pathlib import Path
from typing import NamedTuple

from philly_analysis.errors import SimulationError
from philly_analysis.simulator.policies.limit import Limit
from philly_analysis.simulator.policies.slurm.closed_nodes import Closed, closed_nodes

Row = Mapping[str, str]


class Partition(NamedTuple):
    """A partition of ``scontrol show partition``.

    Attributes
    ----------
    nodes
        Servers of the partition.
    job_factor, tier
        PriorityJobFactor and PriorityTier (slurm.conf, "Partition Configuration").
    max_s
        MaxTime in seconds; None: no limit.
    """

    nodes: frozenset[str]
    job_factor: float = 1.0
    tier: int = 1
    max_s: float | None = None


class Qos(NamedTuple):
    """A QOS of ``sacctmgr show qos``: the priority, and the QOS that this QOS preempts."""

    priority: float = 0.0
    preempts: frozenset[str] = frozenset()


class Share(NamedTuple):
    """Shares of an account (user empty) or of a user, of ``sacctmgr show assoc``."""

    account: str
    parent: str
    user: str
    shares: float


class Reservation(NamedTuple):
    """Servers that others may not use for a time (``scontrol show reservation``).

    Attributes
    ----------
    start_at, end_at
        Beginning and end, on the clock of the log.
    accounts, users
        Accounts and users whose jobs may use the servers.
    known_at
        Time at which the scheduler learned of the reservation; None: before the log.
    out
        Whether the servers are out of service, with an unknown end.
    """

    start_at: datetime
    end_at: datetime
    nodes: frozenset[str]
    accounts: frozenset[str] = frozenset()
    users: frozenset[str] = frozenset()
    known_at: datetime | None = None
    out: bool = False


@dataclass(frozen=True, slots=True)
class Settings:
    """A cluster's scheduling; what is not printed is empty.

    Attributes
    ----------
    knobs
        Values of knobs of :class:`~philly_analysis.simulator.policies.slurm.Slurm`.
    booted_at
        Time at which the controller started: priorities are computed at multiples of
        PriorityCalcPeriod after it. None: not printed.
    """

    knobs: Mapping[str, float] = field(default_factory=dict)
    partitions: Mapping[str, Partition] = field(default_factory=dict)
    qos: Mapping[str, Qos] = field(default_factory=dict)
    limits: tuple[Limit, ...] = ()
    shares: tuple[Share, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    booted_at: datetime | None = None


def read_settings(folder: str | Path) -> Settings:
    """Read all files of a folder that Slurm's commands printed; other files are skipped.

    The commands are ``scontrol show config``, ``scontrol show partition``, ``scontrol show
    reservation``, ``scontrol show node``, ``sacctmgr show assoc -P``, ``sacctmgr show qos -P`` and
    ``sacctmgr show event -P``. Times are read as printed. The time in the name of a file, e.g.
    ``reservation-20260302T130000Z.txt``, is when the file was printed. A reservation that the
    previous file lacks is taken as made halfway between both times. Other reservations were made
    before the log.

    Raises
    ------
    SimulationError
        The folder has no output of these commands.
    """
    knobs: dict[str, float] = {}
    partitions: dict[str, Partition] = {}
    qos: dict[str, Qos] = {}
    limits: dict[str, Limit] = {}
    shares: list[Share] = []
    reservations: dict[tuple[str, datetime], Reservation] = {}
    node_prints: dict[datetime, list[str]] = {}
    events: list[Closed] = []
    before_at: datetime | None = None
    booted_at: datetime | None = None
    for path in sorted(Path(folder).glob("*")) if Path(folder).is_dir() else ():
        if not path.is_file():
            continue
        printed_at = _printed_at(path.name)
        text = path.read_text("utf-8", errors="replace")
        header = text.partition("\n")[0].strip()
        columns = set(header.split("|"))
        if header.startswith("Configuration data"):
            knobs |= _knobs(text)
            booted = re.search(r"^BOOT_TIME\s*= (\d{4}-\S+)", text, re.MULTILINE)
            booted_at = datetime.fromisoformat(booted[1]) if booted else booted_at
        elif header.startswith("PartitionName="):
            partitions |= {r["PartitionName"]: _partition(r) for r in _records(text)}
        elif "reservation" in path.name.lower() or header.startswith("ReservationName="):
            known_at = _between(before_at, printed_at)
            before_at = printed_at
            for record in _records(text):
                reservation = _reservation(record, known_at)
                reservations.setdefault(
                    (record["ReservationName"], reservation.start_at), reservation
                )
        elif {"Account", "User", "Share"} <= columns:
            rows = list(_table(text))
            shares += map(_share, rows)
            limits |= {limit.name: limit for row in rows for limit in _limits(row)}
        elif {"Name", "Preempt", "Priority"} <= columns:
            rows = list(_table(text))
            qos |= {row["Name"]: _qos(row) for row in rows}
            limits |= {limit.name: limit for row in rows for limit in _limits(row)}
        elif {"NodeName", "TimeStart", "State"} <= columns:
            events += (
                Closed(node, *(datetime.fromisoformat(row[at]) for at in ("TimeStart", "TimeEnd")))
                for row in _table(text)
                for node in expanded(row["NodeName"])
                if row["TimeEnd"][:1].isdigit()
            )
        elif header.startswith("NodeName=") and printed_at is not None:
            node_prints[printed_at] = re.split(r"\n(?=NodeName=)", text)
    for node, start_at, end_at in closed_nodes(node_prints, events):
        reservations[node, start_at] = Reservation(
            start_at, end_at, frozenset({node}), known_at=start_at, out=True
        )
    settings = Settings(
        knobs,
        partitions,
        qos,
        tuple(limits.values()),
        tuple(shares),
        tuple(reservations.values()),
        booted_at,
    )
    if settings == Settings():
        raise SimulationError(
            f"{folder} has no file that scontrol show config, partition or reservation, or "
            "sacctmgr show assoc, qos or event -P printed. Give a folder with such files."
        )
    return settings


def expanded(nodes: str) -> frozenset[str]:
    """Return the servers of a list in Slurm's notation, for example ``a[1-4,7],v1``."""
    names: list[str] = []
    for part in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", nodes):
        pieces = re.split(r"\[([^\]]*)\]", part)
        choices = [
            [piece] if nth % 2 == 0 else [n for span in piece.split(",") for n in _span(span)]
            for nth, piece in enumerate(pieces)
        ]
        names += map("".join, product(*choices))
    return frozenset(names) - {"(null)", ""}


def _span(text: str) -> list[str]:
    first, dash, last = text.partition("-")
    if not dash:
        return [text]
    return [str(n).zfill(len(first)) for n in range(int(first), int(last) + 1)]


def seconds(text: str) -> float | None:
    """Return a time such as ``7-00:00:00`` or ``00:10:00`` in seconds; None: no limit."""
    if not text[:1].isdigit():
        return None
    days, dash, clock = text.rpartition("-")
    parts = [float(p) for p in clock.split(":")]
    parts += [0.0] * (3 - len(parts)) if dash else []
    total = 0.0
    for part in parts:
        total = 60 * total + part
    return total + 86_400 * int(days or 0)


_TIMES = ("PriorityMaxAge", "PriorityDecayHalfLife", "PriorityCalcPeriod")
_WEIGHTS = ("Age", "Fairshare", "JobSize", "Partition", "QOS")
_PARAMETERS = (
    *("bf_interval", "bf_window", "bf_resolution", "bf_max_job_test"),
    *("bf_job_part_count_reserve", "default_queue_depth"),
    "batch_sched_delay",
)


def _knobs(text: str) -> dict[str, float]:
    """Return the values of knobs that ``scontrol show config`` prints."""
    options_by_name = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals:
            options_by_name[name.strip().lower()] = value.strip()
    knobs: dict[str, float] = {}
    for name in _TIMES:
        if (value_s := seconds(options_by_name.get(name.lower(), ""))) is not None:
            knobs[name] = value_s
    for factor in _WEIGHTS:
        if (weight := options_by_name.get(f"priorityweight{factor}".lower(), "")).isdigit():
            knobs[f"PriorityWeight{factor}"] = float(weight)
    knobs["PriorityFavorSmall"] = options_by_name.get("priorityfavorsmall", "").lower() == "yes"
    knobs["preempt"] = options_by_name.get("preempttype", "") == "preempt/qos"
    knobs["backfill"] = options_by_name.get("schedulertype", "sched/backfill") == "sched/backfill"
    options = ",".join(options_by_name.get(n, "") for n in ("schedulerparameters", "authinfo"))
    for option in options.split(","):
        name, _, value = option.partition("=")
        if name in (*_PARAMETERS, "cred_expire") and value.isdigit():
            knobs[name] = float(value)
    return knobs


def _records(text: str) -> Iterator[dict[str, str]]:
    """Yield the records of ``scontrol show``, which begin with an unindented name."""
    record: dict[str, str] = {}
    for line in text.splitlines():
        if line[:1].strip() and record:
            yield record
            record = {}
        record |= dict(re.findall(r"(\w+)=(\S*)", line))
    if record:
        yield record


def _table(text: str) -> Iterator[dict[str, str]]:
    """Yield the rows of ``sacctmgr -P``."""
    header, *lines = text.splitlines()
    for line in lines:
        if line.count("|") == header.count("|"):
            yield dict(zip(header.split("|"), line.split("|"), strict=True))


def _partition(record: Row) -> Partition:
    return Partition(
        expanded(record.get("Nodes", "")),
        float(record.get("PriorityJobFactor", 1)),
        int(record.get("PriorityTier", 1)),
        seconds(record.get("MaxTime", "")),
    )


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split(",")) - {"", "(null)"}


def _printed_at(name: str) -> datetime | None:
    """Return the time in the name of a file; None: there is none."""
    stamp = re.search(r"(\d{8}T\d{6})(\.\d+)?Z", name)
    return datetime.strptime(stamp[1], "%Y%m%dT%H%M%S") if stamp else None


def _between(before_at: datetime | None, at: datetime | None) -> datetime | None:
    """Return the time halfway from one file to the next; None where a file has no time."""
    if at is None or before_at is None:
        return None
    return before_at + (at - before_at) / 2


def _reservation(record: Row, known_at: datetime | None) -> Reservation:
    return Reservation(
        datetime.fromisoformat(record["StartTime"]),
        datetime.fromisoformat(record["EndTime"]),
        expanded(record.get("Nodes", "")),
        _names(record.get("Accounts", "")),
        _names(record.get("Users", "")),
        known_at,
    )


def _qos(row: Row) -> Qos:
    return Qos(float(row["Priority"] or 0), _names(row["Preempt"]))


def _share(row: Row) -> Share:
    text = row["Share"]
    parent = row.get("ParentName") or row.get("Par Name") or ""
    return Share(row["Account"], parent, row["User"], float(text) if text.isdigit() else 1.0)


_PER = {
    "GrpTRES": None,
    "GrpJobs": None,
    "MaxJobs": None,
    "MaxTRESPU": "user",
    "MaxJobsPU": "user",
    "MaxTRESPA": "account",
    "MaxJobsPA": "account",
}
"""Limits on what runs at once (sacctmgr, "QOS and association limits"), by what they count."""
_RESOURCES = {"gres/gpu": "gpus", "cpu": "cpus", "node": "servers"}


def _limits(row: Row) -> Iterator[Limit]:
    """Yield the limits of a row of associations or QOS, of the row's own account only."""
    who = (row.get("Account") or None, row.get("User") or None, row.get("Name") or None)
    for setting, per in _PER.items():
        value = row.get(setting) or ""
        parts = [f"jobs={value}"] if setting.endswith(("Jobs", "JobsPU", "JobsPA")) else []
        for part in parts or value.split(","):
            resource, _, amount = part.partition("=")
            resource = _RESOURCES.get(resource, resource)
            if amount.isdigit() and resource in ("jobs", *_RESOURCES.values()):
                name = f"{setting} of {' '.join(filter(None, who))}: {resource}"
                yield Limit(name, *who, None, per, resource, float(amount))
