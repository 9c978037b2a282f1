"""Offer trace analytics and workload models for GPU clusters: the public names.

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

from philly_analysis.api import (
    analyze,
    atlas,
    classify,
    compare,
    datasets,
    demo,
    experiment,
    export,
    fetch,
    fit,
    formats,
    ingest,
    models,
    policies,
    published,
    query,
    report,
    sample,
    simulate,
    slurm_command,
    sources,
    sweep,
    tables,
    verify,
)
from philly_analysis.errors import PhillyError

if TYPE_CHECKING:
    from philly_analysis.models import WorkloadModel, load_model
    from philly_analysis.results import Result
    from philly_analysis.study import RunPolicy
    from philly_analysis.trace import Trace
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

_PACKAGES = {
    "Ensemble": "workload",
    "Result": "results",
    "RunPolicy": "study",
    "Trace": "trace",
    "Workload": "workload",
    "WorkloadModel": "models",
    "load_model": "models",
}
"""The package of each name that is imported on first use: some take a second to import."""


class _Package(ModuleType):
    """Keep functions that share their name with a subpackage (``ingest``, ``models``, ``report``).

    Importing a subpackage would otherwise replace the function by the module.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in __all__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("philly-analysis")
    if name not in _PACKAGES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PACKAGES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
