"""Search free GPUs for a job: best fit, first fit, whole servers, within racks."""

from collections.abc import Iterator, Sequence

from philly_analysis.simulator.cluster.allocation import Allocation, Cluster, lowest_bits
from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS
from philly_analysis.simulator.cluster.topology import SERVER

UNLIMITED = 1 << 30
"""A number of servers that no gang reaches."""


def pack_units(cluster: Cluster, size: int, *, among: int = -1) -> Allocation | None:
    """Find GPUs for a job on any servers: packed for a gang, or a fraction of one GPU.

    A fraction goes to the fullest shared GPU with enough free units, else to a free GPU.

    Parameters
    ----------
    size
        Size of the job in GPU units: ``Job.size``.
    among
        A bit per machine that may be used.
    """
    if size >= GPU_UNITS:
        return pack(cluster, size // GPU_UNITS, among=among)
    if (gpu := cluster.shared.best(size, among)) is not None:
        return Allocation((gpu,), 1, units=size)
    allocation = pack(cluster, 1, among=among)
    return allocation and allocation._replace(units=size)


def pack(
    cluster: Cluster, gpus: int, *, servers: int = UNLIMITED, among: int = -1
) -> Allocation | None:
    """Place a gang on as few servers as possible now, the fullest that suffice.

    Parameters
    ----------
    servers
        Most servers over which the gang may be spread.
    among
        A bit per machine that may be used.

    Returns
    -------
    Allocation or None
        None when the gang does not fit.
    """
    if gpus > cluster.free:
        return None
    if cluster.dedicated:
        among &= cluster.usable_servers(gpus)
    return best_fit(cluster, gpus, among) or _spread(cluster, gpus, servers, among)


def best_fit(cluster: Cluster, gpus: int, among: int) -> Allocation | None:
    """Place a gang on the fullest server in `among` with enough free GPUs."""
    by_free = cluster.by_free
    for free in range(gpus, len(by_free)):
        if machines := by_free[free] & among:
            machine = (machines & -machines).bit_length() - 1
            return Allocation(((machine, lowest_bits(cluster.free_gpus[machine], gpus)),), gpus)
    return None


def emptiest(cluster: Cluster, among: int) -> Iterator[tuple[int, int]]:
    """Yield the free GPUs and the index of the machines, emptiest first, then by index."""
    for free in range(cluster.largest_server, 0, -1):
        machines = cluster.by_free[free] & among
        while machines:
            yield free, (machines & -machines).bit_length() - 1
            machines &= machines - 1


def _spread(cluster: Cluster, gpus: int, servers: int, among: int) -> Allocation | None:
    """Place a gang on several servers: the emptiest first, the last by best fit."""
    shares: list[tuple[int, int]] = []
    unplaced_gpus = gpus
    for free, machine in emptiest(cluster, among):
        if len(shares) == servers:
            return None
        if unplaced_gpus <= free and (last := best_fit(cluster, unplaced_gpus, among)):
            return Allocation((*shares, *last.shares), gpus)
        shares.append((machine, cluster.free_gpus[machine]))
        among &= ~(1 << machine)
        unplaced_gpus -= free
    return None


def pack_on_servers(
    cluster: Cluster, servers: Sequence[int], having: Sequence[int] | None = None
) -> Allocation | None:
    """Place a gang on exactly the requested servers, each part on the fullest with room.

    Parameters
    ----------
    servers
        GPUs on each server, most first.
    having
        Per number of GPUs, a bit per machine with CPUs and memory for as many; None: all machines.
    """
    gpus = sum(servers)
    if gpus > cluster.free or servers[0] > cluster.largest_server:
        return None
    among = cluster.usable_servers(gpus)
    shares: list[tuple[int, int]] = []
    for count in servers:
        part = best_fit(cluster, count, among & having[count] if having else among)
        if part is None:
            return None
        shares += part.shares
        among &= ~(1 << part.shares[0][0])
    return Allocation(tuple(shares), gpus)


def pack_whole_servers(cluster: Cluster, gpus: int) -> Allocation | None:
    """Place a gang on one server by best fit, or else on empty servers and one for the rest.

    The rest goes to the emptiest server left, as in the simulators of Helios and Lucid. The
    number of servers is the smallest possible in an empty cluster.
    """
    servers = cluster.fewest_servers(gpus)
    if servers == 1 or gpus > cluster.free:
        return pack(cluster, gpus, servers=servers)
    shares: list[tuple[int, int]] = []
    unplaced_gpus = gpus
    for free, machine in emptiest(cluster, cluster.usable_servers(gpus)):
        if len(shares) == servers:
            return None
        if unplaced_gpus <= free:
            shares.append((machine, lowest_bits(cluster.free_gpus[machine], unplaced_gpus)))
            return Allocation(tuple(shares), gpus)
        if free == cluster.machines[machine].gpus:
            shares.append((machine, cluster.free_gpus[machine]))
            unplaced_gpus -= free
    return None


def first_fit(cluster: Cluster, gpus: int) -> Allocation | None:
    """Place a gang on the first servers, by index, that suffice: empty ones and one for the rest.

    YARN and Tiresias' simulator place gangs on the first servers; :func:`pack` takes the fullest.
    """
    whole, remainder = divmod(gpus, cluster.largest_server)
    servers = [(mask.bit_count(), machine, mask) for machine, mask in enumerate(cluster.free_gpus)]
    chosen = [server for server in servers if server[0] == cluster.largest_server][:whole]
    if remainder:
        fitting = [s for s in servers if s[0] >= remainder and s not in chosen]
        chosen += fitting[:1]
    if len(chosen) < whole + bool(remainder):
        return None
    shares = [(machine, mask) for _, machine, mask in chosen[:whole]]
    shares += [(machine, lowest_bits(mask, remainder)) for _, machine, mask in chosen[whole:]]
    return Allocation(tuple(shares), gpus)


def pack_within(
    cluster: Cluster, gpus: int, level: int, *, servers: int = UNLIMITED
) -> Allocation | None:
    """Place a gang inside one rack (or pod, …), on as few servers as any rack allows.

    If racks need equal numbers of servers, the emptiest rack is chosen, then the first.

    Parameters
    ----------
    level
        Rack, pod, …: see :mod:`philly_analysis.simulator.cluster.topology`.
    """
    domains = cluster.topology.domains(level)
    if len(domains) == 1:
        return pack(cluster, gpus, servers=servers)
    best: Allocation | None = None
    for domain in sorted(domains, key=lambda domain: -_free_gpus_in(cluster, domain)):
        allocation = pack(cluster, gpus, servers=servers, among=domain)
        if allocation and (best is None or len(allocation.shares) < len(best.shares)):
            best = allocation
            if len(best.shares) == 1:
                break
    return best


def pack_nearest(cluster: Cluster, gpus: int, *, beyond: int = SERVER) -> Allocation | None:
    """Place a gang inside a domain of the innermost level, above `beyond`, that has room."""
    if gpus > cluster.free:
        return None
    for level in range(beyond + 1, cluster.topology.top):
        if allocation := pack_within(cluster, gpus, level):
            return allocation
    return pack(cluster, gpus)


def _free_gpus_in(cluster: Cluster, among: int) -> int:
    return sum(
        free * (mask & among).bit_count() for free, mask in enumerate(cluster.by_free) if free
    )


def partial_gang(
    cluster: Cluster, gpus: int, *, servers: int, among: int = -1
) -> Allocation | None:
    """Return free GPUs for a gang that does not fit: of the emptiest servers, up to a limit."""
    shares: list[tuple[int, int]] = []
    unplaced_gpus = gpus
    for free, machine in emptiest(cluster, among & cluster.usable_servers(gpus)):
        if not unplaced_gpus or len(shares) == servers:
            break
        count = min(unplaced_gpus, free)
        shares.append((machine, lowest_bits(cluster.free_gpus[machine], count)))
        unplaced_gpus -= count
    return Allocation(tuple(shares), gpus - unplaced_gpus, partial=True) if shares else None


def resize(cluster: Cluster, old: Allocation, gpus: int) -> Allocation | None:
    """Grow or shrink an allocation, and keep as many GPUs as possible.

    Parameters
    ----------
    cluster
        A cluster in which the GPUs of `old` are allocated.
    """
    if gpus <= old.gpus:
        shares, unplaced_gpus = [], gpus
        for machine, mask in sorted(old.shares, key=lambda s: (-s[1].bit_count(), s[0])):
            if unplaced_gpus:
                retained = lowest_bits(mask, min(unplaced_gpus, mask.bit_count()))
                shares.append((machine, retained))
                unplaced_gpus -= retained.bit_count()
        return Allocation(tuple(shares), gpus)
    masks, unplaced_gpus = dict(old.shares), gpus - old.gpus
    for machine, mask in old.shares:  # first on the same servers
        free = cluster.free_gpus[machine]
        more = lowest_bits(free, min(unplaced_gpus, free.bit_count()))
        masks[machine] = mask | more
        unplaced_gpus -= more.bit_count()
    if unplaced_gpus:
        other_servers = pack(cluster, unplaced_gpus, among=~sum(1 << machine for machine in masks))
        if other_servers is None:
            return None
        masks.update(other_servers.shares)
    return Allocation(tuple(masks.items()), gpus)
