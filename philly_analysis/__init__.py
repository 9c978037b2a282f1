"""Offer trace analytics and workload models for GPU clusters: the public names.

Each verb of the command line is a function of the same name here.

>>> from philly_analysis import Trace, analyze, fit, simulate
>>> trace = Trace("my-trace")
>>> trace.sql("select count(*) as jobs, max(gpus) as largest from jobs").df()
   jobs  largest
0   300       32
>>> analyze(trace, "queueing_delay").facts.waits
300
>>> model = fit(trace)
>>> simulate(model.sample(100, seed=1), "srtf", gpus=64).name
'philly-sample-fifo-sample-srtf'
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from philly_analysis.api import (
    advise,
    analyses,
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
    slurm_collect,
    slurm_command,
    sources,
    sweep,
    tables,
    verify,
)
from philly_analysis.errors import PhillyError, familiar_names, no_attribute

if TYPE_CHECKING:
    from philly_analysis.models import WorkloadModel, load_model
    from philly_analysis.results import Result
    from philly_analysis.study import RunPolicy
    from philly_analysis.trace import Trace
    from philly_analysis.workload import Ensemble, Workload

    __version__: str

__all__ = [
    "Ensemble",
    "PhillyError",
    "Result",
    "RunPolicy",
    "Trace",
    "Workload",
    "WorkloadModel",
    "advise",
    "analyses",
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
    "slurm_collect",
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

    Importing a subpackage would otherwise replace the function by the module. Others are called by
    mistake (``trace(folder)``); their error names the right call.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, ModuleType):
            if name in __all__:
                return
            value.__class__ = _Subpackage
        super().__setattr__(name, value)


class _Subpackage(ModuleType):
    def __call__(self, *_: object, **__: object) -> None:
        raise no_attribute(sys.modules[__package__], f"{self.__name__.rpartition('.')[2]}()")


sys.modules[__name__].__class__ = _Package


if not TYPE_CHECKING:  # which would take every absent attribute for one

    def __getattr__(name: str) -> Any:
        name = familiar_names(__name__, "works").get(name, name)
        if name == "__version__":
            from importlib.metadata import version

            return version("philly-analysis")
        if name not in _PACKAGES:
            raise no_attribute(sys.modules[__name__], name)
        return getattr(import_module(f"{__name__}.{_PACKAGES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
