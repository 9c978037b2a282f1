"""Read a cluster's scheduling from what Slurm prints: configuration, partitions, QOS, accounts."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from philly_analysis.errors import SimulationError
from philly_analysis.simulator.policies.limit import Limit
from philly_analysis.simulator.policies.slurm.closed_nodes import Closed, closed_nodes
from philly_analysis.simulator.policies.slurm.prints import (
    Print,
    read_prints,
    records_of,
    servers_in,
)
from philly_analysis.slurm_text import (
    RUNNING_LIMITS,
    duration_s,
    limit_amounts,
    record_texts,
    table_rows,
)

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
    booted_at: datetime | None = None
    prints = read_prints(folder)
    for output in prints:
        if output.header.startswith("Configuration data"):
            knobs |= _knobs(output.text)
            booted = re.search(r"^BOOT_TIME\s*= (\d{4}-\S+)", output.text, re.MULTILINE)
            booted_at = datetime.fromisoformat(booted[1]) if booted else booted_at
        elif output.header.startswith("PartitionName="):
            records = records_of(output.text, "PartitionName")
            partitions |= {record["PartitionName"]: _partition(record) for record in records}
        elif {"Account", "User", "Share"} <= output.columns:
            rows = list(table_rows(output.text.splitlines()))
            shares += map(_share, rows)
            limits |= {limit.name: limit for row in rows for limit in _limits(row)}
        elif {"Name", "Preempt", "Priority"} <= output.columns:
            rows = list(table_rows(output.text.splitlines()))
            qos |= {row["Name"]: _qos(row) for row in rows}
            limits |= {limit.name: limit for row in rows for limit in _limits(row)}
    reservations = _reservations(prints) | _out_of_service(prints)
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
        if (value_s := duration_s(options_by_name.get(name.lower(), ""))) is not None:
            knobs[name] = float(value_s)
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


def _partition(record: Row) -> Partition:
    return Partition(
        servers_in(record.get("Nodes", "")),
        float(record.get("PriorityJobFactor", 1)),
        int(record.get("PriorityTier", 1)),
        duration_s(record.get("MaxTime", "")),
    )


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split(",")) - {"", "(null)"}


def _reservations(prints: Sequence[Print]) -> dict[tuple[str, datetime], Reservation]:
    """Return the reservations in all prints, by name and start; the first print counts."""
    reservations: dict[tuple[str, datetime], Reservation] = {}
    before_at: datetime | None = None
    for output in prints:
        begins = output.header.startswith("ReservationName=")
        if begins or "reservation" in output.name.lower():
            known_at = _between(before_at, output.printed_at)
            before_at = output.printed_at
            for record in records_of(output.text, "ReservationName"):
                reservation = _reservation(record, known_at)
                key = record["ReservationName"], reservation.start_at
                reservations.setdefault(key, reservation)
    return reservations


def _out_of_service(prints: Sequence[Print]) -> dict[tuple[str, datetime], Reservation]:
    """Return the servers that were down or drained, by server and start."""
    node_prints: dict[datetime, list[str]] = {}
    events: list[Closed] = []
    for output in prints:
        if {"NodeName", "TimeStart", "State"} <= output.columns:
            events += (
                Closed(node, *(datetime.fromisoformat(row[at]) for at in ("TimeStart", "TimeEnd")))
                for row in table_rows(output.text.splitlines())
                for node in servers_in(row["NodeName"])
                if row["TimeEnd"][:1].isdigit()
            )
        elif output.header.startswith("NodeName=") and output.printed_at is not None:
            lines = enumerate(output.text.splitlines(), 1)
            node_prints[output.printed_at] = [text for _, text in record_texts(lines, "NodeName")]
    return {
        (node, start_at): Reservation(
            start_at, end_at, frozenset({node}), known_at=start_at, out=True
        )
        for node, start_at, end_at in closed_nodes(node_prints, events)
    }


def _between(before_at: datetime | None, at: datetime | None) -> datetime | None:
    """Return the time halfway from one file to the next; None where a file has no time."""
    if at is None or before_at is None:
        return None
    return before_at + (at - before_at) / 2


def _reservation(record: Row, known_at: datetime | None) -> Reservation:
    return Reservation(
        datetime.fromisoformat(record["StartTime"]),
        datetime.fromisoformat(record["EndTime"]),
        servers_in(record.get("Nodes", "")),
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


def _limits(row: Row) -> Iterator[Limit]:
    """Yield the limits of a row of associations or QOS, of the row's own account only."""
    who = (row.get("Account") or None, row.get("User") or None, row.get("Name") or None)
    for setting, per in RUNNING_LIMITS.items():
        for resource, model, amount in limit_amounts(setting, row.get(setting) or ""):
            if model is None and resource != "mem_gb":
                name = f"{setting} of {' '.join(filter(None, who))}: {resource}"
                yield Limit(name, *who, None, per, resource, amount)
