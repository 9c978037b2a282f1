"""List the claims: findings of the study that can be tested on any cluster, by chapter."""

from philly_analysis.atlas.claim import Claim, Published
from philly_analysis.atlas.measures import (
    cost_ratio,
    day_ratio,
    median_of,
    ratio_of_shares,
    share_of,
    spread_minus_packed,
    top_tenth_of,
)
from philly_analysis.study import FAILED, GANGS, LARGE_GANGS, LARGE_GPUS, numbers

_ATC = "ATC'19"
_WAITS = frozenset({"attempts"})
_QUEUE = frozenset({"status", "gang", "run_time", "tails", "attempts"})
_ANY = _QUEUE | {"window"}
_COST = frozenset({"status", "gang", "run_time", "tails"})
_LARGE = f"gangs of at least {LARGE_GPUS} GPUs"
_LOWER_BOUND = (
    "Only the lower end of the interval is from the bootstrap, which has no heavier rows than the "
    "heaviest observed. So this claim can hold or be undecided, and no sample shows that it does "
    "not hold."
)


def _value(analysis: str, fact: str) -> float:
    return numbers()[analysis, fact].published


def _published(analysis: str, fact: str, text: str) -> Published:
    """Return a number that the study prints, with its source."""
    source, _, known = numbers()[analysis, fact].source.rstrip(")").partition(" (")
    return Published(text, source, known, _value(analysis, fact))


QUEUEING = (
    Claim(
        name="waits_rise_with_gangs",
        title="Larger gangs wait longer",
        question=f"The share of waits of at least ten minutes, {_LARGE} over single GPUs. Time on "
        "hold is not part of a wait. Retries count, from the end of the attempt before.",
        published=Published(
            "In one of the largest virtual clusters 25 % of jobs on more than four GPUs wait for "
            "at least ten minutes, and 10 % of those on one.",
            f"{_ATC}, section 3.1",
            "recalled and unchecked",
            2.5,
        ),
        needs=("gangs", "starts"),
        measure=ratio_of_shares(
            "long_waits",
            "waits",
            "gang",
            ("of large gangs", LARGE_GANGS),
            ("of 1 GPU", GANGS[:1]),
            counted=("waits {}", "long waits {}"),
        ),
        effect="share of long waits, large gangs over single GPUs",
        threshold=1,
        label="waits of at least 10 min, by GPUs",
        invalid_for=_WAITS,
        biased_by=_QUEUE - _WAITS,
        caveat="Gangs of different sizes may be submitted at different times to different queues.",
    ),
    Claim(
        name="fragmentation_delays_most",
        title="Fragmentation delays more than fair share does",
        question="The share of fragmentation delay in fair-share and fragmentation delay: waiting "
        "time over the quota of the virtual cluster, or within it while the gang does not fit on "
        "the fewest machines. Only for given quotas: they are not identifiable from use, and an "
        "estimate decides the answer.",
        published=_published(
            "delay_causes",
            "fragmentation_time_pct",
            "Fragmentation is some 80 % of the delay; by count, 70 % of Table 2.",
        ),
        needs=("placements", "machines", "given_quotas", "vcs", "starts"),
        measure=share_of("fragmentation_s", "decided_s", "waits", counts="waits"),
        effect="fragmentation delay in waiting time of known cause",
        threshold=50,
        label="fragmentation delay, by GPUs",
        invalid_for=_QUEUE,
        caveat="Waiting time of neither cause is excluded.",
    ),
    Claim(
        name="starts_out_of_order",
        title="Starts out of order are common",
        question="The share of starts that overtake an attempt which arrived earlier in the same "
        "virtual cluster and still waits. Common: more than one start in ten.",
        published=_published(
            "out_of_order", "out_of_order_pct", "38.1 % of scheduling decisions are out of order."
        ),
        needs=("vcs", "starts"),
        measure=share_of("overtook", "starts", "starts"),
        effect="out-of-order starts",
        threshold=10,
        label="out-of-order starts, by GPUs",
        invalid_for=_QUEUE,
        caveat="A virtual cluster is what the trace calls one: a queue, partition or project. The "
        "study counts decisions, a log has starts.",
    ),
    Claim(
        name="out_of_order_is_harmless",
        title="Starts out of order are mostly harmless",
        question="The share of out-of-order starts at which the overtaken gang could not have been "
        "placed on the fewest machines that hold it.",
        published=_published(
            "out_of_order",
            "harmless_5_8_pct",
            "85 % of the out-of-order starts that overtake gangs of 5 to 8 GPUs use GPUs that "
            "those could not have used.",
        ),
        needs=("placements", "machines", "vcs", "starts"),
        measure=share_of("harmless", "overtakings", "overtakings"),
        effect="harmless out-of-order starts",
        threshold=50,
        label="harmless, by GPUs of the overtaken",
        invalid_for=_QUEUE,
        caveat="From free GPUs alone: a quota may have delayed the overtaken attempt as well.",
    ),
)

LOCALITY = (
    Claim(
        name="gpus_are_used_little",
        title="Allocated GPUs are far from busy",
        question="Mean utilisation of the GPUs of jobs over all sampled minutes. Far from busy: "
        "below two thirds.",
        published=_published(
            "gpu_util", "mean_all_all_pct", "The mean is 52.3 %, over the minutes of all jobs."
        ),
        needs=("placements", "machines", "gpu_samples"),
        measure=share_of(
            "sum_pct", "minutes", "attempts with a reading", counts="attempts", scale=1
        ),
        effect="mean utilisation of allocated GPUs",
        threshold=200 / 3,
        above=False,
        label="mean utilisation, by GPUs",
        of_users=True,
        biased_by=_ANY,
        caveat="Utilisation is the share of time with a running kernel, not of a GPU's capacity.",
    ),
    Claim(
        name="spread_gangs_use_less",
        title="Gangs spread over more servers use their GPUs less",
        question="Mean utilisation of gangs on more servers than the fewest that hold them, minus "
        "that of packed gangs, within gang size and status, weighted by the minutes of spread "
        "gangs.",
        published=Published(
            "Gangs of 16 GPUs use 43.7 % of them on two servers and 28.6 % on eight.",
            f"{_ATC}, Table 5",
            "read from the table",
            _value("gpu_util_by_servers", "mean_16_on_8_pct")
            - _value("gpu_util_by_servers", "mean_16_on_2_pct"),
        ),
        relation="locality_effect",
        needs=("placements", "machines", "gpu_samples"),
        measure=spread_minus_packed(),
        effect="utilisation, spread minus packed gangs",
        threshold=0,
        above=False,
        label="mean utilisation, GPU-minutes",
        of_users=True,
        biased_by=_ANY,
        caveat="Not an experiment: schedulers choose which gangs to spread. The bars are raw "
        "means, the effect is adjusted for gang size and status.",
    ),
    Claim(
        name="large_gangs_are_spread",
        title="Locality is relaxed for large gangs",
        question=f"The share of attempts of {_LARGE} on more servers than the fewest that hold "
        "them. Relaxed: for more than one in ten.",
        published=Published(
            "Gangs of 5 to 8 GPUs run on one or two servers, larger ones on 2, 4, 8 or 16.",
            f"{_ATC}, Figure 4",
            "read off the figure",
        ),
        needs=("placements", "machines"),
        measure=share_of(
            "spread", "attempts", "attempts of large gangs", GANGS[1:], among=LARGE_GANGS
        ),
        effect="spread attempts of large gangs",
        threshold=10,
        label="on more servers than needed, by GPUs",
        of_users=True,
        biased_by=_ANY,
        caveat="The fewest servers are computed for the largest machines, if they were empty.",
    ),
)

WORKLOAD = (
    Claim(
        name="jobs_are_short",
        title="Most jobs are short",
        question="Median run time of jobs on GPUs, with running jobs as longer. Short: below an "
        "hour.",
        published=Published(
            "Run times span minutes to weeks; in the archive's notebook half of the jobs on one "
            "GPU end within about 19 minutes.",
            f"{_ATC}, Figure 2",
            "read off the figure",
        ),
        needs=("run_times",),
        measure=median_of("run_s", "jobs"),
        effect="median run time",
        threshold=3600,
        above=False,
        label="jobs that end within",
        of_users=True,
        invalid_for=frozenset({"gang", "run_time"}),
        biased_by=frozenset({"status", "tails", "attempts", "window"}),
    ),
    Claim(
        name="gpu_time_is_in_few_jobs",
        title="Few jobs use most GPU time",
        question="GPU time of the tenth of jobs with most of it. Most: more than half.",
        published=Published(
            "The study prints no such share; about 0.5 % of its jobs run for longer than a week.",
            f"{_ATC}, section 3",
            "recalled and unchecked",
        ),
        needs=("gangs", "run_times"),
        measure=top_tenth_of("gpu_h", "jobs"),
        effect="GPU time of the top tenth of jobs",
        threshold=50,
        label="cumulative GPU time, most costly jobs first",
        of_users=True,
        invalid_for=_COST,
        biased_by=_ANY - _COST,
        caveat=_LOWER_BOUND,
    ),
    Claim(
        name="gpu_time_is_of_few_users",
        title="Few users use most GPU time",
        question="GPU time of the tenth of users with most of it. Most: more than half.",
        published=Published(
            "The study names hundreds of users and prints no share of theirs.",
            f"{_ATC}, section 2",
            "quoted by others",
        ),
        needs=("users", "gangs", "run_times"),
        measure=top_tenth_of("gpu_h", "users"),
        effect="GPU time of the top tenth of users",
        threshold=50,
        label="cumulative GPU time, most costly users first",
        of_users=True,
        invalid_for=_COST,
        biased_by=_ANY - _COST,
        caveat=_LOWER_BOUND,
    ),
    Claim(
        name="load_follows_the_day",
        title="Load follows the day",
        question="Jobs submitted in the busiest third of the day over those in the quietest. "
        "The thirds are found on every other day and counted on the days between, so that the "
        "ratio is one by chance alone.",
        published=Published("The study prints no figure of it.", _ATC, "nothing printed"),
        needs=("jobs",),
        measure=day_ratio(),
        effect="busiest over quietest third of the day",
        threshold=1,
        label="jobs per hour over their mean, by hour",
        biased_by=_ANY,
        caveat="Hours are those of the trace's clock, which for some is shifted or begins at an "
        "unknown time of day: the shape can be compared, not the hour.",
    ),
)

FAILURES = (
    Claim(
        name="unsuccessful_jobs_cost_most",
        title="Jobs that do not pass use more than their share",
        question="Their share of GPU time over their share of jobs: those killed or failed.",
        published=Published(
            "30.7 % of jobs do not pass; they use 55 % of the GPU time.",
            f"{_ATC}, Table 6",
            "read from the table",
            (100 - _value("job_status", "gpu_h_Pass_pct"))
            / (100 - _value("job_status", "jobs_Pass_pct")),
        ),
        needs=("statuses", "gangs", "run_times"),
        measure=cost_ratio(),
        effect="share of GPU time over share of jobs",
        threshold=1,
        label="share that did not pass",
        of_users=True,
        invalid_for=_QUEUE,
        biased_by=_ANY - _QUEUE,
        caveat="As few jobs use most GPU time, the interval covers the effect in nine of ten "
        "samples rather than nineteen of twenty; otherwise it is too low.",
    ),
    Claim(
        name="large_gangs_fail_more",
        title="Larger gangs fail more",
        question=f"The share of jobs that end unsuccessful, {_LARGE} over single GPUs; killed jobs "
        "are not failures.",
        published=Published(
            "Retries and unsuccessful jobs both grow with the GPUs of a job.",
            f"{_ATC}, Figure 9",
            "recalled and unchecked",
        ),
        needs=("statuses", "gangs"),
        measure=ratio_of_shares(
            "failed",
            "jobs",
            "gang",
            ("large gangs", LARGE_GANGS),
            ("jobs of 1 GPU", GANGS[:1]),
            counted=("{}", "failures of {}"),
        ),
        effect="unsuccessful share, large gangs over single GPUs",
        threshold=1,
        label="unsuccessful, by GPUs",
        of_users=True,
        invalid_for=frozenset({"status", "run_time", "attempts"}),
        biased_by=frozenset({"tails", "window"}),
    ),
    Claim(
        name="failures_repeat",
        title="Failures repeat",
        question="The share of jobs that end unsuccessful where the same user's submission before "
        "did, over that where it did not.",
        published=Published(
            "The eight most frequent reasons occur 2.3 times per affected job and 38.8 times per "
            "affected user.",
            f"{_ATC}, section 4.2",
            "quoted by others; it agrees with Table 7",
        ),
        needs=("statuses", "users"),
        measure=ratio_of_shares(
            "failed",
            "jobs",
            "after_failure",
            ("after a failure", (True,)),
            ("after other jobs", (False,)),
            {"passed or killed": False, "failed": True},
            counted=("jobs {}", "failures {}"),
        ),
        effect="unsuccessful share, after a failure over otherwise",
        threshold=1,
        label=f"{FAILED.lower()}, by the job before",
        of_users=True,
        invalid_for=frozenset({"status", "gang", "run_time", "attempts"}),
        biased_by=frozenset({"tails", "window"}),
        caveat="By job and user, as traces without failure output allow; the study counts by "
        "reason. A user with many failures repeats them as much as a persistent fault.",
    ),
    Claim(
        name="failures_come_early",
        title="Most failures come early",
        question="Median run time of the last attempt of unsuccessful jobs. Early: below ten "
        "minutes.",
        published=Published(
            "For 13 of 22 reasons half of the failures come within 1.7 minutes; failures of the "
            "infrastructure are rare and late.",
            f"{_ATC}, Table 7",
            "read from the table",
        ),
        needs=("statuses", "run_times"),
        measure=median_of("run_s", "unsuccessful jobs"),
        effect="median run time to failure",
        threshold=600,
        above=False,
        label="unsuccessful jobs that end within",
        of_users=True,
        invalid_for=frozenset({"run_time"}),
        biased_by=_ANY - {"run_time"},
    ),
)

CHAPTERS: dict[str, tuple[Claim, ...]] = {
    "Queueing": QUEUEING,
    "Locality and utilisation": LOCALITY,
    "Workload": WORKLOAD,
    "Failures": FAILURES,
}
"""Every claim, in the chapters and the order of the page."""

CLAIMS: dict[str, Claim] = {c.name: c for some in CHAPTERS.values() for c in some}
"""Every claim by name."""
