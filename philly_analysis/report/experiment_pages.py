"""Run experiments and sweeps, and write their pages."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from philly_analysis import experiments
from philly_analysis.atomic import scratch_folder
from philly_analysis.errors import InputError, UnknownNameError
from philly_analysis.experiments import (
    ACROSS,
    EXPERIMENTS,
    EnsembleJobs,
    Experiment,
    JobSource,
    ModelJobs,
    Run,
    SweepResult,
    TraceJobs,
    choice_table,
    contrast_tables,
    contrasts,
    policy_table,
)
from philly_analysis.models import Work, model_of
from philly_analysis.parallel import ExecutorLike, open_executor
from philly_analysis.progress import step
from philly_analysis.report.rendering import results_page
from philly_analysis.report.sections import Card, Chapter, Section, section
from philly_analysis.results import Result, Results, count, save_table
from philly_analysis.study import published_figures
from philly_analysis.trace import TraceLike
from philly_analysis.workload import Ensemble, Workload

conclusions, sweeps = experiments.conclusions, experiments.sweeps

ALL = "seeds"
"""Folder of the page of all experiments."""


def experiment_page(
    names: Iterable[str],
    *,
    models: Iterable[Work],
    seeds: int | None,
    out: Path | None,
    executor: ExecutorLike,
) -> Results:
    """Run experiments, with a page if a folder is given: see :func:`philly_analysis.experiment`."""
    chosen = list(dict.fromkeys(names))
    for name in chosen:
        if name not in EXPERIMENTS and name not in ACROSS:
            raise UnknownNameError("experiment", name, [*EXPERIMENTS, *ACROSS])
    if ACROSS.keys() & set(chosen):
        if len(chosen) > 1:
            raise InputError(
                f"{', '.join(chosen)} were named together, but {' and '.join(ACROSS)} has a page "
                "of its own: name it alone."
            )
        results = _conclusions(list(models), seeds, executor)
    else:
        results = _decompositions(chosen, list(models), seeds, executor)
    if out is not None:
        results.save(experiment_folder(chosen, out))
    return results


def experiment_folder(names: Iterable[str], out: Path) -> Path:
    """Return the folder of the page of experiments, by their names."""
    return out / ("-".join(dict.fromkeys(names)) or ALL)


def _decompositions(
    chosen: Sequence[str],
    models: Sequence[Work],
    seeds: int | None,
    executor: ExecutorLike,
) -> Results:
    """Run experiments on models; return their results, with one page of all of them."""
    workloads = [_workload(model, seeds) for model in models or ("literature", "philly")]
    printed = published_figures()
    titles = {system.lower(): system for system in printed["system"]}
    printed = printed[printed["system"].str.lower().isin(chosen or EXPERIMENTS)]
    results = Results()
    cards, chapters = [], []
    with open_executor(executor) as workers:
        for name in chosen or EXPERIMENTS:
            experiment = EXPERIMENTS[name]
            system = titles.get(name, name.capitalize())
            sections = []
            for model, source, seeds_of in workloads:
                sweep = _with_seeds(experiment.sweep, seeds_of)
                with step(f"{name} on {model}"):
                    result = experiment.compute(source, model, sweep, executor=workers)
                if isinstance(source, TraceJobs):
                    result = replace(result, synthetic=source.synthetic)
                results[f"{name}-{model}"] = result
                question = f"{system} on {_jobs_of(model)}"
                answer = section(f"{name}-{model}", question, result)
                cards.append(Card(answer.name, question, answer))
                sections.append(_contrasts(experiment, result, model, sweep.at))
            chapters.append(Chapter(f"{system}: {experiment.question}", tuple(sections)))
    results.write_page = partial(
        results_page,
        "What does each mechanism add?",
        "Each mechanism is credited with its gain over the strongest arm that lacks it. All arms "
        "run the same jobs; intervals are 95 % over draws of jobs.",
        chapters,
        cards=cards,
        closing=printed if len(printed) else None,
    )
    return results


def _contrasts(experiment: Experiment, result: Result, model: str, at: float) -> Section:
    """Return the section that explains an answer by contrasts of mechanisms and by free choices."""
    table = contrasts(result.table, experiment.shown)
    choices = choice_table(
        experiment.increments, result.table, experiment.usual, experiment.choices, at
    )
    explained = replace(
        result,
        table=table,
        sentences=(),
        facts=(),
        caveats=(),
        draw=lambda _: experiment.plot(result),
    )
    return section(
        f"{experiment.name}-{model}-contrasts",
        f"On {_jobs_of(model)}: one mechanism at a time",
        explained,
        tables={
            f"Choices that the paper leaves open, at a load of {at:g}": choices,
            **contrast_tables(table, experiment.usual),
        },
    )


def _jobs_of(model: str) -> str:
    reference = model == conclusions.REFERENCE
    return "the papers' generator of jobs" if reference else f"the jobs of “{model}”"


def _conclusions(models: Sequence[Work], seeds: int | None, executor: ExecutorLike) -> Results:
    """Compare published gains under several workloads."""
    sources = {}
    for model in [conclusions.REFERENCE, *models] if models else conclusions.MODELS:
        name, source, seeds_of = _workload(model, seeds)
        sources[name] = source, _with_seeds(conclusions.MonthSweep(), seeds_of)
    with open_executor(executor) as workers, step(f"conclusions on {', '.join(sources)}"):
        result = conclusions.compute(sources, executor=workers)
    verdicts = conclusions.verdicts(result.table)
    result = replace(result, draw=conclusions.plot)
    counted = replace(
        result, sentences=result.sentences[:1]
    )  # the other sentences are in the table
    part = section("conclusions", result.question, counted)
    results = Results(conclusions=result)

    def write(folder: Path) -> Path:
        page = results_page(
            "Does the conclusion move?",
            "Many papers on GPU schedulers measure on the jobs of one shared generator. Here their "
            "main results are simulated on its jobs, and on months of models fitted to real "
            "clusters. All arms of a result have the same jobs, all months the same offered load. "
            "Intervals are over months.",
            [],
            folder,
            cards=[Card(part.name, result.question, part)],
            closing=conclusions.verdict_table(verdicts),
            closing_title="Headline by headline",
        )
        save_table(verdicts, page.parent / "verdicts.csv")
        return page

    results.write_page = write
    return results


def _with_seeds(sweep: Any, seeds: tuple[int, ...] | None) -> Any:
    return sweep if seeds is None else replace(sweep, seeds=seeds)


def _workload(work: Work, seeds: int | None) -> tuple[str, JobSource, tuple[int, ...] | None]:
    """Return a workload's name, its jobs, and its seeds; None: the experiment's seeds."""
    wanted = None if seeds is None else tuple(range(1, seeds + 1))
    if isinstance(work, Ensemble):
        return work.name, EnsembleJobs(work), work.seeds[:seeds]
    if (model := model_of(work)) is not None:
        return model.name, ModelJobs(model.sample), wanted
    recorded = work if isinstance(work, Workload) else Workload.from_trace(cast("TraceLike", work))
    return recorded.name, TraceJobs(tuple(recorded.specs()), synthetic=recorded.synthetic), wanted


def sweep_page(
    runs: Sequence[Run],
    out: str | Path | None,
    *,
    is_sized: bool,
    executor: ExecutorLike,
) -> SweepResult:
    """Run a sweep, with a page if a folder is given: see :func:`philly_analysis.sweep`.

    Parameters
    ----------
    is_sized
        Whether the cluster was given; otherwise a note has the size that is assumed.
    """
    scratch = scratch_folder()  # removes what an interrupted sweep left, also without runs to do
    folder = scratch if out is None else Path(out)
    with open_executor(executor) as opened, step(f"{len(runs):,} runs"):
        result = sweeps.sweep(runs, folder / "runs", opened)
    clusters = {run.jobs.name: run.options.cluster or () for run in runs}
    sizes = {name: sum(m.gpus for m in cluster) for name, cluster in clusters.items()}
    notes = (
        f"The jobs of {name} have no cluster: one of {count(gpus, 'GPU')} is assumed. It holds the "
        "largest gang, and its load as submitted is at most 1."
        for name, gpus in sizes.items()
        if gpus and not is_sized
    )
    result = replace(
        result,
        caveats=(*result.caveats, *notes),
        write_page=_write_sweep,
    )
    if out is not None:
        _write_sweep(result, folder)
    return result


def _write_sweep(result: Any, folder: Path) -> Path:
    """Write the page and tables of a sweep."""
    cards = []
    for i, rows in enumerate(sweeps.by_workload(result.runs)):
        answer = replace(sweeps.result_of(rows), caveats=result.caveats)
        question = f"{answer.question} On “{rows['setting'].iloc[0]}”"
        part = section(f"sweep-{i + 1}", question, answer)
        cards.append(Card(part.name, question, part))
    tables = {"Policies by mean completion time": policy_table(result.runs)}
    numbers = replace(result, sentences=(), draw=None)
    part = section("sweep", "Every policy at each load", numbers, tables=tables)
    page = results_page(
        "A sweep of what-ifs",
        "Every policy runs the same jobs at each load and seed, so that differences are its own. "
        "Shares of GPU time are measured from the first submission to the last.",
        [Chapter("Ranking", (part,))],
        folder / "page",
        cards=cards,
    )
    save_table(result.runs, folder / "sweep.csv")
    save_table(result.table, folder / "changes.csv")
    save_table(result.jobs, folder / "jobs.csv")
    return page
