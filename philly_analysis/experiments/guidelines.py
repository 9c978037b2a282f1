"""Guidelines of the study: the gain of each guideline on the same cluster and jobs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
from matplotlib.figure import Figure

from philly_analysis.experiments.effects import USUAL, WHAT, effect, effects
from philly_analysis.experiments.experiment import (
    Arms,
    Experiment,
    Row,
    Summary,
    Sweep,
    changed_settings,
    trial_rows,
)
from philly_analysis.experiments.increments import Increment
from philly_analysis.experiments.job_sources import DrawJobs, quotas_by_use
from philly_analysis.experiments.panels import other_load, symlog_percent
from philly_analysis.experiments.study_failures import with_study_failures
from philly_analysis.results import Fact, Paired, Result, paired
from philly_analysis.results.figures import CYCLE, INK, MUTED, canvas, forest, label_lines, title
from philly_analysis.simulator import (
    Locality,
    Speed,
    Spread,
    fails,
    is_user_error,
    run,
    run_first,
    until_user_error,
    with_reasons,
)
from philly_analysis.simulator.policies import Philly
from philly_analysis.workload import JobSpec, Prerun, fleet, runs_of

QUESTION = "What would each guideline of the study have gained?"

GPUS, FLEET = 128, "16x8@8"
"""The cluster: two racks of eight servers."""

BASELINE = "as Philly"


class Arm(NamedTuple):
    """The policy, the speed of jobs, and the treatment of servers and failures."""

    policy: Philly
    speed: Speed = Locality()
    dedicated: bool = False
    prerun: Prerun | None = None
    by_reason: bool = False


class Setting(NamedTuple):
    """What is assumed."""

    restart_s: float = 30.0
    checkpoint_s: float = 1800.0
    asks: int = 6
    migrate_after_s: float = 600.0
    prerun_servers: int = 1
    prerun_s: float = 600.0

    def arms(self) -> dict[str, Arm]:
        """Return the arms by name; the first is the baseline."""
        base = Arm(Philly(restart_s=self.restart_s))
        moving = replace(base.policy, migrate_after_s=self.migrate_after_s)
        prerun = Prerun(self.prerun_servers, self.prerun_s)
        return {
            BASELINE: base,
            "patient": base._replace(policy=replace(base.policy, asks=self.asks)),
            "anywhere": base._replace(policy=replace(base.policy, relax=())),
            "apart": base._replace(dedicated=True),
            "migration": base._replace(policy=moving),
            "pre-run": base._replace(prerun=prerun),
            "by reason": base._replace(by_reason=True),
            "all": Arm(moving, dedicated=True, prerun=prerun, by_reason=True),
            "no interference": base._replace(speed=Spread()),
        }


SETTINGS: dict[str, Setting] = {USUAL: Setting(), **changed_settings("guidelines", Setting())}
"""Settings by name: the usual one, and one for each changed assumption."""

ARMS = tuple(Setting().arms())
"""Names of the arms."""

_MEASURED = ("jct_h", "gang_jct_h", "gpu_h")
"""Measures that guidelines change."""

_WITHOUT = (BASELINE, "anywhere")
"""Arms that follow no guideline: Philly, and a scheduler without locality."""

INCREMENTS = (
    Increment("following all guidelines", "jct_h", "all", _WITHOUT),
    *(
        Increment(phrase, "gang_jct_h", arm, _WITHOUT)
        for arm, phrase in (
            ("patient", "waiting for locality"),
            ("apart", "dedicated servers"),
            ("migration", "migration"),
            ("pre-run", "a pre-run pool"),
            ("by reason", "retries by reason"),
        )
    ),
)

_COLORS = {"jct_h": INK, "gang_jct_h": CYCLE[0]}
"""Completion times in the figure, and their colours."""


def guideline_of(setting: str) -> str:
    """Return the guideline that a setting's changed assumption is about."""
    usual, changed = (SETTINGS[name].arms() for name in (USUAL, setting))
    arms = (arm for arm in ("migration", "patient", "pre-run") if changed[arm] != usual[arm])
    return next(arms, "migration")


def _rows(jobs: DrawJobs, _: str, sweep: Sweep, seed: int) -> Iterator[Row]:
    def arms(setting: str) -> Arms:
        assumed = SETTINGS[setting]
        chosen = ARMS if setting == USUAL else (BASELINE, guideline_of(setting))
        return {arm: (assumed.arms()[arm], assumed) for arm in chosen}

    rng = np.random.default_rng(seed)
    # gangs must fit beside the largest pre-run pool
    pool = 8 * max(setting.prerun_servers for setting in SETTINGS.values())
    drawn = [spec for spec in jobs(sweep.jobs, GPUS, seed) if spec.gpus <= GPUS - pool]
    if not any(map(fails, chain.from_iterable(map(runs_of, drawn)))):
        drawn = with_study_failures(drawn, rng)
    drawn = with_reasons(drawn, rng)
    return trial_rows(drawn, sweep, seed, gpus=GPUS, arms=arms, outcome=_outcome)


def _outcome(specs: Sequence[JobSpec], arm: Arm, setting: Setting) -> tuple[float, ...]:
    jobs, machines = list(map(until_user_error, specs)) if arm.by_reason else specs, fleet(FLEET)
    first = run_first(arm.prerun, jobs, machines) if arm.prerun else None
    schedule = run(
        first.remaining if first else jobs,
        first.machines if first else machines,
        arm.policy,
        speed=arm.speed,
        quotas=quotas_by_use(specs, GPUS),
        checkpoint_s=setting.checkpoint_s,
        dedicated=arm.dedicated,
    )
    schedule = first.joined(schedule) if first else schedule
    sound = [s.job_id for s in specs if not any(map(is_user_error, s.attempts))]
    # the pre-run has one GPU
    complete = schedule.attempts.join(schedule.jobs, on=["job_id", "gpus"], how="semi")
    started = complete.group_by("job_id").agg(pl.col("start_s").min())
    ended = schedule.jobs.filter(pl.col("job_id").is_in(sound)).join(
        started, on="job_id", how="left"
    )
    gangs = ended.filter(pl.col("gpus") > 1)
    duration_s = pl.col("end_s") - pl.col("start_s")
    gpu_s = schedule.attempts.select((duration_s * pl.col("gpus")).sum()).item()
    ends = schedule.attempts.filter(pl.col("end_reason") != "preempted")
    last = ends.group_by("job_id", maintain_order=True).agg(pl.col("end_reason").last())
    return (
        _mean_h(ended["end_s"] - ended["submit_s"]),
        _mean_h(gangs["end_s"] - gangs["submit_s"]),
        _mean_h(gangs["start_s"] - gangs["submit_s"]),
        float(gpu_s) / 3600,
        float((last["end_reason"] == "completed").sum()),
    )


def _mean_h(seconds: pl.Series) -> float:
    return float(seconds.to_numpy().mean()) / 3600 if len(seconds) else float("nan")


def _summarize(table: pd.DataFrame, sweep: Sweep) -> Summary:
    usual = partial(effect, table, against=BASELINE, setting=USUAL, load=sweep.at)
    facts, sentences = [], []
    for measure in _MEASURED:
        for arm in ARMS[1:]:
            change = usual(measure, arm)
            name = f"{arm}_{measure.removesuffix('_h')}_pct".replace(" ", "_").replace("-", "_")
            facts.append(Fact(name, change.effect, f"{WHAT[measure]}: change by “{arm}”"))
    rows = table[(table["setting"] == USUAL) & (table["load"] == sweep.at)]
    passed = rows.pivot_table(index="seed", columns="arm", values="passed")
    lost = -paired(passed["by reason"], passed[BASELINE], relative=True).effect
    facts.append(Fact("passes_lost_pct", lost, "fewer jobs that pass, retried by reason"))
    if lost > 0:
        sentences.append(f"Without retries of users' errors {lost:.2g} % fewer jobs pass.")
    return Summary(facts, sentences)


def _plot(result: Result) -> Figure:
    """Draw what each guideline changes, and costs, at one load; over load; by assumption."""
    table = result.table
    fig, (times, costs, over, sensitivity) = canvas(2, 2, width=10, height=8.2)
    settings = [s for s in dict.fromkeys(table["setting"]) if s != USUAL]
    load = other_load(table) or float(table["load"].median())
    at = partial(effect, table, load=load)
    usual = partial(at, against=BASELINE, setting=USUAL)
    forest(
        times,
        [
            (arm if of == "jct_h" else "its gangs", usual(of, arm), color)
            for arm in ARMS[1:]
            for of, color in _COLORS.items()
        ],
    )
    forest(costs, [(arm, usual("gpu_h", arm), INK) for arm in ARMS[1:]])
    forest(sensitivity, list(_by_assumption(at, settings)))
    for ax, what, heading in (
        (times, "mean JCT (dark: sound jobs)", "completion times"),
        (costs, "allocated GPU hours", "cost"),
        (sensitivity, "gangs' mean JCT", "sensitivity"),
    ):
        ax.set(xlabel=f"change of {what}, %")
        title(ax, f"{heading}, at a load of {load:g}")
    for i, arm in enumerate(ARMS[1:]):
        curve = effects(table, "gang_jct_h", arm, BASELINE)
        curve = curve[curve["setting"] == USUAL]
        color = CYCLE[i % len(CYCLE)]
        over.plot(curve["load"], curve["effect_pct"], color=color, marker="o", ms=3, label=arm)
    over.axhline(0, color=MUTED, lw=0.8)
    over.set(xlabel="offered load", ylabel="change of gangs' mean JCT, %")
    over.set_xticks(sorted(set(table["load"])))
    symlog_percent(times, "x")  # the cost of one guideline would hide the gains of others
    symlog_percent(over, "y")
    title(over, "gangs over load, means of the draws")
    label_lines(over)
    return fig


def _by_assumption(
    at: Callable[..., Paired], settings: Sequence[str]
) -> Iterator[tuple[str, Paired, str]]:
    """Yield each guideline's effect on gangs, in the usual setting and the guideline's own."""
    by_arm: dict[str, list[str]] = {}
    for setting in settings:
        by_arm.setdefault(guideline_of(setting), []).append(setting)
    for arm, arm_settings in by_arm.items():
        for setting in (USUAL, *arm_settings):
            change = at("gang_jct_h", arm, BASELINE, setting=setting)
            yield f"{arm}: {setting}", change, CYCLE[0] if setting == USUAL else INK


GUIDELINES = Experiment(
    name="guidelines",
    question=QUESTION,
    sweep=Sweep(loads=(0.6, 0.8, 1.0), at=0.8, settings=tuple(SETTINGS), jobs=1000),
    measures=("jct_h", "gang_jct_h", "gang_wait_h", "gpu_h", "passed"),
    rows=_rows,
    summarize=_summarize,
    increments=INCREMENTS,
    choices=("asks 3 times", "asks 24 times", "at once", "after 1 h", "on 2 servers", "for 2 min"),
    shown={measure: tuple((arm, BASELINE, arm) for arm in ARMS[1:]) for measure in _MEASURED},
    plot=_plot,
)
"""Table: jct_h and gang_jct_h of sound jobs and of the gangs among them; gang_wait_h: to their
first start; gpu_h: allocated to all jobs; passed: jobs."""
