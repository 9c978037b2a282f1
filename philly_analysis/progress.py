"""Show the progress of long steps on a terminal and in Jupyter, and nothing in a pipe."""

import multiprocessing
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import duckdb
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    SpinnerColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

_TERMINAL = Console(stderr=True)
_POLL_S = 0.2
_JUPYTER_S = 1.0


@contextmanager
def step(what: str, con: duckdb.DuckDBPyConnection | None = None) -> Iterator[None]:
    """Show a description with the elapsed time while the block runs.

    Parameters
    ----------
    con
        A connection whose running query is the work: a bar shows its progress.
    """
    bar = (BarColumn(),) if con is not None else ()
    columns = (SpinnerColumn(), "{task.description}", TimeElapsedColumn(), *bar)
    progress = Progress(*columns, console=_TERMINAL, transient=True)
    task = progress.add_task(what, total=100 if con is not None else None)

    def poll() -> None:
        if con is not None:
            progress.update(task, completed=max(con.query_progress(), 0))

    with _shown(progress, poll):
        yield


def announce(text: str) -> None:
    """Print a line about work that is about to begin, also where no progress is shown."""
    _TERMINAL.print(text, highlight=False, markup=False, soft_wrap=True)


@contextmanager
def transfer(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a transfer while the block runs; call the result with the bytes so far."""
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    progress = Progress("{task.description}", *columns, console=_TERMINAL, transient=True)
    task = progress.add_task(what, total=total)
    with _shown(progress):
        yield lambda at: progress.update(task, completed=at)


@contextmanager
def _shown(progress: Progress, poll: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Show progress while the block runs, but not in worker processes; `poll` updates it."""
    shown = multiprocessing.parent_process() is None
    if not (shown and (_TERMINAL.is_terminal or _TERMINAL.is_jupyter)):
        yield
        return
    done = threading.Event()
    outputs: list[Any] = []

    def watch() -> None:
        while not done.wait(_JUPYTER_S if _TERMINAL.is_jupyter else _POLL_S):
            poll()
            if outputs:
                outputs[0].update(progress)
            elif _TERMINAL.is_jupyter:  # from its second on: most steps end sooner
                outputs.append(_display(progress))

    watcher = threading.Thread(target=watch, daemon=True)
    with nullcontext() if _TERMINAL.is_jupyter else progress:
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()
            for output in outputs:
                output.update(Text())


def _display(progress: Progress) -> Any:
    """Show progress below the running cell, and return the output."""
    from IPython.display import display

    return display(progress, display_id=True)  # type: ignore[no-untyped-call]


def silence(con: duckdb.DuckDBPyConnection) -> None:
    """Disable the engine's own progress bar, which worker processes print to any output.

    In Jupyter without ipywidgets the engine has none, and does not accept the setting.
    """
    if not _TERMINAL.is_jupyter:
        con.execute("set enable_progress_bar = false")
