"""Where machines stand: servers in racks, racks in pods; all who ask how near they are ask here."""

from collections.abc import Iterable, Sequence

from philly_analysis.workload import Machine

SERVER, RACK, POD = range(3)
"""Levels of nearness: inside one server, one rack, one pod, and so on outwards."""


class Topology:
    """Domains of machines that are near each other, level by level.

    A machine's ``rack`` is a path: ``p0/r3`` is rack r3 of pod p0, and ``r3`` alone a rack of no
    pod. It may be longer, where pods are parts of something; machines that name none share one
    rack. Beyond the last level that sets machines apart all are one domain.

    Attributes
    ----------
    top
        The level at which all machines are one domain, from :data:`RACK` on.
    """

    __slots__ = ("_domains", "_of", "top")

    def __init__(self, machines: Sequence[Machine]) -> None:
        paths = [(machine.rack or "").split("/") for machine in machines]
        self._domains: list[tuple[int, ...]] = []
        self._of: list[list[int]] = []
        for up in range(max(map(len, paths), default=1) + 1):
            nth: dict[tuple[str, ...], int] = {}
            of = [nth.setdefault(tuple(path[: max(len(path) - up, 0)]), len(nth)) for path in paths]
            masks = [0] * len(nth)
            for machine, domain in enumerate(of):
                masks[domain] |= 1 << machine
            self._domains.append(tuple(masks))
            self._of.append(of)
            if len(masks) <= 1:
                break
        self.top = RACK + len(self._domains) - 1

    def domains(self, level: int) -> tuple[int, ...]:
        """Return a bit per machine of each domain of a level, from :data:`RACK` on."""
        return self._domains[min(level, self.top) - RACK]

    @property
    def racks(self) -> tuple[int, ...]:
        """A bit per machine of each rack; one rack of all machines where none is named."""
        return self.domains(RACK)

    def level(self, machines: Iterable[int]) -> int:
        """Return the innermost level of which one domain has all of some machines."""
        there = set(machines)
        if len(there) <= 1:
            return SERVER
        return next(
            level for level, of in enumerate(self._of, RACK) if len({of[m] for m in there}) == 1
        )
