"""Check servers, racks and pods: distances, placements and their cost."""

from hypothesis import given
from hypothesis import strategies as st

from philly_analysis.simulator.cluster.allocation import Allocation, Cluster
from philly_analysis.simulator.cluster.placement import pack_nearest, pack_within
from philly_analysis.simulator.cluster.topology import POD, RACK, SERVER, Topology
from philly_analysis.simulator.policies.relaxed_locality import part_at_step
from philly_analysis.workload import Machine, fleet


def stood(*racks: str | None) -> list[Machine]:
    return [Machine(f"m{i}", 4, rack=rack) for i, rack in enumerate(racks)]


def test_a_text_names_racks_and_pods() -> None:
    assert [m.rack for m in fleet("5x8@2/2")] == ["p0/r0", "p0/r0", "p0/r1", "p0/r1", "p1/r2"]
    assert [m.rack for m in fleet("3x8@2,1x4@1")] == ["r0", "r0", "r1", "r2"]


def test_levels_are_as_drawn() -> None:
    where = Topology(stood("a/0", "a/0", "a/1", "b/2", "b/2"))
    assert where.domains(RACK) == (0b00011, 0b00100, 0b11000)
    assert where.domains(POD) == (0b00111, 0b11000)
    assert where.domains(POD + 1) == where.domains(99) == (0b11111,)
    for machines, level in (([1], SERVER), ([0, 1], RACK), ([1, 2], POD), ([2, 3], POD + 1)):
        assert where.level(machines) == level


def test_machines_that_name_no_rack_share_one() -> None:
    where = Topology(stood(None, None, None))
    assert (where.top, where.domains(RACK), where.level([0, 2])) == (RACK, (0b111,), RACK)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), min_size=1, max_size=7))
def test_domains_part_the_machines_and_lie_inside_each_other(where: list[tuple[int, int]]) -> None:
    topology = Topology(stood(*(f"p{p}/r{r}" for p, r in where)))
    inner: tuple[int, ...] = tuple(1 << m for m in range(len(where)))
    for level in range(RACK, topology.top + 1):
        domains = topology.domains(level)
        assert sum(domains) == (1 << len(where)) - 1
        assert all(any(small & ~big == 0 for big in domains) for small in inner)
        inner = domains
    for a, one in enumerate(where):
        for b, other in enumerate(where):
            same = SERVER if a == b else RACK if one == other else POD if one[0] == other[0] else 3
            assert topology.level([a, b]) == min(same, topology.top if a != b else SERVER)


def test_a_gang_goes_where_it_is_nearest() -> None:
    cluster = Cluster(stood("a/0", "a/1", "b/2", "b/2"))
    cluster.allocate(Allocation(((2, 0b1),), 1))

    def machines(allocation: Allocation | None) -> list[int]:
        return sorted(m for m, _ in allocation.shares) if allocation else []

    assert machines(pack_nearest(cluster, 7)) == [2, 3]  # one rack, though the pod a is emptier
    assert machines(pack_nearest(cluster, 8)) == [0, 1]  # one pod
    assert machines(pack_nearest(cluster, 9)) == [0, 1, 2]  # anywhere, the last server fitted best
    assert pack_within(cluster, 8, RACK) is None
    assert pack_nearest(cluster, 16) is None


def test_part_of_a_gang_goes_to_the_rack_with_most_free_gpus() -> None:
    cluster = Cluster(stood("a/0", "b/1"))
    cluster.allocate(Allocation(((1, 0b1),), 1))
    part = part_at_step(cluster, 8, (1.0, 2.0), 1)
    assert part and (part.gpus, part.shares) == (4, ((0, 0b1111),))
