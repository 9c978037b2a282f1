"""Show the progress of long steps on a terminal, and nothing in a pipe."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import duckdb
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

_TERMINAL = Console(stderr=True)
_POLL_S = 0.2


@contextmanager
def step(what: str, con: duckdb.DuckDBPyConnection | None = None) -> Iterator[None]:
    """Show a description with the elapsed time while the block runs.

    Parameters
    ----------
    con
        A connection whose running query is the work: a bar shows its progress.
    """
    if not _TERMINAL.is_terminal:
        yield
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    bar = (BarColumn(),) if con is not None else ()
    done = threading.Event()
    with Progress(*columns, *bar, console=_TERMINAL, transient=True) as progress:
        task = progress.add_task(what, total=100 if con is not None else None)

        def watch() -> None:
            while con is not None and not done.wait(_POLL_S):
                progress.update(task, completed=max(con.query_progress(), 0))

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()


@contextmanager
def transfer(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a transfer while the block runs; call the result with the bytes so far."""
    if not _TERMINAL.is_terminal:
        yield lambda at: None
        return
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    text = TextColumn("{task.description}")
    with Progress(text, *columns, console=_TERMINAL, transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda at: progress.update(task, completed=at)


def silence(con: duckdb.DuckDBPyConnection) -> None:
    """Disable the engine's own progress bar on a terminal.

    In Jupyter without ipywidgets the engine has none, and does not accept the setting.
    """
    if _TERMINAL.is_terminal:
        con.execute("set enable_progress_bar = false")
