"""Open the folder of a trace: resolve its path, read its manifest, and check its files."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from philly_analysis.atomic import FolderHandle, recover, remove_stale_within, scratch_folder
from philly_analysis.errors import TraceError
from philly_analysis.trace.checksums import digests
from philly_analysis.trace.in_memory import Frames, write_frames
from philly_analysis.trace.integrity import check_digests, check_sizes
from philly_analysis.trace.manifest import DERIVED, MANIFEST, Manifest
from philly_analysis.trace.object_storage import fetch_trace
from philly_analysis.trace.quotas import FILE, QUOTAS_NOTE, Quotas, read_quotas, write_quotas
from philly_analysis.trace.schema import VERSION, VIRTUAL_CLUSTERS


class TraceFolder:
    """The folder of an open trace, which is known even if it is renamed or replaced.

    Attributes
    ----------
    path
        Folder of the trace, which receives the tables computed from the trace.
    files
        Path to read the files from: if possible, a path that never leads to another folder.
    folders
        All folders with files of the trace.
    manifest
        Manifest of the trace.
    handle
        Handle that keeps the files readable until the handle is closed or no longer referenced.
    """

    def __init__(self, trace: str | Path | Frames, quotas: Quotas | None = None) -> None:
        """Open a folder; fetch it from object storage, or write tables in memory, first.

        Parameters
        ----------
        quotas
            Quotas of virtual clusters to use instead of the trace's.

        Raises
        ------
        TraceError
            The folder is no trace, or has a newer schema; or a file is missing or has another size.
        """
        trace = fetch_trace(trace) if isinstance(trace, str | Path) else write_frames(trace)
        self.path = recover(trace).resolve()
        self.handle = FolderHandle(self.path)
        remove_stale_within(self.path / DERIVED)
        self.files = self.handle.path
        self.folders: tuple[Path, ...] = (self.path,)
        self.manifest = Manifest.read(self.path)
        if self.manifest.schema > VERSION:
            raise TraceError(
                f"{self.path} has schema {self.manifest.schema}; this version reads schemas up to "
                f"{VERSION}. Install a newer philly-analysis to open it."
            )
        check_sizes(self.path, self.manifest)
        self._checked: set[str] = set()
        if quotas is not None:
            self._replace_quotas(read_quotas(quotas))

    def _replace_quotas(self, quotas: Mapping[str, int]) -> None:
        """Continue in a folder of this session that has other quotas and links to all other files.

        Results computed with the given quotas are stored in the session's folder only.
        """
        out = (scratch_folder() / self.path.name).resolve()
        files = {n: f for n, f in self.manifest.files.items() if n != VIRTUAL_CLUSTERS.name}
        for file in (file for of_table in files.values() for file in of_table):
            (out / file).parent.mkdir(parents=True, exist_ok=True)
            (out / file).symlink_to(self.path / file)
        write_quotas(out, quotas)
        self.manifest = replace(
            self.manifest,
            rows={**self.manifest.rows, VIRTUAL_CLUSTERS.name: len(quotas)},
            files={**files, VIRTUAL_CLUSTERS.name: (FILE,)},
            digests=self.manifest.digests | digests(out, [FILE]),
            notes=(*self.manifest.notes, QUOTAS_NOTE),
        )
        (out / MANIFEST).write_text(self.manifest.to_json(), "utf-8")
        self.path = self.files = out
        self.folders = (out, *self.folders)

    def check(self, tables: Iterable[str]) -> None:
        """Check the files of tables, each once.

        Raises
        ------
        TraceError
            A file is missing or damaged, or another trace is at the path.
        """
        self.check_in_place()
        due = set(tables) - self._checked
        check_digests(self.path, self.manifest, sorted(due))
        self._checked |= due

    def check_in_place(self) -> None:
        """Raise TraceError if another trace is at the path."""
        if not self.handle.in_place:
            raise replaced_error(self.path)


def replaced_error(path: Path) -> TraceError:
    """Return the error for an open trace that another has replaced."""
    return TraceError(f"{path} was replaced since it was opened. Open it again.")
