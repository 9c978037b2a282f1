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
>>> simulate(model.sample(100, seed=1), "srtf", cluster=64).name
'philly-sample-fifo-sample-srtf'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Verbs have the names of these packages. Importing a package makes it an attribute here, once, so
# the packages are imported before the verbs; each imports its modules on first use.
import philly_analysis.analyses
import philly_analysis.atlas
import philly_analysis.ingest
import philly_analysis.models
import philly_analysis.report  # noqa: F401
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
    forecast,
    formats,
    ingest,
    kubectl_command,
    models,
    policies,
    published,
    query,
    reliability,
    report,
    sample,
    simulate,
    slurm_collect,
    slurm_command,
    sources,
    summary,
    sweep,
    tables,
    verify,
)
from philly_analysis.errors import PhillyError

if TYPE_CHECKING:
    from philly_analysis.models import WorkloadModel, load_model
    from philly_analysis.results import Result
    from philly_analysis.simulator import Policy, check_policy
    from philly_analysis.study import RunPolicy
    from philly_analysis.trace import Trace
    from philly_analysis.workload import Ensemble, Workload

    __version__: str

__all__ = [
    "Ensemble",
    "PhillyError",
    "Policy",
    "Result",
    "RunPolicy",
    "Trace",
    "Workload",
    "WorkloadModel",
    "advise",
    "analyses",
    "analyze",
    "atlas",
    "check_policy",
    "classify",
    "compare",
    "datasets",
    "demo",
    "experiment",
    "export",
    "fetch",
    "fit",
    "forecast",
    "formats",
    "ingest",
    "kubectl_command",
    "load_model",
    "models",
    "policies",
    "published",
    "query",
    "reliability",
    "report",
    "sample",
    "simulate",
    "slurm_collect",
    "slurm_command",
    "sources",
    "summary",
    "sweep",
    "tables",
    "verify",
]

_PACKAGES = {
    "Ensemble": "workload",
    "Policy": "simulator",
    "Result": "results",
    "RunPolicy": "study",
    "Trace": "trace",
    "Workload": "workload",
    "WorkloadModel": "models",
    "check_policy": "simulator",
    "load_model": "models",
}
"""The package of each name that is imported on first use: some take a second to import."""


if not TYPE_CHECKING:  # type checkers would accept every name

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            return version("philly-analysis")
        if name not in _PACKAGES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_PACKAGES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
