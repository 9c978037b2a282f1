"""Sidecar of an export: how to run it, which jobs it holds, what was assumed and excluded.

An export and its sidecar are replaced together. The sidecar is replaced first and names the digest
of each file: if a writer is killed between the two replacements, they do not match.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from shlex import quote
from string import Template

from philly_analysis import atomic
from philly_analysis.errors import ExportError, file_errors
from philly_analysis.exports.request import Request
from philly_analysis.trace import Digest, digests
from philly_analysis.workload import UNKNOWN, Cluster, Demand


@dataclass(frozen=True, slots=True)
class RunWith:
    """How to run the program that an export is for.

    Attributes
    ----------
    program, source
        Name of the program, and the repository and commit (or package) that was tried.
    needs
        What the program runs on, versions pinned.
    command
        Shell lines that run the program on this export; empty: not tried.
    """

    program: str
    source: str
    needs: str
    command: str


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export wrote, and what a reader of its numbers must know.

    Attributes
    ----------
    file
        The file, or the folder of a format of several files.
    run_with
        The program that the export is for, and the command that runs the program.
    jobs
        Records in the file: jobs, or parts of gangs that were split.
    jobs_read, gpu_h_read
        Jobs that the program accepts by its own rules, and their GPU hours; None: the program has
        run times of its own.
    read_by
        Rules by which the program accepts jobs.
    jobs_asked, gpu_h_asked
        Jobs of the workload that can be run, and their GPU hours.
    left_out
        Jobs of the workload that are not in the file, by reason.
    account
        Sentences: which of the workload's jobs and GPU hours are in the file, and which are not.
    not_carried, assumed
        Sentences: what the format cannot hold, and what it requires that the workload lacks.
    sources
        Where assumed numbers come from.
    run_policy
        How attempts became a run time: ``span``, ``sum`` or ``last``.
    cluster_gpus, offered_load
        GPUs of the target cluster, and GPU-seconds requested / (GPUs x seconds from first to
        last submission), of the jobs that the program accepts; None: not defined.
    columns
        Dictionary of the columns, or fields, of each file: file (``.``: `file` itself), name, unit
        and meaning.
    digests
        Size and digest of each file, by its path in the export's folder; ``.`` is `file` itself.
    """

    workload: str
    synthetic: bool
    format: str
    dialect: str
    file: str
    run_with: RunWith
    jobs: int
    jobs_read: int
    gpu_h_read: float | None
    read_by: str
    jobs_asked: int
    gpu_h_asked: float
    left_out: dict[str, int]
    account: tuple[str, ...]
    not_carried: tuple[str, ...]
    assumed: tuple[str, ...]
    sources: tuple[str, ...]
    seed: int
    run_policy: str
    cluster_gpus: int
    offered_load: float | None
    notes: tuple[str, ...]
    columns: tuple[dict[str, str], ...]
    digests: dict[str, Digest]
    made_at: str
    made_by: str

    def to_json(self) -> str:
        """Return the content of the sidecar file: JSON text."""
        return json.dumps(asdict(self), indent=2) + "\n"

    @property
    def path(self) -> Path:
        """The file or folder that was written."""
        return Path(self.file)

    def __str__(self) -> str:
        """Return a summary for a terminal."""
        load = "not defined" if self.offered_load is None else f"{self.offered_load:.2f}"
        read_h = "run times of its own" if self.gpu_h_read is None else f"{self.gpu_h_read:,.0f}"
        lines = [
            f"{self.jobs:,} jobs of {self.workload} in {self.file} ({self.format}, {self.dialect})",
            f"{self.run_with.program} accepts {self.jobs_read:,} of {self.jobs_asked:,} jobs, "
            f"{read_h} of {self.gpu_h_asked:,.0f} GPU hours: {self.read_by}",
            f"offered load {load} on {self.cluster_gpus:,} GPUs; run time of a job: "
            f"{self.run_policy} of its attempts; seed {self.seed}",
        ]
        for head, sentences in (
            ("account", self.account),
            ("not carried", self.not_carried),
            ("assumed", self.assumed),
            ("source", self.sources),
        ):
            lines += [f"{head}: {s}" for s in sentences]
        if self.run_with.command:
            needs = f" ({self.run_with.needs})" if self.run_with.needs else ""
            lines.append(f"run with {self.run_with.source}{needs}:")
            lines += [f"  {line}" for line in self.run_with.command.splitlines()]
        return "\n".join(lines)


def run_with(request: Request, file: Path, records: int) -> RunWith:
    """Return how to run the program that a file is for."""
    dialect = request.dialect
    command = Template(dialect.command).substitute(
        gpus=request.cluster.gpus,
        nodes=request.nodes,
        per_node=request.cluster.server.gpus,
        jobs=records,
    )
    return RunWith(
        program=dialect.program,
        source=dialect.source,
        needs=dialect.needs,
        command=command and f"export OUT={quote(str(file.resolve()))}\n{command}",
    )


def unnamed_notes(demand: Demand) -> tuple[str, ...]:
    """Return how many jobs have no virtual cluster or user."""
    missing = {what: int((demand.jobs[what] == UNKNOWN).sum()) for what in ("vc", "user")}
    return tuple(
        f"{count:,} of {demand.jobs.height:,} jobs have no {what}: called {UNKNOWN!r}"
        for what, count in missing.items()
        if count
    )


def cluster_notes(target: Cluster) -> tuple[str, ...]:
    """Return which cluster was assumed, if one was."""
    if not target.assumed:
        return ()
    return (
        f"target cluster: {target.gpus:,} GPUs in servers of 8, for an offered load of at most 1 "
        "(name another with --gpus)",
    )


def sidecar_of(file: Path) -> Path:
    """Return the path of a file's sidecar."""
    return file.with_name(file.name + ".json")


def export_digests(export: Path, recorded: Mapping[str, Digest] | None = None) -> dict[str, Digest]:
    """Return size and digest of each file of an export; a single-file export is ``.``.

    `recorded` has digests to compare with.
    """
    files = [path for path in export.rglob("*") if path.is_file()] if export.is_dir() else [export]
    return digests(export, sorted(path.relative_to(export).as_posix() for path in files), recorded)


def _matches(export: Path, sidecar: Path) -> bool:
    """Return whether an export has the digests of its sidecar, or the sidecar has none."""
    try:
        recorded = json.loads(sidecar.read_text("utf-8")).get("digests")
        if recorded is None:
            return True
        digests_recorded = {name: (size, of) for name, (size, of) in recorded.items()}
        return digests_recorded == export_digests(export, digests_recorded)
    except (ValueError, AttributeError, TypeError):
        return False


@contextmanager
def replace_export(file: Path, force: bool) -> Iterator[Path]:
    """Yield a path to write; at the end the path and its sidecar replace `file` and its sidecar.

    Raises
    ------
    ExportError
        A file exists that must not be replaced, or `file` cannot be written.
    """
    sidecar = sidecar_of(file)
    if file.exists() and not force:
        if sidecar.is_file() and not _matches(file, sidecar):
            raise ExportError(
                f"{file} does not match the digests in {sidecar.name}: a writer was killed, or "
                "the file was changed. Give another name, or force=True to replace it."
            )
        raise ExportError(f"{file} exists. Give another name, or force=True to replace it.")
    if file.exists() and not sidecar.is_file():
        raise ExportError(f"{file} is not an export (no {sidecar.name}), so it is not replaced.")
    failed = f"{file} cannot be written"
    with file_errors(ExportError, failed), atomic.atomic_write(file) as partial:
        try:
            yield partial
            sidecar_of(partial).replace(sidecar)
        finally:
            sidecar_of(partial).unlink(missing_ok=True)
