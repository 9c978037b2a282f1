"""Trace analytics and workload characterization for GPU clusters: the public names.

Each verb of the command line is a function of the same name here.

>>> from philly_analysis import Trace, analyze, fit, ingest, load_model, report  # doctest: +SKIP
>>> ingest("philly", "trace-data.tar.gz", "my-trace")  # doctest: +SKIP
>>> with Trace("my-trace") as trace:  # doctest: +SKIP
...     trace.sql("select vc, count(*) from jobs group by vc").df()
>>> fit("my-trace").duration(gpus=8).ppf(0.9)  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from philly_analysis.errors import PhillyError

# Rooms of the same name as a verb: the verb is bound here, after its room, and stays.
from philly_analysis.ingest import ingest
from philly_analysis.models import models
from philly_analysis.published import published

if TYPE_CHECKING:
    from philly_analysis.bundled import demo
    from philly_analysis.chapters import analyze
    from philly_analysis.exports.writing import export, formats
    from philly_analysis.failures import classify
    from philly_analysis.fetching import datasets, fetch
    from philly_analysis.ingest import sources
    from philly_analysis.ingest.slurm.fields import slurm_command
    from philly_analysis.intact import verify
    from philly_analysis.models import load_model
    from philly_analysis.models.workload_model import WorkloadModel
    from philly_analysis.page import report
    from philly_analysis.questions import query, tables
    from philly_analysis.result import Result
    from philly_analysis.simulator import simulate
    from philly_analysis.simulator.policies import policies
    from philly_analysis.study import RunPolicy
    from philly_analysis.trace import Trace
    from philly_analysis.verbs import atlas, compare, experiment, fit, sample, sweep
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

# Where the other names are. Their rooms take up to seconds to open (engine, plotting,
# statistics): opened on first use, so that whoever asks for help does not wait for them.
_HOMES = {
    "Ensemble": "workload",
    "Result": "result",
    "RunPolicy": "study",
    "Trace": "trace",
    "Workload": "workload",
    "WorkloadModel": "models.workload_model",
    "analyze": "chapters",
    "atlas": "verbs",
    "classify": "failures",
    "compare": "verbs",
    "demo": "bundled",
    "experiment": "verbs",
    "datasets": "fetching",
    "export": "exports.writing",
    "fetch": "fetching",
    "fit": "verbs",
    "formats": "exports.writing",
    "load_model": "models",
    "policies": "simulator.policies",
    "query": "questions",
    "report": "page",
    "sample": "verbs",
    "simulate": "simulator.simulation",
    "slurm_command": "ingest.slurm.fields",
    "sources": "ingest",
    "sweep": "verbs",
    "tables": "questions",
    "verify": "intact",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("philly-analysis")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
