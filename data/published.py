"""Published parameters of the Philly study that the synthetic sample is drawn from.

Sources: [paper] M. Jeon et al., "Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN
Training Workloads", USENIX ATC 2019; [notebook] figures of the analysis notebook of the public
archive (msr-fiddle/philly-traces), read off its images; [log] counts that others computed from
the public job log. The run-time and utilisation curves are cumulative distributions.
"""

import numpy as np

# [log] attempts by gang size, gangs above 32 and rare odd sizes left out (a small cluster)
GANG_ATTEMPTS = {2: 3435, 4: 11957, 6: 2, 7: 3, 8: 11676, 12: 17, 16: 1910, 24: 119, 32: 333}

# [log] the eight largest virtual clusters: jobs, mean GPUs per job, 99th percentile of GPUs held
VCS = (
    (51_980, 1.146, 397),
    (19_401, 1.316, 157),
    (15_014, 1.536, 258),
    (9_264, 2.068, 292),
    (5_859, 5.695, 471),
    (2_781, 2.008, 52),
    (2_715, 2.004, 236),
    (1_507, 4.941, 231),
)
VC_LARGEST_GANG = (16, 32, 32, 32, 32, 4, 8, 32)  # [log], cut at 32

# [notebook, Figure 2] run time in minutes by gang size
RUN_TIME_CDF_PCT = (1, 5, 10, 20, 25, 30, 40, 50, 60, 70, 75, 80, 90, 95, 99)
RUN_TIME_MIN = {
    "1": (0.241, 0.714, 0.972, 1.24, 2.14, 3.96, 10.6, 20, 32.5, 45.6, 65.9, 94.5, 260, 799, 8863),
    "2-4": (0.136, 0.233, 0.328, 0.621, 1.53, 3.09, 13.2, 32.4, 218, 653, 1093, 1534, 3630, 7192),
    "5-8": (0.217, 0.676, 1.38, 8.18, 14.6, 21.3, 67.1, 209, 458, 1268, 1862, 2892, 6016),
    ">8": (0.232, 0.607, 0.853, 4.45, 9.68, 16.4, 41.4, 141, 288, 717, 931, 1259, 3105, 6219),
}

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

# [paper, section 3] a gang holds what it got for up to 3 minutes, backs off for about 2, asks
# again, and accepts more servers; the notebook's delay curves step at 3.0-3.3 minutes
HOLD_S, BACK_OFF_S = 180, 120
# [notebook, Figure 3] in most virtual clusters half the one-GPU jobs start within a minute or so
START_UP_MEDIAN_S, START_UP_SIGMA = 25.0, 1.3

# [notebook, Figure 5] GPU utilisation per minute by status and gang size
UTIL_CDF_PCT = (20, 25, 30, 40, 50, 60, 70, 75, 80, 90, 95, 99)
UTIL_ZERO_PCT = {
    "Pass": {"1": 28.5, "2-4": 26.8, "5-8": 19.5, ">8": 24.3},
    "Killed": {"1": 47.0, "2-4": 44.4, "5-8": 21.7, ">8": 41.5},
    "Failed": {"1": 23.5, "2-4": 21.4, "5-8": 20.8, ">8": 33.3},
}
UTIL_PCT = {
    "Pass": {
        "1": (0, 0, 4.1, 30.5, 56.2, 73.2, 84.8, 88.8, 91.5, 98, 99.8, 100),
        "2-4": (0, 0, 5.0, 32, 53, 69.9, 83.2, 87.5, 90.7, 96.4, 98.6, 99.8),
        "5-8": (0.7, 6.3, 14.7, 34.1, 53, 71.9, 86.8, 90, 92.9, 98, 99.3, 100),
        ">8": (0, 0.8, 7.5, 27.8, 46.7, 64.8, 82.1, 87.2, 91.8, 93, 98.1, 100),
    },
    "Killed": {
        "1": (0, 0, 0, 0, 10, 45, 66.4, 74.6, 82.8, 96.1, 99, 100),
        "2-4": (0, 0, 0, 0, 25.6, 44.2, 54.2, 58.6, 64.4, 78.3, 92.7, 99.8),
        "5-8": (0, 10, 28.3, 54.2, 77, 93, 98.3, 99, 99.3, 100, 100, 100),
        ">8": (0, 0, 0, 0, 13.4, 38.5, 63.3, 74.8, 86.7, 99.2, 100, 100),
    },
    "Failed": {
        "1": (0, 7.1, 32.8, 65.7, 81.6, 90.6, 96, 98, 99.1, 100, 100, 100),
        "2-4": (0, 8.8, 23.7, 40.6, 49.1, 57.5, 72.8, 82.9, 90.1, 97, 98.4, 100),
        "5-8": (0, 13.3, 30.9, 59.9, 84, 96.1, 98, 98.6, 99, 99.8, 100, 100),
        ">8": (0, 0, 0, 9.8, 30.1, 49.4, 68.5, 78.4, 85, 95.1, 99.6, 100),
    },
}
# [paper, Table 5] mean utilisation of 16-GPU jobs on 2, 4 and 8 servers: 43.66, 40.94, 28.56 %
SPREAD_FACTOR = {1: 1.0, 2: 40.94 / 43.66, 4: 28.56 / 43.66}

# [notebook, Figure 7] host memory in use; CPU has a median of 15 % over all machines, 22 % over
# those with a job (the paper's curve, which counts those, has 29 %)
MEM_CDF_PCT = (0, 1, 5, 10, 20, 25, 30, 40, 50, 60, 70, 80, 100)
MEM_USED_PCT = (30, 36.1, 59.5, 67.3, 76.8, 80.4, 83.8, 89.7, 94.7, 98.1, 99.2, 99.5, 99.7)
CPU_BUSY_MEDIAN_PCT, CPU_BUSY_SIGMA = 22.0, 0.5


def gang_bucket(gpus: int) -> str:
    """Return the study's gang-size bucket."""
    return "1" if gpus == 1 else "2-4" if gpus <= 4 else "5-8" if gpus <= 8 else ">8"


def run_time_s(u: float, gpus: int, longest_s: float) -> float:
    """Return the run time at a quantile of the gang's curve, cut at the longest allowed."""
    minutes = RUN_TIME_MIN[gang_bucket(gpus)]
    quantiles = (0.0, *RUN_TIME_CDF_PCT[: len(minutes)], 100.0)
    log_s = np.log(60.0 * np.array((0.1, *minutes, 6e4)))
    return min(float(np.exp(np.interp(100 * u, quantiles, log_s))), longest_s)


def util_pct(u: np.ndarray, status: str, gpus: int) -> np.ndarray:
    """Return GPU utilisation at quantiles of the curve of a status and gang size."""
    bucket = gang_bucket(gpus)
    zero = UTIL_ZERO_PCT[status][bucket]
    points = [(q, v) for q, v in zip(UTIL_CDF_PCT, UTIL_PCT[status][bucket], strict=True) if v > 0]
    points = [p for p in points if p[0] > zero]
    quantiles, values = zip((0, 0.0), (zero, 0.0), *points, (100, 100.0), strict=True)
    return np.interp(100 * u, quantiles, values)
