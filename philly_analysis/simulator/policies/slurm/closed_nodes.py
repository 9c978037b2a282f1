"""Find when servers were drained or down, from what ``scontrol show node`` printed."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from philly_analysis.slurm_text import record_fields

_OUT = re.compile(r"DRAIN|DOWN|FAIL")
_SINCE = re.compile(r"\[[^\]@]*@(\d{4}-\d\d-\d\dT[\d:]+)\]")


class Closed(NamedTuple):
    """A server that is out of service, and when it was last and next printed."""

    node: str
    start_at: datetime
    end_at: datetime


def closed_nodes(
    prints: Mapping[datetime, Iterable[str]], events: Sequence[Closed]
) -> Iterator[Closed]:
    """Yield the times in which servers took no new jobs.

    A server that is drained runs its jobs to their ends. ``sacctmgr show event`` records the server
    from the end of its last job on; ``scontrol show node`` prints the time of the command with the
    reason. A closure ends when its event ends. A closure without an event ends halfway between the
    last print that shows the server as closed and the next print.

    Parameters
    ----------
    prints
        Records of servers, by the time at which they were printed.
    events
        Closed servers of ``sacctmgr show event``.
    """
    ends: dict[tuple[str, datetime], datetime] = {}
    times = sorted(prints)
    for at, next_at in zip(times, (*times[1:], times[-1]) if times else (), strict=True):
        for record in prints[at]:
            fields, since = record_fields(record), _SINCE.search(record)
            if "NodeName" in fields and since and _OUT.search(fields.get("State", "")):
                start_at = datetime.fromisoformat(since[1])
                ends[fields["NodeName"], start_at] = at + (next_at - at) / 2
    used = set()
    for (node, start_at), end_at in ends.items():
        for event in events:
            if event.node == node and start_at <= event.start_at <= end_at:
                used.add(event)
                end_at = event.end_at
        yield Closed(node, start_at, end_at)
    yield from (event for event in events if event not in used)
