"""The study's guidelines: what each would have gained the same cluster, with the same jobs."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
from matplotlib.figure import Figure

from philly_analysis.experiments.curves import far_apart, forest
from philly_analysis.experiments.effects import (
    Row,
    Shown,
    drawn_from,
    effect,
    effects,
    told_apart,
    trials,
)
from philly_analysis.experiments.printed_failures import failing_as_printed
from philly_analysis.experiments.workloads import JobLaw, quotas_by_use
from philly_analysis.results import Fact, Paired, Result, paired
from philly_analysis.results.figures import CYCLE, INK, MUTED, canvas, name_lines, title
from philly_analysis.simulator import (
    Locality,
    Prerun,
    Restarts,
    Schedule,
    Speed,
    Spread,
    fails,
    run,
    runs_of,
    users_own,
    with_reasons,
    without_retries,
)
from philly_analysis.simulator.policies import Philly
from philly_analysis.workload import JobSpec, at_load, fleet

QUESTION = "What would each guideline of the study have gained?"

GPUS, FLEET = 128, "16x8@8"
"""The cluster: two racks of eight servers."""

AS_IT_WAS = "as Philly"

MODELLED: tuple[str, ...] = (
    "128 GPUs on 16 servers in two racks, gangs of up to 112, policy “philly” with quotas by share "
    "of GPU time, gangs slowed by spread and neighbours as the study's Tables 4 and 5 have it. The "
    "arms differ in one guideline each.",
    "patient: a gang asks six times, half an hour in all, before it relaxes locality by a step. "
    "anywhere: it takes any GPUs at once. apart: gangs have servers to themselves. migration: "
    "jobs that have run for ten minutes move out of a gang's way, at the cost of a restart. "
    "pre-run: one server of the sixteen tries gangs on one GPU for ten minutes. by reason: users' "
    "errors are not retried. all: apart, migration, pre-run and by reason. no interference: gangs "
    "do not slow each other: no guideline, but what keeping them apart could give at most.",
    "Completion times are those of sound jobs, none of whose failures is their user's error: these "
    "are the same jobs in every arm.",
    "Assumed: 30 s to get on after a stop or a move, 30 minutes between checkpoints. Jobs of a law "
    "whose jobs never fail are given the failures that the study printed (Tables 6 and 7): how "
    "many, why, after how long, how often retried; that each size of gang fails as often is "
    "assumed. Reasons that a trace does not say are drawn from Table 7.",
    "A classifier that is always right is assumed, and errors that show on one GPU as soon as on "
    "all. Not modelled: jobs that their users mend and submit again, data locality, network.",
)


class Arm(NamedTuple):
    """What is done: the policy, how fast jobs run, and what becomes of servers and failures."""

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
        """Return the arms by name; the first is what the others are held against."""
        base = Arm(Philly(restart_s=self.restart_s))
        moving = replace(base.policy, migrate_after_s=self.migrate_after_s)
        prerun = Prerun(self.prerun_servers, self.prerun_s)
        return {
            AS_IT_WAS: base,
            "patient": base._replace(policy=replace(base.policy, asks=self.asks)),
            "anywhere": base._replace(policy=replace(base.policy, relax=())),
            "apart": base._replace(dedicated=True),
            "migration": base._replace(policy=moving),
            "pre-run": base._replace(prerun=prerun),
            "by reason": base._replace(by_reason=True),
            "all": Arm(moving, dedicated=True, prerun=prerun, by_reason=True),
            "no interference": base._replace(speed=Spread()),
        }


USUAL = "as assumed"
"""Name of the setting from which all others differ in one thing."""

SETTINGS: dict[str, Setting] = {
    USUAL: Setting(),
    "a restart costs 0 s": Setting(restart_s=0.0),
    "a restart costs 5 min": Setting(restart_s=300.0),
    "nothing is lost": Setting(checkpoint_s=0.0),
    "no checkpoints": Setting(checkpoint_s=float("inf")),
    "asks 3 times": Setting(asks=3),
    "asks 24 times": Setting(asks=24),
    "at once": Setting(migrate_after_s=0.0),
    "after 1 h": Setting(migrate_after_s=3600.0),
    "on 2 servers": Setting(prerun_servers=2),
    "for 2 min": Setting(prerun_s=120.0),
    "for 1 h": Setting(prerun_s=3600.0),
}
"""Settings by name: the usual one, and each constant moved."""

ARMS = tuple(Setting().arms())
"""Names of the arms."""

SHOWN: Shown = {"gang_jct_h": tuple((arm, AS_IT_WAS, arm) for arm in ARMS[1:])}

MEASURES = ["jct_h", "gang_jct_h", "gang_wait_h", "gpu_h", "passed"]


@dataclass(frozen=True, slots=True)
class Sweep:
    """What is varied: load, the constants (at one load), and the seeds of the draws."""

    loads: tuple[float, ...] = (0.6, 0.8, 1.0)
    at: float = 0.8
    settings: tuple[str, ...] = field(default_factory=lambda: tuple(SETTINGS))
    jobs: int = 1000
    seeds: tuple[int, ...] = tuple(range(1, 11))


def compute(
    law: JobLaw, law_name: str, sweep: Sweep | None = None, *, executor: Executor | None = None
) -> Result:
    """Simulate the cluster as it was, and under each guideline, over load.

    Returns
    -------
    Result
        Table: setting, load, arm, seed, jct_h and gang_jct_h (mean of sound jobs, and of the gangs
        among them), gang_wait_h (their mean wait for the first start), gpu_h (GPU hours held by
        all), passed (jobs).
    """
    sweep = sweep or Sweep()
    of_seed = partial(_rows, law, sweep)
    return result_of(trials(of_seed, sweep.seeds, MEASURES, executor), law_name, sweep)


def _rows(law: JobLaw, sweep: Sweep, seed: int) -> list[Row]:
    return list(_of_seed(law, sweep, seed))


def _of_seed(law: JobLaw, sweep: Sweep, seed: int) -> Iterator[Row]:
    rng = np.random.default_rng(seed)
    # a gang has to fit beside the largest pre-run pool
    pool = 8 * max(setting.prerun_servers for setting in SETTINGS.values())
    drawn = [spec for spec in law(sweep.jobs, GPUS, seed) if spec.gpus <= GPUS - pool]
    if not any(fails(each) for spec in drawn for each in runs_of(spec)):
        drawn = failing_as_printed(drawn, rng)
    drawn = with_reasons(drawn, rng)
    for name in sweep.settings:
        arms = SETTINGS[name].arms()
        for load in sweep.loads if name == USUAL else (sweep.at,):
            specs = at_load(drawn, load, GPUS)
            for arm in ARMS if name == USUAL else moved_by(name):
                outcome = _outcome(_simulated(specs, arms[arm], SETTINGS[name]), specs)
                yield (name, load, arm, seed, *outcome)


def moved_by(setting: str) -> tuple[str, str]:
    """Return what is run under a setting: Philly as it was, and the guideline that it is about."""
    usual, there = (SETTINGS[name].arms() for name in (USUAL, setting))
    moved = (arm for arm in ("migration", "patient", "pre-run") if there[arm] != usual[arm])
    return AS_IT_WAS, next(moved, "migration")


def _simulated(specs: Sequence[JobSpec], arm: Arm, setting: Setting) -> Schedule:
    cluster = partial(
        run,
        policy=arm.policy,
        speed=arm.speed,
        quotas=quotas_by_use(specs, GPUS),
        restarts=Restarts(checkpoint_s=setting.checkpoint_s),
        dedicated=arm.dedicated,
    )
    if arm.by_reason:
        specs, _ = without_retries(specs)
    if arm.prerun:
        return arm.prerun.through(specs, fleet(FLEET), cluster)
    return cluster(specs, fleet(FLEET))


def _outcome(
    schedule: Schedule, specs: Sequence[JobSpec]
) -> tuple[float, float, float, float, float]:
    sound = {s.job_id for s in specs if not any(map(users_own, s.attempts))}
    starts = schedule.attempts.filter(pl.col("end_reason") != "preempted")
    of_gang = schedule.attempts.join(
        schedule.jobs.select("job_id", asked="gpus"), on="job_id"
    ).filter(pl.col("gpus") == pl.col("asked"))
    first = of_gang.group_by("job_id").agg(pl.col("start_s").min())
    jobs = schedule.jobs.filter(pl.col("job_id").is_in(list(sound))).join(
        first, on="job_id", how="left"
    )
    gangs = jobs.filter(pl.col("gpus") > 1)
    held_s = schedule.attempts.select(
        ((pl.col("end_s") - pl.col("start_s")) * pl.col("gpus")).sum()
    ).item()
    last = starts.group_by("job_id", maintain_order=True).agg(pl.col("end_reason").last())
    return (
        _mean_h(jobs["end_s"] - jobs["submit_s"]),
        _mean_h(gangs["end_s"] - gangs["submit_s"]),
        _mean_h(gangs["start_s"] - gangs["submit_s"]),
        float(held_s) / 3600,
        float((last["end_reason"] == "completed").sum()),
    )


def _mean_h(seconds: pl.Series) -> float:
    return float(seconds.to_numpy().mean()) / 3600 if len(seconds) else float("nan")


def result_of(table: pd.DataFrame, law_name: str, sweep: Sweep) -> Result:
    """Return what trials show, in facts and sentences."""
    usual = partial(effect, table, against=AS_IT_WAS, setting=USUAL, load=sweep.at)
    facts, said = [], []
    for measure, of in (
        ("jct_h", "The mean completion time of sound jobs"),
        ("gang_jct_h", "That of the gangs among them"),
        ("gpu_h", "GPU hours that all jobs held"),
    ):
        found = {arm: usual(measure, arm) for arm in ARMS[1:]}
        said.append(f"{of}: {told_apart(found)}.")
        for arm, change in found.items():
            name = f"{arm}_{measure.removesuffix('_h')}_pct".replace(" ", "_").replace("-", "_")
            facts.append(Fact(name, change.effect, f"{of.lower()}, changed by “{arm}”"))
    lost = _lost(table, sweep)
    return Result(
        name=f"guidelines_{law_name}",
        table=table,
        facts=(*facts, Fact("passes_lost_pct", lost, "fewer jobs that pass, retried by reason")),
        sentences=(
            *said,
            *(
                [f"Not retrying users' errors lets {lost:.2g} % fewer jobs pass."]
                if lost > 0
                else []
            ),
            "All against Philly as it was. " + drawn_from(law_name, sweep.at, sweep.seeds),
        ),
        caveats=MODELLED,
        synthetic=True,
    )


def _lost(table: pd.DataFrame, sweep: Sweep) -> float:
    rows = table[(table["setting"] == USUAL) & (table["load"] == sweep.at)]
    by_arm = rows.pivot_table(index="seed", columns="arm", values="passed")
    return -paired(by_arm["by reason"], by_arm[AS_IT_WAS], relative=True).effect


def plot(result: Result) -> Figure:
    """Draw what each guideline changes, and costs, at one load; over load; by assumption."""
    table = result.table
    fig, (times, costs, over, moves) = canvas(2, 2, width=10, height=8.2)
    settings = [s for s in dict.fromkeys(table["setting"]) if s != USUAL]
    load = float(table.loc[table["setting"].isin(settings or [USUAL]), "load"].median())
    at = partial(effect, table, load=load)
    usual = partial(at, against=AS_IT_WAS, setting=USUAL)
    forest(
        times,
        [
            (arm if of == "jct_h" else "its gangs", usual(of, arm), color)
            for arm in ARMS[1:]
            for of, color in _TIMES.items()
        ],
    )
    forest(costs, [(arm, usual("gpu_h", arm), INK) for arm in ARMS[1:]])
    forest(moves, list(_moved(at, settings)))
    for ax, what, named in (
        (
            times,
            "mean JCT (dark: sound jobs)",
            f"completion times at a load of {load:g}",
        ),
        (costs, "GPU hours held", f"cost at a load of {load:g}"),
        (moves, "gangs' mean JCT", f"what moves it, at a load of {load:g}"),
    ):
        ax.set(xlabel=f"change of {what}, %")
        title(ax, named)
    for i, arm in enumerate(ARMS[1:]):
        curve = effects(table, "gang_jct_h", arm, AS_IT_WAS)
        curve = curve[curve["setting"] == USUAL]
        color = CYCLE[i % len(CYCLE)]
        over.plot(curve["load"], curve["effect_pct"], color=color, marker="o", ms=3, label=arm)
    over.axhline(0, color=MUTED, lw=0.8)
    over.set(xlabel="offered load", ylabel="change of gangs' mean JCT, %")
    over.set_xticks(sorted(set(table["load"])))
    far_apart(times, "x")  # one guideline's cost would hide the others' gains
    far_apart(over, "y")
    title(over, "gangs over load, means of the draws")
    name_lines(over)
    return fig


_TIMES = {"jct_h": INK, "gang_jct_h": CYCLE[0]}
"""Completion times that are shown, and in which colour."""


def _moved(at: Callable[..., Paired], settings: Sequence[str]) -> Iterator[tuple[str, Paired, str]]:
    """Yield what each guideline does to gangs, as assumed and under each setting about it."""
    by_arm: dict[str, list[str]] = {}
    for setting in settings:
        by_arm.setdefault(moved_by(setting)[1], []).append(setting)
    for arm, own in by_arm.items():
        for setting in (USUAL, *own):
            found = at("gang_jct_h", arm, AS_IT_WAS, setting=setting)
            yield f"{arm}: {setting}", found, CYCLE[0] if setting == USUAL else INK
