"""Run experiments and sweeps, and write their pages.

Functions import the package of experiments, and with it the simulator: other pages need neither.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from philly_analysis.atomic import scratch_folder
from philly_analysis.errors import InputError, UnknownNameError
from philly_analysis.models import WorkloadModel, load_model
from philly_analysis.parallel import workers
from philly_analysis.progress import step
from philly_analysis.report.rendering import results_page
from philly_analysis.report.sections import Chapter, section
from philly_analysis.results import Result, save_table
from philly_analysis.study import published_figures
from philly_analysis.trace import MANIFEST, fetch_trace
from philly_analysis.workload import Ensemble, Workload

if TYPE_CHECKING:
    from philly_analysis.experiments import JobSource

ALL = "seeds"
"""Folder of the page of all experiments."""

Model = WorkloadModel | Ensemble | str | Path


def experiment_page(
    names: Iterable[str],
    *,
    models: Iterable[Model],
    seeds: int | None,
    out: Path,
    jobs: int,
    cluster: str | None,
) -> Path:
    """Run experiments and write their page: see :func:`philly_analysis.experiment`."""
    from philly_analysis.experiments import ACROSS, EXPERIMENTS, effect_table

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
        return _conclusions_page(list(models), seeds, out, jobs, cluster)
    workloads = [_workload(model, seeds) for model in list(models) or ("literature", "philly")]
    printed = published_figures()
    titles = {system.lower(): system for system in printed["system"]}
    printed = printed[printed["system"].str.lower().isin(chosen or EXPERIMENTS)]
    chapters = []
    with workers(jobs, cluster) as executor:
        for name in chosen or EXPERIMENTS:
            experiment = EXPERIMENTS[name]
            sections = []
            for model, source, seeds_of in workloads:
                with step(f"{name} on {model}"):
                    result = experiment.compute(
                        source, model, _with_seeds(experiment.sweep, seeds_of), executor=executor
                    )
                question = f"{experiment.question} On the jobs of “{model}”"
                shown = effect_table(result.table, experiment.shown)
                figure = experiment.plot(result)
                sections.append(section(f"{name}-{model}", question, result, figure, shown=shown))
            chapters.append(Chapter(titles.get(name, name.capitalize()), tuple(sections)))
    return results_page(
        "Philly's guidelines, and the systems that followed",
        "What would the study's guidelines have gained? Synergy, Amoeba and AntMan each follow one "
        "of them. Each published gain is decomposed into the contributions of its parts, against "
        "suitable baselines, over offered load and over the assumptions that matter, on the "
        "workload that papers assume and on models of real clusters. Changes are paired by draw of "
        "jobs; intervals are 95 % over draws.",
        chapters,
        out / ("-".join(chosen) or ALL),
        closing=printed if len(printed) else None,
    )


def _conclusions_page(
    models: Sequence[Model], seeds: int | None, out: Path, jobs: int, cluster: str | None
) -> Path:
    """Write the page that compares published gains under several workloads."""
    from philly_analysis import experiments

    conclusions = experiments.conclusions
    sources = {}
    for model in [conclusions.REFERENCE, *models] if models else conclusions.MODELS:
        name, source, seeds_of = _workload(model, seeds)
        sources[name] = source, _with_seeds(conclusions.MonthSweep(), seeds_of)
    with workers(jobs, cluster) as executor, step(f"conclusions on {', '.join(sources)}"):
        result = conclusions.compute(sources, executor=executor)
    verdicts = conclusions.verdicts(result.table)
    part = section("conclusions", result.question, result, conclusions.plot(result))
    page = results_page(
        "Does the conclusion move?",
        "Many papers on GPU schedulers measure on the jobs of one shared generator. Here their "
        "main results are simulated on its jobs, and on months of models fitted to real clusters: "
        "all arms of a result on the same jobs, all months at the same offered load, intervals "
        "over months.",
        [Chapter("Headlines", (part,))],
        out / "conclusions",
        closing=conclusions.verdict_table(verdicts),
        closing_title="Headline by headline",
    )
    save_table(verdicts, page.parent / "verdicts.csv")
    return page


def _with_seeds(sweep: Any, seeds: tuple[int, ...] | None) -> Any:
    return sweep if seeds is None else replace(sweep, seeds=seeds)


def _workload(given: Model, seeds: int | None) -> tuple[str, "JobSource", tuple[int, ...] | None]:
    """Return a workload's name, its jobs, and its seeds; None: those of the experiment."""
    from philly_analysis.experiments import EnsembleJobs, ModelJobs, TraceJobs

    wanted = None if seeds is None else tuple(range(1, seeds + 1))
    if isinstance(given, Ensemble):
        return given.name, EnsembleJobs(given), given.seeds[:seeds]
    if isinstance(given, str | Path) and (fetch_trace(given) / MANIFEST).is_file():
        recorded = Workload.from_trace(given)
        return recorded.name, TraceJobs(tuple(recorded.specs())), wanted
    model = given if isinstance(given, WorkloadModel) else load_model(given)
    return model.name, ModelJobs(model.sample), wanted


def sweep_page(
    workloads: Sequence[str | Path],
    policies: Sequence[str],
    out: str | Path,
    *,
    loads: Sequence[float],
    seeds: int,
    knobs: Sequence[tuple[str, str]],
    draw: int,
    jobs: int,
    cluster: str | None,
    **assumed: Any,
) -> Result:
    """Run a sweep, and write its page and tables: see :func:`philly_analysis.sweep`."""
    from philly_analysis import experiments

    folder, sweeps = Path(out), experiments.sweeps
    planned = experiments.plan_runs(
        workloads,
        policies,
        loads=loads,
        seeds=seeds,
        knobs=knobs,
        jobs=draw,
        assumed=experiments.Assumed(**assumed),
    )
    scratch_folder()  # removes what an interrupted sweep left, also where no run is left to do
    with workers(jobs, cluster) as executor, step(f"{len(planned):,} runs"):
        result = sweeps.sweep(planned, folder / "runs", executor)
    result.to_csv(folder / "sweep.csv")
    save_table(sweeps.changes(result.table), folder / "changes.csv")
    shown = sweeps.policy_table(result.table)
    part = section("sweep", result.question, result, sweeps.plot(result), shown=shown)
    results_page(
        "A sweep of what-ifs",
        "Every policy runs the same jobs at each load and seed, so that differences are its own.",
        [Chapter("Policies", (part,))],
        folder / "page",
    )
    return result
