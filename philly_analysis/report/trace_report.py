"""Write the report of a trace, unless it is there already.

What computes and draws is imported only when a page is due: it takes longer than to find that none
is.
"""

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from philly_analysis.parallel import ExecutorLike, open_executor
from philly_analysis.report.page import PAGE, Page
from philly_analysis.study import RunPolicy
from philly_analysis.trace import TraceLike, is_unchanged, open_trace, record_page

if TYPE_CHECKING:
    from philly_analysis.report.findings import Own

_WRITER = "philly_analysis.report.trace_page"


def report(
    trace: TraceLike,
    out: str | Path,
    *,
    also: "Iterable[Own]" = (),
    run_policy: RunPolicy | str | None = None,
    executor: ExecutorLike = None,
) -> Page:
    """Compute every finding on a trace, as a page: see :func:`philly_analysis.report`."""
    functions = list(also)
    with (
        open_executor(executor) as workers,
        open_trace(trace, run_policy, executor=workers) as source,
    ):
        folder = Path(out) / source.path.name
        if functions or not is_unchanged(source, folder):
            workers.submit(import_module, _WRITER)  # another process loads the libraries meanwhile
            from philly_analysis.report.trace_page import write

            write(source, folder, functions, workers)
            if not functions:
                record_page(source, folder)
        return Page(folder / PAGE)
