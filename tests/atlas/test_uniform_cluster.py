"""Test the claims of an effect on a Slurm log in which nothing depends on anything."""

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from philly_analysis.atlas.catalogue import CLAIMS
from philly_analysis.atlas.claim import Verdict
from philly_analysis.atlas.evaluation import evaluate
from philly_analysis.ingest import IngestOptions, ingest
from philly_analysis.trace.trace import Trace

pytestmark = pytest.mark.slow

JOBS, DAYS, USERS = 73_000, 365, 60
STATES = ("COMPLETED",) * 7 + ("FAILED", "NODE_FAIL", "CANCELLED by 5")
HEADER = (
    "JobIDRaw|JobID|Cluster|Partition|QOS|Account|User|State|ExitCode|Submit|Eligible|Start|End|"
    "ElapsedRaw|TimelimitRaw|NNodes|NCPUS|ReqTRES|AllocTRES|NodeList"
)


def sacct(seed: int) -> str:
    """Return a year of jobs whose columns are independent of each other and of time."""
    rng = np.random.default_rng(seed)
    submitted = np.sort(rng.integers(0, DAYS * 86_400, JOBS))
    started = submitted + rng.exponential(600, JOBS).astype(int)
    run = np.minimum(rng.lognormal(7, 1.5, JOBS).astype(int) + 5, 80_000)
    epoch = int(datetime(2025, 1, 1, tzinfo=UTC).timestamp())
    submit, start, end = (
        np.datetime_as_string((epoch + s).astype("datetime64[s]"))
        for s in (submitted, started, started + run)
    )
    gpus = rng.choice([1, 1, 1, 2, 4, 8], JOBS)
    user, node = rng.integers(0, USERS, JOBS), rng.integers(1, 60, JOBS)
    state = rng.choice(STATES, JOBS)
    lines = [HEADER]
    for i in range(JOBS):
        tres = f"billing=1,cpu={4 * gpus[i]},gres/gpu={gpus[i]},mem=8G,node=1"
        lines.append(
            f"{i + 1}|{i + 1}|c|gpu|normal|a|u{user[i]}|{state[i]}|0:0|{submit[i]}|{submit[i]}|"
            f"{start[i]}|{end[i]}|{run[i]}|1440|1|{4 * gpus[i]}|{tres}|{tres}|n{node[i]:03d}"
        )
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_effect_is_absent_where_nothing_depends_on_anything(
    seed: int, tmp_path: Path
) -> None:
    log = tmp_path / "sacct.txt"
    log.write_text(sacct(seed))
    ingest(IngestOptions("slurm", log, tmp_path / "t"))
    with Trace(tmp_path / "t") as trace:
        atlas = evaluate([trace])
    [cluster] = atlas.clusters
    strongest = {
        c.name: atlas.strongest(c.name, cluster.name) for c in CLAIMS.values() if c.of_effect
    }
    verdicts = {name: f.verdict for name, f in strongest.items()}
    assert len(verdicts) == 10
    # a Slurm log has no readings
    without_readings = {"spread_gangs_use_less": Verdict.UNDECIDED}
    assert verdicts == dict.fromkeys(verdicts, Verdict.ABSENT) | without_readings, strongest
