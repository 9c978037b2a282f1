"""Verbs that lead through several rooms: they open what they are given, ask, and write.

A verb that one room offers alone stands there: ingest, query, analyze, report, export, simulate.
"""

import os
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pandas as pd

from philly_analysis.analyses import node_failures
from philly_analysis.atlas import known_datasets, survey
from philly_analysis.atomic import scratch_folder
from philly_analysis.errors import InputError, ModelError, OutputError, TraceError, UnknownNameError
from philly_analysis.experiments import (
    ACROSS,
    DRAWN_JOBS,
    EXPERIMENTS,
    Assumed,
    Jobs,
    LawOf,
    MonthsOf,
    WindowsOf,
    conclusions,
    in_words,
    runs,
)
from philly_analysis.experiments import sweep as sweeps
from philly_analysis.exports import list_formats
from philly_analysis.ingest import ingest
from philly_analysis.models import Observations, WorkloadModel, load_model
from philly_analysis.parallel import workers
from philly_analysis.progress import step
from philly_analysis.report import Chapter, analyze, atlas_page, comparison, results_page, section
from philly_analysis.results import NOT_KNOWN, Result, save_table
from philly_analysis.simulator import Failures
from philly_analysis.simulator.policies import list_policies
from philly_analysis.study import RunPolicy, published_figures
from philly_analysis.trace import MANIFEST, Trace, TraceLike, fetch_trace, open_trace
from philly_analysis.workload import Ensemble, Workload

SEEDS = "seeds"
"""Name of the page of all experiments: the systems that grew from the study."""


def failures_of(trace: TraceLike, repair_s: float | None = None) -> Failures:
    """Return how often the servers of a trace failed, for a what-if in which they fail so often.

    Parameters
    ----------
    trace
        An open trace, or the folder of one.
    repair_s
        Mean seconds until one is repaired, of which traces do not tell; assumed when None.

    Raises
    ------
    InputError
        No server of it is known to have failed.
    """
    with open_trace(trace) as given:
        between_s = node_failures.compute(given).fact("mttf_s")
    if not isinstance(between_s, float):
        raise InputError(
            "The rates at which servers failed were asked for, but none is known to have failed. "
            "Give rates, e.g. machine:2.6e6:14400 (seconds from repair to failure, to repair)."
        )
    measured = Failures(machine_s=between_s)
    return measured if repair_s is None else replace(measured, machine_repair_s=repair_s)


def fit(
    trace: TraceLike,
    model: str | Path | None = None,
    *,
    family: str | None = None,
    run_policy: RunPolicy | str | None = None,
) -> WorkloadModel:
    """Fit a workload model to a trace, or to raw logs.

    Parameters
    ----------
    trace
        An open trace, its folder, tables in memory; or raw logs of a source that they show.
    model
        File to write the model to as well; None: none.
    family
        Force one family of run times everywhere, e.g. ``lognormal``; chosen when None.
    run_policy
        How attempts become a job's run time; None: as the trace was opened, and for a folder
        ``sum``, the service that a job needs.

    Raises
    ------
    ModelError
        Too little to fit: the message names what is missing. Or the file cannot be written.
    TraceError, InputError
        There is neither a trace nor a raw archive, or the trace is open with another run policy.
    """
    if model is not None:
        _check_file(Path(model))  # before the minutes that it may take
    with ExitStack() as stack:
        if isinstance(trace, str | Path) and _is_raw(raw := fetch_trace(trace)):
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=scratch_folder())))
            made = scratch / raw.name
            ingest("auto", raw, made)
            trace = made
        held = stack.enter_context(open_trace(trace, run_policy, otherwise=RunPolicy.SUM))
        with step("1 of 2: reading the jobs"):
            jobs = Observations.of_trace(held)
        with step(f"2 of 2: fitting laws to {len(jobs.jobs):,} jobs"):
            fitted = WorkloadModel.fit(jobs, family=family)
    if model is not None:
        fitted.save(model)
    return fitted


def _check_file(file: Path) -> None:
    """Refuse a file that a model cannot be written to.

    Raises
    ------
    ModelError
        It is a folder, or the folder that it should go to is none, or is not to be written.
    """
    folder = file.absolute().parent
    if file.is_dir():
        raise ModelError(f"the model cannot be written to {file}, a folder: name a file in it.")
    if not folder.is_dir():
        raise ModelError(f"the model cannot be written to {file}: there is no folder {folder}.")
    if not os.access(file if file.exists() else folder, os.W_OK):
        raise ModelError(f"the model cannot be written to {file}: no permission.")


def _is_raw(path: Path) -> bool:
    return path.exists() and not (path / MANIFEST).is_file()


def sample(
    model: WorkloadModel | str | Path,
    out: str | Path | None = None,
    *,
    jobs: int | None = None,
    days: float | None = None,
    load: float = 1.0,
    gpus: int | None = None,
    offered: float | None = None,
    seed: int = 0,
    variation: str = "month",
    force: bool = False,
) -> Workload:
    """Draw a synthetic workload from a model, as a trace.

    Parameters
    ----------
    model
        A model, its file, or the name of one that ships.
    out
        Folder of the trace to write as well; None: none.
    jobs, days, load, gpus, offered, seed, variation
        See :meth:`WorkloadModel.sample`.
    force
        Replace a trace that is there already.

    Raises
    ------
    UnknownNameError
        No such model ships, and there is no such file; or no such variation.
    ModelError
        Neither jobs nor days, numbers that are not positive, no gang that fits the cluster, or an
        offered load beside what settles it.
    TraceError
        The folder exists or cannot be written.
    """
    drawn = _model(model).sample(
        jobs=jobs,
        days=days,
        load=load,
        gpus=gpus,
        offered=offered,
        seed=seed,
        variation=variation,
    )
    if out is not None:
        drawn.to_trace(out, source="sample", force=force)
    return drawn


def _model(given: WorkloadModel | str | Path) -> WorkloadModel:
    return given if isinstance(given, WorkloadModel) else load_model(given)


def compare(
    *traces: TraceLike | Sequence[TraceLike],
    findings: Iterable[str] = (),
    out: str | Path | None = None,
) -> Result:
    """Set traces side by side: times, waits, use, fairness.

    Parameters
    ----------
    traces
        Open traces, folders, tables in memory, or lists of them, two or more; the first is what
        the others are held against.
    findings
        Names of findings to show of each trace on the page, their facts side by side.
    out
        Folder of a page with the distributions to write as well; None: none.

    Returns
    -------
    Result
        Long table: trace, measure, percentile (0-100; null for measures with one number),
        value, unit. :func:`philly_analysis.report.comparison.side_by_side` makes it wide.

    Raises
    ------
    TraceError
        There are fewer than two traces, one is none, or the page cannot be written.
    UnknownNameError, MissingTableError
        A finding is none, or one of the traces lacks what it needs.
    OutputError
        Findings are asked for, and no page to show them on.
    """
    asked = [findings] if isinstance(findings, str) else list(findings)
    if asked and out is None:
        raise OutputError("findings are shown on the page: give its folder as out=FOLDER.")
    given: list[TraceLike] = []
    for one in traces:
        given += one if isinstance(one, Sequence) and not isinstance(one, str) else [one]
    with ExitStack() as stack:
        held = [stack.enter_context(open_trace(trace)) for trace in given]
        result = replace(comparison.answer(held), draw=comparison.plot)
        if out is not None:
            wide = comparison.in_words(result)
            part = section("comparison", result.question, result, result.plot(), shown=wide)
            names = list(dict.fromkeys(result.table["trace"]))
            chapters = [Chapter("Comparison", (part,))]
            chapters += [_across(held, names, finding) for finding in asked]
            lede = f"The same questions, asked of {', '.join(names)}."
            results_page("Traces side by side", lede, chapters, out)
    return result


def _across(traces: Sequence[Trace], names: Sequence[str], finding: str) -> Chapter:
    """Show one finding of each trace, and its facts side by side."""
    results = [analyze(trace, finding) for trace in traces]
    facts = {f.name: f.meaning for result in results for f in result.facts}
    said = [{f.name: f.text for f in result.facts} for result in results]
    rows = [[meaning, *(s.get(name, NOT_KNOWN) for s in said)] for name, meaning in facts.items()]
    shown = pd.DataFrame(rows, columns=["fact", *names])
    sections = [
        section(f"{finding}-{i + 1}", name, result, result.plot(), shown=None if i else shown)
        for i, (name, result) in enumerate(zip(names, results, strict=True))
    ]
    return Chapter(results[0].question, tuple(sections))


def atlas(
    traces: Sequence[TraceLike] = (),
    out: str | Path | None = None,
    *,
    datasets: str | Path | None = None,
) -> Result:
    """Say which findings of the study hold on which clusters.

    Parameters
    ----------
    traces
        Open traces or folders.
    out
        Folder of a page with all clusters side by side to write as well; None: none.
    datasets
        Folder of public traces as published, to ask as well: those that a source reads are
        ingested for as long as it takes, the others are listed on the page.

    Returns
    -------
    Result
        Long table: claim, cluster, verdict (holds, does not hold, cannot be said), effect, low,
        high (95 % interval), unit, holds (on which side of which threshold), n (rows on the
        smaller side), blocks, block (what was resampled), why, notes.

    Raises
    ------
    TraceError
        There is nothing to ask, a folder is no trace, or the page cannot be written.
    InputError
        There is no such folder of public traces.
    """
    with ExitStack() as stack:
        held = [stack.enter_context(open_trace(trace)) for trace in traces]
        absent: list[tuple[str, str]] = []
        if datasets is not None:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=scratch_folder())))
            made, absent = _ingest_datasets(Path(datasets), scratch)
            held += [stack.enter_context(Trace(path)) for path in made]
        if not held:
            raise TraceError(
                "There is no trace to ask. Give the folder of one or more, or that of public "
                "traces as published with datasets=FOLDER."
            )
        found = survey(held)
    if out is not None:
        atlas_page(found, absent, out)
    return found.result()


def _ingest_datasets(folder: Path, scratch: Path) -> tuple[list[Path], list[tuple[str, str]]]:
    """Ingest the public traces that are there; return them, and the others with why."""
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder: give that of the public traces.")
    made: list[Path] = []
    absent: list[tuple[str, str]] = []
    for dataset in known_datasets():
        raw, name = folder / dataset.folder, dataset.name or dataset.folder
        if not raw.exists():
            absent.append((name, f"There is no {dataset.folder}."))
            continue
        if dataset.why:
            absent.append((name, dataset.why))
            continue
        out = scratch / f"{len(made)}"
        with step(f"reading {name}"):
            try:
                ingest(dataset.source, raw, out, map=dataset.map, name=name)
            except InputError as error:
                absent.append((name, str(error).replace(str(folder), folder.name)))
            else:
                made.append(out)
    return made, absent


def experiment(
    names: Iterable[str] = (),
    *,
    models: Iterable[WorkloadModel | Ensemble | str | Path] = (),
    seeds: int | None = None,
    out: str | Path = "reports",
    jobs: int = 1,
    cluster: str | None = None,
) -> Path:
    """Divide the gains of guidelines, Synergy, Amoeba and AntMan.

    Parameters
    ----------
    names
        Keys of :data:`philly_analysis.experiments.EXPERIMENTS`; all when none. Or
        ``conclusions``, which sets published gains under the literature's generator beside those
        under models of real clusters, on a page of its own.
    models
        Models, their files, or names of models that ship: whose jobs they run on; or folders of
        traces, whose jobs are taken window by window; or ensembles, whose months are taken whole.
        None: ``literature``, what papers assume, and ``philly``; for ``conclusions``, which
        always has the first, those of two more clusters.
    seeds
        How many draws of each there are: months of a model, windows of a trace. None: as many as
        the experiment has unless told, and of an ensemble all.
    out
        Folder of reports; the page goes to ``out/<names>/report.html``, or ``out/seeds`` for all;
        ``verdicts.csv`` lies beside that of ``conclusions``.
    jobs, cluster
        Where to run: see :func:`philly_analysis.parallel.workers`. The outcome is the same.

    Returns
    -------
    Path
        The page: a chapter per experiment, a section per model.

    Raises
    ------
    UnknownNameError
        A name is not an experiment, or not a model.
    InputError
        ``conclusions`` is asked for beside others.
    """
    chosen = list(dict.fromkeys(names))
    for name in chosen:
        if name not in EXPERIMENTS and name not in ACROSS:
            raise UnknownNameError("experiment", name, [*EXPERIMENTS, *ACROSS])
    if any(name in ACROSS for name in chosen):
        if len(chosen) > 1:
            raise InputError(
                f"{', '.join(chosen)} were asked for together, but {' and '.join(ACROSS)} is a "
                "page of its own: ask for it alone."
            )
        return _conclusions(list(models), seeds, Path(out), jobs, cluster)
    given = [_law(model, seeds) for model in list(models) or ("literature", "philly")]
    titles = {system.lower(): system for system in published_figures()["system"]}
    chapters = []
    with workers(jobs, cluster) as executor:
        for name in chosen or EXPERIMENTS:
            asked = EXPERIMENTS[name]
            sections = []
            for model, law, drawn in given:
                usual = asked.Sweep()
                sweep = usual if drawn is None else replace(usual, seeds=drawn)
                with step(f"{name} on {model}"):
                    result = asked.compute(law, model, sweep, executor=executor)
                question = f"{asked.QUESTION} On the jobs of “{model}”"
                shown = in_words(result.table, asked.SHOWN)
                part = section(f"{name}-{model}", question, result, asked.plot(result), shown=shown)
                sections.append(part)
            chapters.append(Chapter(titles.get(name, name.capitalize()), tuple(sections)))
    return results_page(
        "Philly's guidelines, and the systems that followed",
        "What would the study's guidelines have gained? Synergy, Amoeba and AntMan each answered "
        "one of them. Here each headline is divided into what its parts do, against the right "
        "baselines, over offered load and over every assumption that decides it, on the workload "
        "that papers assume and on models of real ones. Changes are paired by draw of jobs; "
        "intervals are 95 % over draws.",
        chapters,
        Path(out) / ("-".join(chosen) or SEEDS),
        closing=_figures(chosen),
    )


def _conclusions(
    models: Sequence[WorkloadModel | Ensemble | str | Path],
    seeds: int | None,
    out: Path,
    jobs: int,
    cluster: str | None,
) -> Path:
    """Write the page that sets headlines under the generator beside those under models."""
    usual = conclusions.Sweep()
    laws = {}
    for model in [conclusions.REFERENCE, *models] if models else conclusions.MODELS:
        name, law, drawn = _law(model, seeds)
        laws[name] = law, usual if drawn is None else replace(usual, seeds=drawn)
    with workers(jobs, cluster) as executor, step(f"conclusions on {', '.join(laws)}"):
        result = conclusions.compute(laws, executor=executor)
    found = conclusions.verdicts(result.table)
    part = section("conclusions", result.question, result, conclusions.plot(result))
    page = results_page(
        "Does the conclusion move?",
        "Papers on GPU schedulers were measured on jobs of a generator that many share. Here what "
        "they are quoted for is simulated on its jobs, and on months of models that were fitted "
        "to real clusters: all arms of a headline on the same jobs, all months at the same "
        "offered load, intervals over months.",
        [Chapter("Headlines", (part,))],
        out / "conclusions",
        closing=conclusions.in_words(found),
        closing_title="Headline by headline",
    )
    save_table(found, page.parent / "verdicts.csv")
    return page


def _law(
    given: WorkloadModel | Ensemble | str | Path, seeds: int | None
) -> tuple[str, Jobs, tuple[int, ...] | None]:
    """Return whose jobs to take, their law, and its seeds; None: those of the experiment."""
    drawn = None if seeds is None else tuple(range(1, seeds + 1))
    if isinstance(given, Ensemble):
        return given.name, MonthsOf(given), given.seeds[:seeds]
    if not isinstance(given, WorkloadModel) and (fetch_trace(given) / MANIFEST).is_file():
        recorded = Workload.from_trace(given)
        return recorded.name, WindowsOf(tuple(recorded.specs())), drawn
    model = _model(given)
    return model.name, LawOf(model.sample), drawn


def _figures(names: Sequence[str]) -> pd.DataFrame | None:
    """Return what the papers of these experiments printed, of all when none is named."""
    printed = published_figures()
    printed = printed[printed["system"].str.lower().isin(names or EXPERIMENTS)]
    return printed if len(printed) else None


def sweep(
    workloads: Sequence[str | Path],
    policies: Sequence[str],
    out: str | Path = "reports/sweep",
    *,
    loads: Sequence[float] = (),
    seeds: int = 1,
    knobs: Sequence[tuple[str, str]] = (),
    draw: int = DRAWN_JOBS,
    gpus: int | None = None,
    machines: str | None = None,
    run_policy: RunPolicy | None = None,
    speed: str | None = None,
    checkpoint_s: float = 0.0,
    outages: str | Path | Failures | None = None,
    dedicated: bool = False,
    prerun_servers: int = 0,
    prerun_s: float = 600.0,
    retry_by_reason: bool = False,
    estimates: str = "exact",
    jobs: int = 1,
    cluster: str | None = None,
) -> Result:
    """Run workloads under several policies, compared in pairs.

    Parameters
    ----------
    workloads
        Folders of traces; models' files, or names of models that ship.
    policies
        The first is what the others are held against.
    out
        Folder of the page, of ``sweep.csv`` (a row per run) and ``changes.csv`` (a row per pair
        of policies and measure), and of ``runs``, the outcome of each run: a sweep that was
        broken off, or that is asked for more, goes on from these.
    loads
        Offered loads that submissions are stretched to; none: they stay as they are.
    seeds
        How many workloads are drawn of each model; from 3 on there are intervals.
    knobs
        (knob, value), a knob perhaps several times, for the policies that have it, or for one as
        ``policy.knob``.
    draw
        Jobs drawn from a model.
    gpus, machines, run_policy, speed, checkpoint_s, estimates
        As in :func:`philly_analysis.simulate`, of every run.
    dedicated, prerun_servers, prerun_s, retry_by_reason
        The study's guidelines, as there.
    outages
        As there; or ``recorded``, of traces: each at its own rate.
    jobs, cluster
        Where to run: see :func:`philly_analysis.parallel.workers`. The outcome is the same.

    Raises
    ------
    UnknownNameError
        There is no such model, policy or knob.
    SimulationError
        There is nothing to run, or seeds are asked of a recorded trace.
    InputError
        Nobody is there to do the work.
    """
    assumed = Assumed(
        gpus=gpus,
        machines=machines,
        run_policy=run_policy,
        speed=speed,
        checkpoint_s=checkpoint_s,
        outages=outages,
        dedicated=dedicated,
        prerun_servers=prerun_servers,
        prerun_s=prerun_s,
        retry_by_reason=retry_by_reason,
        estimates=estimates,
    )
    planned = runs(
        workloads, policies, loads=loads, seeds=seeds, knobs=knobs, jobs=draw, assumed=assumed
    )
    if outages == "recorded":
        rates = {given: failures_of(given) for given in dict.fromkeys(r.workload for r in planned)}
        planned = [
            replace(run, assumed=replace(assumed, outages=rates[run.workload])) for run in planned
        ]
    scratch_folder()  # scratch of a killed sweep goes, also where no run is left to do
    folder = Path(out)
    with workers(jobs, cluster) as executor, step(f"{len(planned):,} runs"):
        result = sweeps.sweep(planned, folder / "runs", executor)
    result.to_csv(folder / "sweep.csv")
    save_table(sweeps.changes(result.table), folder / "changes.csv")
    shown = sweeps.in_words(result.table) if planned else None
    found = section("sweep", sweeps.QUESTION, result, sweeps.plot(result), shown=shown)
    results_page(
        "A sweep of what-ifs",
        "Every policy meets the same jobs at each load and seed, so that differences are its own.",
        [Chapter("Policies", (found,))],
        folder / "page",
    )
    return result


def formats() -> pd.DataFrame:
    """List the formats that a workload can be exported to."""
    return list_formats()


def policies(name: str | None = None) -> pd.DataFrame:
    """List the scheduling policies; or the knobs of one."""
    return list_policies(name)
