"""Published parameters of the Philly study that the synthetic sample is drawn from.

Sources: [paper] M. Jeon et al., "Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN
Training Workloads", USENIX ATC 2019; [notebook] figures of the analysis notebook of the public
archive (msr-fiddle/philly-traces), read off its images; [log] counts that others computed from
the public job log.
"""

from philly_analysis.simulator.samples import PublishedMeans

# [paper, Table 6] jobs 69.3 / 13.5 / 17.2 %, GPU time 44.5 / 37.7 / 17.8 %: killed jobs are long,
# so the shares are split between the shorter 85 % of jobs and the longest 15 %
STATUSES = ("Pass", "Killed", "Failed")
STATUS_SHORT = (0.730, 0.100, 0.170)
STATUS_LONG = (0.485, 0.333, 0.182)
LONG_FROM = 0.85

# [log] 1.36 attempts per job; retries grow with the gang [paper, Figure 9, shape only]
RETRY_PROBABILITY = {
    "Pass": {"1": 0.10, "2-4": 0.16, "5-8": 0.20, ">8": 0.28},
    "Killed": {"1": 0.10, "2-4": 0.18, "5-8": 0.22, ">8": 0.30},
    "Failed": {"1": 0.58, "2-4": 0.64, "5-8": 0.68, ">8": 0.72},
}
MOST_ATTEMPTS = 4
# [paper, Table 7] run time to failure: medians of most reasons 1 to 13 minutes, long tails
FAILURE_MEDIAN_MIN, FAILURE_SIGMA = 2.0, 1.6

NO_ATTEMPT_FRAC = 0.045  # [log] 5,236 of 117,325 jobs
NO_START_FRAC = 0.001  # [log] 136 of 151,816 attempts
NO_END_FRAC = 0.01  # [log] 6,695 attempts have no end, those still running included

# [notebook, Figure 3] in most virtual clusters half the one-GPU jobs start within a minute or so
START_UP_MEDIAN_S, START_UP_SIGMA = 25.0, 1.3

# [notebook, Figure 7] host memory in use; CPU has a median of 15 % over all machines, 22 % over
# those with a job (the paper's curve, which counts those, has 29 %)
MEM_CDF_PCT = (0, 1, 5, 10, 20, 25, 30, 40, 50, 60, 70, 80, 100)
MEM_USED_PCT = (30, 36.1, 59.5, 67.3, 76.8, 80.4, 83.8, 89.7, 94.7, 98.1, 99.2, 99.5, 99.7)
CPU_BUSY_MEDIAN_PCT, CPU_BUSY_SIGMA = 22.0, 0.5


def gang_bucket(gpus: int) -> str:
    """Return the study's gang-size bucket."""
    return "1" if gpus == 1 else "2-4" if gpus <= 4 else "5-8" if gpus <= 8 else ">8"


# [paper, Tables 3 and 5] mean utilisation by size, status and spread; the spread of jobs and of
# their minutes is such that percentiles of [notebook, Figure 5] are met to 4 points on average
UTILISATION = PublishedMeans(between=4.0, within=0.8)
