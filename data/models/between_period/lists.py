"""Lists of jobs of several windows, by name: where they are, and what each is used for."""

from pathlib import Path

import numpy as np
import pandas as pd

from data.models.extracts import EXTRACTS, TRACES, observed
from philly_analysis.models import Observations

MORE = {
    "helios-15k": ("helios-2020/helios_data_training.csv.gz", "helios-15k"),
    "bluewaters": ("bluewaters", "blue-waters-15k"),
    "philly-15k": ("philly-first-15k-attempts", "philly-first-15k"),
}
"""Lists of jobs without a shipped model, as `data.models.extracts.EXTRACTS`."""

UNSEEN = {
    "itp-03": ("itp-2021/cluster03.csv.gz", "itp-2021"),
    "itp-09": ("itp-2021/cluster09.csv.gz", "itp-2021"),
    "philly-multigpu": ("philly-multigpu-jobs", ""),
}
ALCF = ("theta", "mira")
"""Supercomputers without GPUs, beside ThetaGPU in DIR-LAB/lumos: gangs are of servers."""
SDSC = "sdsc-1995"
"""A supercomputer without GPUs; gangs are of processors."""
ARCHIVE = {
    "nasa-1993": "NASA-iPSC-1993-3.1-cln.swf",
    "kth-1996": "KTH-SP2-1996-2.1-cln.swf",
    "sdsc-blue-2000": "SDSC-BLUE-2000-4.2-cln.swf",
    "hpc2n-2002": "HPC2N-2002-2.1-cln.swf",
    "thunder-2007": "LLNL-Thunder-2007-1.1-cln.swf",
    "metacentrum-2009": "METACENTRUM-2009-2.swf",
    "ricc-2010": "RICC-2010-2.swf",
    "curie-2011": "CEA-Curie-2011-2.1-cln.swf",
}
"""Lists of supercomputers without GPUs, gzipped: gangs are of processors.

The lists are of the Parallel Workloads Archive (D. G. Feitelson, D. Tsafrir, D. Krakov, "Experience
with using the Parallel Workloads Archive", JPDC 2014).
"""

OF_GPUS = tuple(name for name in {**EXTRACTS, **MORE} if name != "itp-10")
"""No window of cluster 10 has enough jobs."""
HELD_OUT = (*UNSEEN, *ALCF, SDSC)
DEVELOPED_ON = (*OF_GPUS, *ARCHIVE)
ALL = (*OF_GPUS, *HELD_OUT, *ARCHIVE)
"""All lists; the place of a list determines its seeds."""
LISTS = tuple(name for name in ALL if name != "philly-attempts")
"""All lists without duplicates."""
SITES = {
    "ITP": tuple(name for name in ALL if name.startswith("itp-")),
    "Philly": tuple(name for name in ALL if name.startswith("philly-")),
    "ALCF": ("thetagpu", *ALCF),
    "openb": ("openb",),
    "MIT SuperCloud": ("supercloud",),
    "Helios": ("helios-15k",),
    "Blue Waters": ("bluewaters",),
    "SDSC": (SDSC, "sdsc-blue-2000"),
    "NASA": ("nasa-1993",),
    "KTH": ("kth-1996",),
    "HPC2N": ("hpc2n-2002",),
    "LLNL": ("thunder-2007",),
    "METACENTRUM": ("metacentrum-2009",),
    "RICC": ("ricc-2010",),
    "CEA": ("curie-2011",),
}
"""Lists by site; clusters of one site are correlated."""
SITE = {name: site for site, names in SITES.items() for name in names}
PAIRS = 3
"""Most pairs of windows of a list and length."""
SEEDS = 10_000
"""Distance between the first seeds of lists."""
WEEK_S = 7 * 86_400


def first_seed(name: str) -> int:
    """Return the first seed of a list."""
    return ALL.index(name) * SEEDS


def in_use(data: Observations) -> Observations:
    """Return jobs from the first week with at least half of the mean jobs per week."""
    at = data.jobs["submitted_s"].to_numpy(float)
    week = ((at - at[0]) // WEEK_S).astype(int)
    jobs = np.bincount(week)
    return data.where(week >= np.argmax(jobs >= jobs.mean() / 2))


def standard(name: str, path: Path) -> Observations:
    """Return the jobs with a run time of a list in the Standard Workload Format."""
    fields = {1: "submitted", 3: "run_s", 4: "processors", 11: "user"}
    frame = pd.read_csv(
        path, sep=r"\s+", comment=";", header=None, usecols=list(fields), encoding="latin-1"
    ).rename(columns=fields)
    ran = frame.query("run_s > 0 and processors > 0").sort_values("submitted", kind="stable")
    ran = ran.reset_index(drop=True)
    return Observations.of_jobs(
        name, ran["submitted"], ran["processors"], ran["run_s"], user=ran["user"].astype(str)
    )


def listed(name: str) -> Observations:
    """Return the jobs of a list."""
    if name in ARCHIVE:
        return standard(name, TRACES / "parallel-workloads" / f"{ARCHIVE[name]}.gz")
    if name == SDSC:
        frame = pd.read_csv(TRACES / "gen-parallel-workloads" / "SDSC_95.csv")
        number, run_s = frame["Number_of_Allocated_Processors"], frame["Run_Time"]
        recorded_s = run_s.where(run_s >= 0)
        return Observations.of_jobs(
            name, frame["Interval"].cumsum(), number.astype(int), recorded_s
        )
    if name not in ALCF:
        return observed(name, {**EXTRACTS, **MORE, **UNSEEN})
    frame = pd.read_csv(TRACES / "lumos" / f"data_{name}.csv")
    return Observations.of_jobs(
        name,
        frame["submit_time"],
        frame["node_num"].astype(int),
        frame["run_time"],
        vc=frame["project"].astype(str),
        user=frame["user"].astype(str),
        status=frame["new_status"],
    )
