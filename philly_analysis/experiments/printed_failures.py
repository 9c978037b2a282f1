"""The study's failures, from its printed tables, for laws whose jobs never fail."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from philly_analysis.study import DEMAND_BUCKETS, FAILED, PASS, table_7
from philly_analysis.workload import AttemptSpec, JobSpec

STUDY_JOBS = 96_260
"""Jobs of the study (its Table 6)."""

STUDY_UNSUCCESSFUL = 16_568
"""Those that ended unsuccessful (its Table 6)."""


def failing_as_printed(specs: Sequence[JobSpec], rng: np.random.Generator) -> list[JobSpec]:
    """Give jobs that never fail the failures of the study: its Tables 6 and 7.

    So many of the study's jobs failed for each reason; so many trials each; after run times of a
    log-normal law through the printed median and 90th percentile. Of those that failed some passed
    in the end: as many as are left when the unsuccessful ones are taken away.
    """
    rows = table_7()
    failed = sum(r.jobs for r in rows)
    trials_of = np.array([(r.gpus_1, r.gpus_2_4, r.gpus_over_4) for r in rows], float)
    jobs = trials_of * np.array([[r.jobs / r.trials] for r in rows])
    widths = [np.log(r.rtf_p90_min / r.rtf_p50_min) / 1.2816 for r in rows]
    done = []
    for spec in specs:
        if rng.random() >= failed / STUDY_JOBS:
            done.append(spec)
            continue
        demand = next(
            i for i, b in enumerate(DEMAND_BUCKETS) if b.high is None or spec.gpus <= b.high
        )
        share = jobs[:, demand] / jobs[:, demand].sum()
        at = int(rng.choice(len(rows), p=share))
        row = rows[at]
        tries = int(rng.geometric(row.jobs / row.trials))
        run_s = 60 * row.rtf_p50_min * np.exp(widths[at] * rng.standard_normal(tries))
        failures = tuple(
            AttemptSpec(max(float(s), 1.0), "failed", failure=row.reason) for s in run_s
        )
        in_the_end = rng.random() >= STUDY_UNSUCCESSFUL / failed
        done.append(
            replace(
                spec,
                attempts=(*failures, *spec.attempts) if in_the_end else failures,
                status=(spec.status or PASS) if in_the_end else FAILED,
            )
        )
    return done
