"""Trace analytics and workload characterization for GPU clusters: the public names.

Each verb of the command line is a function of the same name here.

>>> from philly_analysis import Trace, analyze, fit, ingest, load_model, report  # doctest: +SKIP
>>> ingest("philly", "trace-data.tar.gz", "my-trace")  # doctest: +SKIP
>>> with Trace("my-trace") as trace:  # doctest: +SKIP
...     trace.sql("select vc, count(*) from jobs group by vc").df()
>>> fit("my-trace").duration(gpus=8).ppf(0.9)  # doctest: +SKIP
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from philly_analysis.errors import PhillyError

if TYPE_CHECKING:
    from philly_analysis.api import (
        atlas,
        compare,
        experiment,
        fit,
        formats,
        policies,
        sample,
        sweep,
    )
    from philly_analysis.exports import export
    from philly_analysis.failures import classify
    from philly_analysis.ingest import datasets, fetch, ingest, slurm_command, sources
    from philly_analysis.models import WorkloadModel, load_model, models
    from philly_analysis.report import analyze, demo, report
    from philly_analysis.results import Result
    from philly_analysis.simulator import simulate
    from philly_analysis.study import RunPolicy, published
    from philly_analysis.trace import Trace, query, tables, verify
    from philly_analysis.workload import Ensemble, Workload

__all__ = [
    "Ensemble",
    "PhillyError",
    "Result",
    "RunPolicy",
    "Trace",
    "Workload",
    "WorkloadModel",
    "analyze",
    "atlas",
    "classify",
    "compare",
    "datasets",
    "demo",
    "experiment",
    "export",
    "fetch",
    "fit",
    "formats",
    "ingest",
    "load_model",
    "models",
    "policies",
    "published",
    "query",
    "report",
    "sample",
    "simulate",
    "slurm_command",
    "sources",
    "sweep",
    "tables",
    "verify",
]

# The package that each name comes from. Packages are imported on first use: some take seconds
# (engine, plotting, statistics), and `philly --help` needs none of them.
_HOMES = {
    "Ensemble": "workload",
    "Result": "results",
    "RunPolicy": "study",
    "Trace": "trace",
    "Workload": "workload",
    "WorkloadModel": "models",
    "analyze": "report",
    "atlas": "api",
    "classify": "failures",
    "compare": "api",
    "datasets": "ingest",
    "demo": "report",
    "experiment": "api",
    "export": "exports",
    "fetch": "ingest",
    "fit": "api",
    "formats": "api",
    "ingest": "ingest",
    "load_model": "models",
    "models": "models",
    "policies": "api",
    "published": "study",
    "query": "trace",
    "report": "report",
    "sample": "api",
    "simulate": "simulator",
    "slurm_command": "ingest",
    "sources": "ingest",
    "sweep": "api",
    "tables": "trace",
    "verify": "trace",
}


class _Package(ModuleType):
    """Keep a public name that a subpackage has too (``ingest``, ``models``, ``report``)."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("philly-analysis")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
