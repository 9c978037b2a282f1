"""The claims: the findings of the study that can be asked of any cluster, by chapter."""

import pandas as pd

from philly_analysis.atlas import statistics
from philly_analysis.atlas.claim import Claim, Printed, Sides
from philly_analysis.study import FAILED, GANGS, LARGE_GANGS, LARGE_GPUS, PASS, STATUSES, numbers

_ATC = "ATC'19"
_WAITED = frozenset({"attempts"})
_QUEUE = frozenset({"status", "gang", "run_time", "tails", "attempts"})
_ANY = frozenset({"status", "gang", "run_time", "tails", "attempts", "window"})
_LARGE = f"gangs of {LARGE_GPUS} GPUs or more"
_LOWER_END = (
    "Only the lower end of the interval comes from drawings: they know none heavier than the "
    "heaviest seen. So this claim can hold or stay open, and no sample says that it does not hold."
)
_GANGS_OF_SEVERAL = GANGS[1:]


def _number(analysis: str, fact: str, text: str) -> Printed:
    """Return a number that the study prints, from where all of them stand."""
    found = numbers()[analysis, fact]
    source, _, known = found.source.rstrip(")").partition(" (")
    return Printed(text, source, known, found.published)


def _passed(analysis: str, fact: str) -> float:
    return 100 - numbers()[analysis, fact].published


def _among(column: str, by: str, **groups: tuple[object, ...]) -> Sides:
    """Return the sides of a comparison: a column's counts, by group."""

    def sides(rows: pd.DataFrame) -> "dict[str, pd.Series[float]]":
        return {
            words.replace("_", " "): rows[column].where(rows[by].isin(some), 0)
            for words, some in groups.items()
        }

    return sides


def _all(words: str, column: str = "") -> Sides:
    """Return the one side of what compares nothing: a column's counts, or each row as one."""

    def sides(rows: pd.DataFrame) -> "dict[str, pd.Series[float]]":
        return {words: rows[column] if column else pd.Series(1, rows.index)}

    return sides


QUEUEING = (
    Claim(
        name="waits_rise_with_gangs",
        title="Larger gangs wait longer",
        asked=f"The share of waits of ten minutes or more, {_LARGE} over single GPUs. Time on "
        "hold is no wait. Retries wait too: since the end of the attempt before.",
        printed=Printed(
            "In one of the largest virtual clusters 25 % of jobs on more than four GPUs wait for "
            "at least ten minutes, and 10 % of those on one.",
            f"{_ATC}, section 3.1",
            "recalled and unchecked",
            2.5,
        ),
        relation="waits_rise_with_gangs",
        needs=("gangs", "starts"),
        statistic=statistics.share_ratio("long_waits", "waits", "gang", LARGE_GANGS, GANGS[:1]),
        effect="share of long waits, large gangs over single GPUs",
        unit="times",
        threshold=1,
        above=True,
        sides=_among("waits", "gang", waits_of_large_gangs=LARGE_GANGS, waits_of_1_GPU=GANGS[:1]),
        events=_among(
            "long_waits",
            "gang",
            long_waits_of_large_gangs=LARGE_GANGS,
            long_waits_of_1_GPU=GANGS[:1],
        ),
        panel=statistics.bars("long_waits", "waits", "gang", GANGS),
        shape="bars",
        label="waits of 10 min or more, by GPUs",
        of_users=False,
        spoiled_by=_WAITED,
        bent_by=_QUEUE - _WAITED,
        caveat="Gangs of different sizes may ask at different times, of different queues.",
    ),
    Claim(
        name="fragmentation_delays_most",
        title="Fragmentation delays more than fair share does",
        asked="The part of fragmentation in the time that waits pass for either reason: over the "
        "quota of the virtual cluster, or within it without room for the gang on the fewest "
        "machines. Only where quotas are given: from use alone they are not identifiable, and an "
        "estimate decides the answer.",
        printed=_number(
            "delay_causes",
            "fragmentation_time_pct",
            "Fragmentation makes up some 80 % of the delay; by count, 70 % of Table 2.",
        ),
        relation="fragmentation_delays_most",
        needs=("placements", "machines", "given_quotas", "vcs", "starts"),
        statistic=lambda rows, r: statistics.share("fragmentation_s", "decided_s")(
            rows.assign(decided_s=rows["fragmentation_s"] + rows["fair_share_s"]), r
        ),
        effect="fragmentation in the time of decided waits",
        unit="%",
        threshold=50,
        above=True,
        sides=_all("waits", "waits"),
        panel=lambda rows: statistics.bars("fragmentation_s", "decided_s", "gang", GANGS)(
            rows.assign(decided_s=rows["fragmentation_s"] + rows["fair_share_s"])
        ).assign(n=rows.groupby("gang")["waits"].sum().reindex(list(GANGS)).fillna(0).to_numpy()),
        shape="bars",
        label="fragmentation in decided waiting, by GPUs",
        of_users=False,
        spoiled_by=_QUEUE,
        caveat="Waiting that neither explains is left out.",
    ),
    Claim(
        name="starts_out_of_order",
        title="Starts out of order are common",
        asked="The share of starts that overtake an attempt which arrived earlier in the same "
        "virtual cluster and waits on. Common: more than one start in ten.",
        printed=_number(
            "out_of_order", "out_of_order_pct", "38.1 % of scheduling decisions are out of order."
        ),
        relation="starts_out_of_order",
        needs=("vcs", "starts"),
        statistic=statistics.share("overtook", "starts"),
        effect="starts that overtook",
        unit="%",
        threshold=10,
        above=True,
        sides=_all("starts", "starts"),
        panel=statistics.bars("overtook", "starts", "gang", GANGS),
        shape="bars",
        label="starts that overtook, by GPUs",
        of_users=False,
        spoiled_by=_QUEUE,
        caveat="A virtual cluster is what the trace calls one: a queue, partition or project. The "
        "study counts decisions, a log shows starts.",
    ),
    Claim(
        name="out_of_order_is_harmless",
        title="Starts out of order are mostly harmless",
        asked="The share of overtakings at which the GPUs then free, those of the start included, "
        "gave the overtaken gang no room on the fewest machines that hold it.",
        printed=_number(
            "out_of_order",
            "harmless_5_8_pct",
            "85 % of the overtakings of gangs of 5 to 8 GPUs use GPUs that those could not have "
            "used.",
        ),
        relation="out_of_order_is_harmless",
        needs=("placements", "machines", "vcs", "starts"),
        statistic=statistics.share("harmless", "overtakings"),
        effect="harmless overtakings",
        unit="%",
        threshold=50,
        above=True,
        sides=_all("overtakings", "overtakings"),
        panel=statistics.bars("harmless", "overtakings", "gang", GANGS),
        shape="bars",
        label="harmless, by GPUs of the overtaken",
        of_users=False,
        spoiled_by=_QUEUE,
        caveat="Judged by room alone: a quota might have kept the overtaken attempt waiting too.",
    ),
)

LOCALITY = (
    Claim(
        name="gpus_are_used_little",
        title="GPUs that are held are far from busy",
        asked="Mean utilisation of the GPUs that jobs hold, every minute with a reading alike. "
        "Far from busy: below two thirds.",
        printed=_number("gpu_util", "mean_all_all_pct", "The mean is 52.3 %, minutes of all jobs."),
        relation="gpus_are_used_little",
        needs=("placements", "machines", "gpu_samples"),
        statistic=statistics.share("sum_pct", "minutes", 1),
        effect="mean utilisation of held GPUs",
        unit="%",
        threshold=200 / 3,
        above=False,
        sides=_all("attempts with a reading", "attempts"),
        panel=lambda rows: statistics.bars("sum_pct", "minutes", "gang", GANGS, 1)(rows).assign(
            n=rows.groupby("gang")["attempts"].sum().reindex(list(GANGS)).fillna(0).to_numpy()
        ),
        shape="bars",
        label="mean utilisation, by GPUs",
        of_users=True,
        bent_by=_ANY,
        caveat="Utilisation is the share of time in which a kernel runs, not of what a GPU can do.",
    ),
    Claim(
        name="spread_gangs_use_less",
        title="Gangs spread over more servers use their GPUs less",
        asked="Mean utilisation of gangs on more servers than the fewest that hold them, less that "
        "of packed gangs; within gang size and ending, weighted by the minutes of spread gangs.",
        printed=Printed(
            "Gangs of 16 GPUs use 43.7 % of them on two servers and 28.6 % on eight.",
            f"{_ATC}, Table 5",
            "read from the table",
            numbers()["gpu_util_by_servers", "mean_16_on_8_pct"].published
            - numbers()["gpu_util_by_servers", "mean_16_on_2_pct"].published,
        ),
        relation="locality_effect",
        needs=("placements", "machines", "gpu_samples"),
        statistic=statistics.spread_less_packed,
        effect="utilisation, spread less packed gangs",
        unit="points",
        threshold=0,
        above=False,
        sides=_among("attempts", "spread", spread_attempts=(True,), packed_attempts=(False,)),
        panel=lambda rows: statistics.bars("sum_pct", "minutes", "side", ("packed", "spread"), 1)(
            rows.assign(side=rows["spread"].map({True: "spread", False: "packed"}))
        ),
        shape="bars",
        label="mean utilisation, GPU-minutes",
        of_users=True,
        bent_by=_ANY,
        caveat="No experiment: schedulers choose whom to spread. The bars are raw means, the "
        "effect compares like with like.",
    ),
    Claim(
        name="large_gangs_are_spread",
        title="Locality is given up for large gangs",
        asked=f"The share of attempts of {_LARGE} on more servers than the fewest that hold them. "
        "Given up: for more than one in ten.",
        printed=Printed(
            "Gangs of 5 to 8 GPUs run on one or two servers, larger ones on 2, 4, 8 or 16.",
            f"{_ATC}, Figure 4",
            "read off the figure",
        ),
        relation="large_gangs_are_spread",
        needs=("placements", "machines"),
        statistic=lambda rows, r: statistics.share("spread", "attempts")(
            rows.where(rows["gang"].isin(LARGE_GANGS), 0), r
        ),
        effect="spread attempts of large gangs",
        unit="%",
        threshold=10,
        above=True,
        sides=_among("attempts", "gang", attempts_of_large_gangs=LARGE_GANGS),
        panel=statistics.bars("spread", "attempts", "gang", _GANGS_OF_SEVERAL),
        shape="bars",
        label="on more servers than needed, by GPUs",
        of_users=True,
        bent_by=_ANY,
        caveat="The fewest servers are those of the largest machines, were all of them empty.",
    ),
)

WORKLOAD = (
    Claim(
        name="jobs_are_short",
        title="Most jobs are short",
        asked="Median run time of jobs on GPUs; jobs that still run count as longer. Short: below "
        "an hour.",
        printed=Printed(
            "Run times span minutes to weeks; in the archive's notebook half of the jobs on one "
            "GPU end within about 19 minutes.",
            f"{_ATC}, Figure 2",
            "read off the figure",
        ),
        relation="jobs_are_short",
        needs=("run_times",),
        statistic=statistics.middle("run_s"),
        effect="median run time",
        unit="s",
        threshold=3600,
        above=False,
        sides=_all("jobs"),
        panel=statistics.lengths("run_s"),
        shape="lengths",
        label="jobs that end within",
        of_users=True,
        spoiled_by=frozenset({"gang", "run_time"}),
        bent_by=frozenset({"status", "tails", "attempts", "window"}),
    ),
    Claim(
        name="gpu_time_is_in_few_jobs",
        title="Few jobs hold most GPU time",
        asked="GPU time of the tenth of jobs with most of it. Most: more than half.",
        printed=Printed(
            "The study prints no such share; about 0.5 % of its jobs run for longer than a week.",
            f"{_ATC}, section 3",
            "recalled and unchecked",
        ),
        relation="gpu_time_is_in_few_jobs",
        needs=("gangs", "run_times"),
        statistic=statistics.top_tenth("gpu_h"),
        effect="GPU time of the top tenth of jobs",
        unit="%",
        threshold=50,
        above=True,
        sides=_all("jobs"),
        panel=statistics.shares("gpu_h"),
        shape="shares",
        label="GPU time held, most costly jobs first",
        of_users=True,
        most=100,
        spoiled_by=frozenset({"status", "gang", "run_time", "tails"}),
        bent_by=frozenset({"attempts", "window"}),
        caveat=_LOWER_END,
    ),
    Claim(
        name="gpu_time_is_of_few_users",
        title="Few users hold most GPU time",
        asked="GPU time of the tenth of users with most of it. Most: more than half.",
        printed=Printed(
            "The study names hundreds of users and prints no share of theirs.",
            f"{_ATC}, section 2",
            "quoted by others",
        ),
        relation="gpu_time_is_of_few_users",
        needs=("users", "gangs", "run_times"),
        statistic=statistics.top_tenth("gpu_h"),
        effect="GPU time of the top tenth of users",
        unit="%",
        threshold=50,
        above=True,
        sides=_all("users"),
        panel=statistics.shares("gpu_h"),
        shape="shares",
        label="GPU time held, most costly users first",
        of_users=True,
        most=100,
        spoiled_by=frozenset({"status", "gang", "run_time", "tails"}),
        bent_by=frozenset({"attempts", "window"}),
        caveat=_LOWER_END,
    ),
    Claim(
        name="load_follows_the_day",
        title="Load follows the day",
        asked="Jobs submitted in the busiest third of the day over those in the quietest. "
        "The thirds are found on every other day and counted on the days between, so that by "
        "chance alone the ratio is one.",
        printed=Printed("The study prints no figure of it.", _ATC, "nothing printed"),
        relation="load_follows_the_day",
        needs=("jobs",),
        statistic=statistics.day_ratio,
        effect="busiest over quietest third of the day",
        unit="times",
        threshold=1,
        above=True,
        sides=_all("jobs", "jobs"),
        panel=statistics.hours,
        shape="hours",
        label="jobs per hour over their mean, by hour",
        of_users=False,
        bent_by=_ANY,
        caveat="Hours are those of the trace's clock, which for some is shifted or begins at an "
        "unknown time of day: the shape can be compared, not the hour.",
    ),
)

FAILURES = (
    Claim(
        name="unsuccessful_jobs_cost_most",
        title="Jobs that do not pass take more than their share",
        asked="Their share of GPU time over their share of jobs: those killed or failed.",
        printed=Printed(
            "30.7 % of jobs do not pass; they take 55 % of the GPU time.",
            f"{_ATC}, Table 6",
            "read from the table",
            _passed("job_status", "gpu_h_Pass_pct") / _passed("job_status", "jobs_Pass_pct"),
        ),
        relation="unsuccessful_jobs_cost_most",
        needs=("statuses", "gangs", "run_times"),
        statistic=statistics.cost_ratio,
        effect="share of GPU time over share of jobs",
        unit="times",
        threshold=1,
        above=True,
        sides=_among("jobs", "status", jobs_that_passed=(PASS,), jobs_that_did_not=STATUSES[1:]),
        panel=statistics.endings,
        shape="bars",
        label="share that did not pass",
        of_users=True,
        spoiled_by=frozenset({"status", "gang", "run_time", "tails", "attempts"}),
        bent_by=frozenset({"window"}),
        caveat="As few jobs hold most GPU time, the interval is right nine times in ten rather "
        "than nineteen in twenty; where it errs it is too low.",
    ),
    Claim(
        name="large_gangs_fail_more",
        title="Larger gangs fail more",
        asked=f"The share of jobs that end unsuccessful, {_LARGE} over single GPUs; those that "
        "users kill are no failures.",
        printed=Printed(
            "Retries and unsuccessful jobs both grow with the GPUs of a job.",
            f"{_ATC}, Figure 9",
            "recalled and unchecked",
        ),
        relation="large_gangs_fail_more",
        needs=("statuses", "gangs"),
        statistic=statistics.share_ratio("failed", "jobs", "gang", LARGE_GANGS, GANGS[:1]),
        effect="unsuccessful share, large gangs over single GPUs",
        unit="times",
        threshold=1,
        above=True,
        sides=_among("jobs", "gang", large_gangs=LARGE_GANGS, jobs_of_1_GPU=GANGS[:1]),
        events=_among(
            "failed", "gang", failures_of_large_gangs=LARGE_GANGS, failures_of_1_GPU=GANGS[:1]
        ),
        panel=statistics.bars("failed", "jobs", "gang", GANGS),
        shape="bars",
        label="unsuccessful, by GPUs",
        of_users=True,
        spoiled_by=frozenset({"status", "run_time", "attempts"}),
        bent_by=frozenset({"tails", "window"}),
    ),
    Claim(
        name="failures_repeat",
        title="Failures repeat",
        asked="The share of jobs that end unsuccessful where the same user's submission before it "
        "did, over that where it did not.",
        printed=Printed(
            "The eight most frequent reasons strike 2.3 times per job and 38.8 times per user that "
            "they strike at all.",
            f"{_ATC}, section 4.2",
            "quoted by others; it agrees with Table 7",
        ),
        relation="failures_repeat",
        needs=("statuses", "users"),
        statistic=statistics.share_ratio("failed", "jobs", "after_failure", (True,), (False,)),
        effect="unsuccessful share, after a failure over otherwise",
        unit="times",
        threshold=1,
        above=True,
        sides=_among("jobs", "after_failure", jobs_after_a_failure=(True,), other_jobs=(False,)),
        events=_among(
            "failed",
            "after_failure",
            failures_after_a_failure=(True,),
            other_failures=(False,),
        ),
        panel=lambda rows: statistics.bars(
            "failed", "jobs", "before", ("passed or killed", "failed")
        )(
            rows.assign(
                before=rows["after_failure"].map({True: "failed", False: "passed or killed"})
            )
        ),
        shape="bars",
        label=f"{FAILED.lower()}, by the job before",
        of_users=True,
        spoiled_by=frozenset({"status", "gang", "run_time", "attempts"}),
        bent_by=frozenset({"tails", "window"}),
        caveat="By job and user, as traces without failure output allow; the study counts by "
        "reason. A user with many failures makes them repeat as much as a fault that stays.",
    ),
    Claim(
        name="failures_come_early",
        title="Most failures come early",
        asked="Median run time of the last attempt of unsuccessful jobs. Early: below ten minutes.",
        printed=Printed(
            "For 13 of 22 reasons half of the failures come within 1.7 minutes; failures of the "
            "infrastructure are rare and late.",
            f"{_ATC}, Table 7",
            "read from the table",
        ),
        relation="failures_come_early",
        needs=("statuses", "run_times"),
        statistic=statistics.middle("run_s"),
        effect="median run time to failure",
        unit="s",
        threshold=600,
        above=False,
        sides=_all("unsuccessful jobs"),
        panel=statistics.lengths("run_s"),
        shape="lengths",
        label="unsuccessful jobs that end within",
        of_users=True,
        spoiled_by=frozenset({"run_time"}),
        bent_by=frozenset({"status", "gang", "tails", "attempts", "window"}),
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
