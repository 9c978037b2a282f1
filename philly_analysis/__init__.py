"""Trace analytics and workload characterization for GPU clusters: the public names.

>>> from philly_analysis import Trace, analyze, fit, ingest, load_model, report  # doctest: +SKIP
>>> ingest("philly", "trace-data.tar.gz", "my-trace")  # doctest: +SKIP
>>> with Trace("my-trace") as trace:  # doctest: +SKIP
...     trace.sql("select vc, count(*) from jobs group by vc").df()
>>> fit("my-trace").duration(gpus=8).ppf(0.9)  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from philly_analysis.errors import PhillyError
from philly_analysis.ingest import ingest
from philly_analysis.study import RunPolicy
from philly_analysis.trace import Trace

if TYPE_CHECKING:
    from philly_analysis.chapters import analyze
    from philly_analysis.comparison import compare
    from philly_analysis.exports import export
    from philly_analysis.failures import classify
    from philly_analysis.models import WorkloadModel, load_model
    from philly_analysis.page import report
    from philly_analysis.raw import fit
    from philly_analysis.simulator import simulate
    from philly_analysis.workload import Workload

__all__ = [
    "PhillyError",
    "RunPolicy",
    "Trace",
    "Workload",
    "WorkloadModel",
    "analyze",
    "classify",
    "compare",
    "export",
    "fit",
    "ingest",
    "load_model",
    "report",
    "simulate",
]

# Names whose rooms take a second or more to open (plotting, statistics): opened on first use.
_ROOMS = {
    "Workload": "workload",
    "WorkloadModel": "models",
    "analyze": "chapters",
    "classify": "failures",
    "compare": "comparison",
    "export": "exports",
    "fit": "raw",
    "load_model": "models",
    "report": "page",
    "simulate": "simulator",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_ROOMS[name]}"), name)


def __dir__() -> list[str]:
    return __all__
