"""Which GPUs a gang gets: searches over the free part of a cluster that change nothing."""

from philly_analysis.simulator.cluster.cluster import Cluster, Grant, lowest
from philly_analysis.simulator.cluster.gpu_sharing import WHOLE
from philly_analysis.simulator.cluster.topology import SERVER

ANYWHERE = 1 << 30
"""A limit on servers that limits nothing."""


def packed(
    cluster: Cluster, gpus: int, *, servers: int = ANYWHERE, among: int = -1
) -> Grant | None:
    """Place a gang on as few servers as it now fits on, on the fullest that will do.

    Parameters
    ----------
    servers
        Most servers that it may be spread over.
    among
        A bit per machine that may be used.

    Returns
    -------
    Grant or None
        None when it does not fit.
    """
    if gpus > cluster.free:
        return None
    by_free, biggest = cluster.by_free, cluster.biggest
    if cluster.dedicated:
        among &= cluster.open_to(gpus)
    if gpus <= biggest:
        for free in range(gpus, biggest + 1):
            if found := by_free[free] & among:
                machine = (found & -found).bit_length() - 1
                return Grant(((machine, lowest(cluster.free_gpus[machine], gpus)),), gpus)
    return _spread(cluster, gpus, servers, among)


def consolidated(cluster: Cluster, gpus: int) -> Grant | None:
    """Place a gang on one server, the fullest that will do, or else on whole ones and a rest.

    The rest lies on the emptiest server that is left, as in the simulators of Helios and Lucid.
    There are never more servers than empty ones would be.
    """
    servers = cluster.fewest(gpus)
    if servers == 1 or gpus > cluster.free:
        return packed(cluster, gpus, servers=servers)
    shares: list[tuple[int, int]] = []
    left, among = gpus, cluster.open_to(gpus)
    for free in range(cluster.biggest, 0, -1):
        found, whole = cluster.by_free[free] & among, cluster.of_size.get(free, 0)
        while found and len(shares) < servers:
            machine = (found & -found).bit_length() - 1
            found &= found - 1
            if left <= free:
                shares.append((machine, lowest(cluster.free_gpus[machine], left)))
                return Grant(tuple(shares), gpus)
            if whole >> machine & 1:
                shares.append((machine, cluster.free_gpus[machine]))
                left -= free
    return None


def seat(cluster: Cluster, size: int, *, among: int = -1) -> Grant | None:
    """Place what a job asks for: a gang packed, or a share of a GPU.

    A share comes on the fullest GPU that others share and that has room, else on a free one.

    Parameters
    ----------
    size
        In parts of GPUs: ``Job.size``.
    """
    if size >= WHOLE:
        return packed(cluster, size // WHOLE, among=among)
    if (gpu := cluster.parted.best(size, among)) is not None:
        return Grant((gpu,), 1, part=size)
    found = packed(cluster, 1, among=among)
    return found and found._replace(part=size)


def _spread(cluster: Cluster, gpus: int, servers: int, among: int) -> Grant | None:
    """Place a gang that fits on no single server: the emptiest first, the last one fitted best."""
    shares: list[tuple[int, int]] = []
    left = gpus
    for free in range(cluster.biggest, 0, -1):
        found = cluster.by_free[free] & among
        while found:
            if len(shares) == servers:
                return None
            if left <= free:
                return _finished(cluster, gpus, shares, left, among)
            machine = (found & -found).bit_length() - 1
            found &= found - 1
            shares.append((machine, cluster.free_gpus[machine]))
            left -= free
    return None


def _finished(
    cluster: Cluster, gpus: int, shares: list[tuple[int, int]], left: int, among: int
) -> Grant:
    """Add the last server of a spread gang: the fullest with `left` free GPUs."""
    for machine, _ in shares:
        among &= ~(1 << machine)
    for free in range(left, cluster.biggest + 1):
        if found := cluster.by_free[free] & among:
            machine = (found & -found).bit_length() - 1
            shares.append((machine, lowest(cluster.free_gpus[machine], left)))
            break
    return Grant(tuple(shares), gpus)


def first_fit(cluster: Cluster, gpus: int) -> Grant | None:
    """Place a gang on the first servers, in their order, that will do: whole ones and a rest.

    So do YARN and Tiresias' simulator, where :func:`packed` looks for the fullest.
    """
    size = max(m.gpus for m in cluster.machines)
    whole, rest = divmod(gpus, size)
    shares: list[tuple[int, int]] = []
    for machine, mask in enumerate(cluster.free_gpus):
        if len(shares) < whole and mask.bit_count() == size:
            shares.append((machine, mask))
    if len(shares) < whole:
        return None
    if rest:
        taken = {machine for machine, _ in shares}
        for machine, mask in enumerate(cluster.free_gpus):
            if machine not in taken and mask.bit_count() >= rest:
                return Grant((*shares, (machine, lowest(mask, rest))), gpus)
        return None
    return Grant(tuple(shares), gpus)


def within(cluster: Cluster, gpus: int, level: int, *, servers: int = ANYWHERE) -> Grant | None:
    """Place a gang inside one rack, or one pod, ..., on as few servers as any of them allows.

    Of those that give the same number of servers the emptiest comes first, then by their order.

    Parameters
    ----------
    level
        Which: see :mod:`philly_analysis.simulator.cluster.topology`.
    """
    domains = cluster.topology.domains(level)
    if len(domains) == 1:
        return packed(cluster, gpus, servers=servers)
    best: Grant | None = None
    ranked = sorted(domains, key=lambda domain: -free_in(cluster, domain))
    for domain in ranked:
        grant = packed(cluster, gpus, servers=servers, among=domain)
        if grant and (best is None or len(grant.shares) < len(best.shares)):
            best = grant
            if len(best.shares) == 1:
                break
    return best


def nearest(cluster: Cluster, gpus: int, *, beyond: int = SERVER) -> Grant | None:
    """Place a gang inside the innermost level, beyond one, that has room for it."""
    if gpus > cluster.free:
        return None
    for level in range(beyond + 1, cluster.topology.top):
        if found := within(cluster, gpus, level):
            return found
    return packed(cluster, gpus)


def free_in(cluster: Cluster, among: int) -> int:
    """Return the free GPUs of a set of machines."""
    return sum(
        free * (mask & among).bit_count() for free, mask in enumerate(cluster.by_free) if free
    )


def part_of_gang(cluster: Cluster, gpus: int, *, servers: int, among: int = -1) -> Grant | None:
    """Take what there is towards a gang that does not fit: the emptiest servers, up to a limit."""
    shares: list[tuple[int, int]] = []
    left = gpus
    among &= cluster.open_to(gpus)
    for free in range(cluster.biggest, 0, -1):
        found = cluster.by_free[free] & among
        while found and left and len(shares) < servers:
            machine = (found & -found).bit_length() - 1
            found &= found - 1
            shares.append((machine, lowest(cluster.free_gpus[machine], min(left, free))))
            left -= min(left, free)
    return Grant(tuple(shares), gpus - left, partial=True) if shares else None


def resized(cluster: Cluster, old: Grant, gpus: int) -> Grant | None:
    """Return a larger or smaller grant that keeps as many of its GPUs as it can.

    Parameters
    ----------
    cluster
        A cluster in which the GPUs of `old` are held.
    """
    if gpus <= old.gpus:
        shares, left = [], gpus
        for machine, mask in sorted(old.shares, key=lambda s: (-s[1].bit_count(), s[0])):
            if left:
                kept = lowest(mask, min(left, mask.bit_count()))
                shares.append((machine, kept))
                left -= kept.bit_count()
        return Grant(tuple(shares), gpus)
    masks, left = dict(old.shares), gpus - old.gpus
    for machine in masks:  # first beside what it has
        more = lowest(cluster.free_gpus[machine], min(left, cluster.free_gpus[machine].bit_count()))
        masks[machine] |= more
        left -= more.bit_count()
    if left:
        here = sum(1 << machine for machine in masks)
        rest = packed(cluster, left, among=~here)
        if rest is None:
            return None
        masks.update(rest.shares)
    return Grant(tuple(masks.items()), gpus)
