"""Add the failures of the study's Tables 6 and 7 to jobs that never fail."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from philly_analysis.study import DEMAND_BUCKETS, FAILED, PASS, table_7
from philly_analysis.workload import AttemptSpec, JobSpec

STUDY_JOBS = 96_260
"""Jobs in the study's Table 6."""

STUDY_UNSUCCESSFUL = 16_568
"""Jobs that ended unsuccessful in the study's Table 6."""


def with_study_failures(specs: Sequence[JobSpec], rng: np.random.Generator) -> list[JobSpec]:
    """Return jobs with failures drawn from the study's Tables 6 and 7.

    The share of jobs that fail, the mix of reasons by gang size and the number of trials are the
    study's. Run times to failure are log-normal with the study's median and 90th percentile. The
    share of failed jobs that pass in the end is one minus the share that end unsuccessful.
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
