"""References of relations of pools of machines."""

from typing import Any

from tests.analyses.plain import Out, Row, Rows, by


def serves(m: Row, cluster: str | None, pool: str | None, model: str | None) -> bool:
    """Whether a machine has GPUs and is of a cluster, a pool or one inside it, and a model."""
    inside = pool in (None, m.pool) or (m.pool or "").startswith(f"{pool}/")
    return bool(m.gpus) and inside and cluster in (None, m.cluster) and model in (None, m.gpu_model)


def pools(t: Rows) -> Out:
    def machines(asked: tuple[Any, ...]) -> frozenset[str]:
        return frozenset(m.machine_id for m in t.machines if serves(m, *asked))

    def name(asked: tuple[Any, ...]) -> tuple[int, str]:
        cluster, pool, model = asked
        parts = [cluster and f"cluster {cluster}", pool and f"pool {pool}",
                 model and f"{model} GPUs"]  # fmt: skip
        text = ", ".join(filter(None, parts)) or "any machine"
        return len(text), text

    every = {(j.cluster, j.pool, j.gpu_model) for j in t.jobs}
    for asked in every:
        its = machines(asked)
        alike = [o for o in every if machines(o) == its] if its else [asked]
        yield *asked, min(map(name, alike))[1], len(its)


def job_pools(t: Rows) -> Out:
    names = {(p.cluster, p.named, p.gpu_model): p.pool for p in t.pools}
    for j in t.jobs:
        yield j.job_id, names[j.cluster, j.pool, j.gpu_model]


def largest_machines(t: Rows) -> Out:
    for (pool,), machines in by(t.pool_machines, "pool").items():
        held = 0
        for n, gpus in enumerate(sorted((m.gpus for m in machines), reverse=True), 1):
            held += gpus
            yield pool, n, held


def gang_needs(t: Rows) -> Out:
    pool_of = {j.job_id: j.pool for j in t.job_pools}
    for pool, gpus in {(pool_of[j.job_id], j.gpus) for j in t.jobs if j.gpus}:
        sizes = [m for m in t.largest_machines if m.pool == pool]
        enough = [m.machines for m in sizes if m.gpus >= gpus]
        yield pool, gpus, min(enough) if enough else len(sizes) or None, len(sizes), not enough


def pool_machines(t: Rows) -> Out:
    for p in {p.pool: p for p in t.pools}.values():
        for m in t.machines:
            if serves(m, p.cluster, p.named, p.gpu_model):
                yield p.pool, m.machine_id, m.gpus


def machine_pools(t: Rows) -> Out:
    sizes = {p.pool: p.servers for p in t.pools}
    every = {
        m: sorted(r.pool for r in rows) for (m,), rows in by(t.pool_machines, "machine_id").items()
    }
    smallest = {m: min(names, key=lambda n: (sizes[n], n)) for m, names in every.items()}
    for m in t.machines:
        if not m.gpus:
            continue
        name = smallest.get(m.machine_id, "unused")
        alike = {tuple(every[o]) for o in every if smallest[o] == name}
        yield m.machine_id, m.gpus, " and ".join(every[m.machine_id]) if len(alike) > 1 else name


def cluster_size(t: Rows) -> Out:
    gpus = [m.gpus for m in t.machines]
    yield len(gpus), sum(n > 0 for n in gpus), sum(gpus)
