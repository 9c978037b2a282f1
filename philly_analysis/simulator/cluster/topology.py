"""Describe the proximity of machines: servers in racks, racks in pods."""

from collections.abc import Iterable, Sequence

from philly_analysis.workload import Machine

SERVER, RACK, POD = range(3)
"""Levels of proximity: one server, one rack, one pod, and so on outwards."""


class Topology:
    """Domains of machines (racks, pods, …), level by level.

    A machine's ``rack`` is a path: ``p0/r3`` is rack r3 of pod p0, and ``r3`` a rack without a pod.
    The path may have more levels; machines without one share a rack. Above the last level that
    separates machines all are one domain.

    Attributes
    ----------
    top
        The level at which all machines are one domain, at least :data:`RACK`.
    """

    def __init__(self, machines: Sequence[Machine]) -> None:
        paths = [(machine.rack or "").split("/") for machine in machines]
        self._domains: list[tuple[int, ...]] = []
        self._domain_of: list[list[int]] = []
        for up in range(max(map(len, paths), default=1) + 1):
            nth: dict[tuple[str, ...], int] = {}
            domain_of = [
                nth.setdefault(tuple(path[: max(len(path) - up, 0)]), len(nth)) for path in paths
            ]
            masks = [0] * len(nth)
            for machine, domain in enumerate(domain_of):
                masks[domain] |= 1 << machine
            self._domains.append(tuple(masks))
            self._domain_of.append(domain_of)
            if len(masks) <= 1:
                break
        self.top = RACK + len(self._domains) - 1

    def domains(self, level: int) -> tuple[int, ...]:
        """Return, for each domain of a level from :data:`RACK` on, a bit per machine."""
        return self._domains[min(level, self.top) - RACK]

    def level(self, machines: Iterable[int]) -> int:
        """Return the innermost level with a domain that contains all the machines."""
        there = set(machines)
        if len(there) <= 1:
            return SERVER
        return next(
            level
            for level, domain_of in enumerate(self._domain_of, RACK)
            if len({domain_of[m] for m in there}) == 1
        )
